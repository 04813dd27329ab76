import { lstat, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '@reply/core'
import type { InboundFile } from '@reply/sink'
import type { ReadSecret } from '../config/load.ts'
import type { TranscribeConfig } from '../config/schema.ts'
import { messageOf } from '../error.ts'
import { endingOf, opusSeconds, wavSeconds } from './audio.ts'
import { audioSeconds } from './audio-length.ts'
import { cleanTranscript } from './clean-transcript.ts'
import { postAudio } from './post-audio.ts'
import { runProgram } from './run-program.ts'
import { runIfThisDies } from './watchdog.ts'

/**
 * Why a voice note was not understood.
 *
 * - `unreadable`: the converter can't read the audio.
 * - `too-long`: it lasts longer than `maxSeconds`.
 * - `empty`: no words were found.
 * - `too-much`: the transcriber printed more than any note contains.
 * - `late`: it was not done within `timeoutMs`.
 * - `failed`: the transcriber failed.
 * - `missing`: a program is not installed.
 * - `shut-out`: the service refused the key.
 * - `busy`: the service has no time now, or can't be reached.
 * - `canceled`: the caller's signal aborted.
 */
export type NotUnderstood =
  | 'unreadable'
  | 'too-long'
  | 'empty'
  | 'too-much'
  | 'late'
  | 'failed'
  | 'missing'
  | 'shut-out'
  | 'busy'
  | 'canceled'

/**
 * The text of a voice note, or why there is none. `detail` tells the operator more about a failure, in one line. `length` is set for
 * `too-long`.
 */
export type Transcription =
  | { readonly type: 'understood'; readonly text: string }
  | {
      readonly type: 'failed'
      readonly why: NotUnderstood
      readonly detail?: string | undefined
      readonly length?: NoteLength | undefined
    }

/** The length of a note that is too long, in seconds, and the limit. */
export interface NoteLength {
  /** Undefined if the converter cut the note. `untold`: nothing tells it, and the note has so many bytes that it may be longer. */
  readonly seconds: number | 'untold' | undefined
  readonly maxSeconds: number
}

/** Writes down what people said. */
export interface Transcriber {
  /**
   * Resolves with the text of a voice note, without control characters and never empty. Waits for its turn before it calls
   * `read` for the audio: at most two notes are read and transcribed at the same time, so that a hundred of them don't fill the
   * memory. Does not call it for a note that is too long by what the platform told. Rejects only as `read` does.
   */
  transcribe(
    read: () => Promise<Uint8Array>,
    mime: InboundFile['mime'],
    signal: AbortSignal,
    toldSeconds?: InboundFile['seconds'],
  ): Promise<Transcription>
}

/** How many notes are transcribed at the same time, because a recogniser uses all cores. */
const mostAtOnce = 2
/** The most that a transcriber may print, in bytes. An hour of speech has about 60 kB. */
const maxOutputBytes = 262_144
/**
 * The fewest bytes in a second of speech: 6 kbit/s, the least of Opus (https://www.rfc-editor.org/rfc/rfc6716#section-2.1.1). A note
 * that doesn't tell its length may last as long as its bytes allow.
 */
const leastBytesInSecond = 750
/** The prefix of the folders of notes that are being transcribed. */
const folderPrefix = 'reply-voice-'
/** The age at which such a folder was left by a computer that went down, in ms. The longest `timeoutMs` is half of it. */
const leftAfterMs = 86_400_000
/** Removes a folder. Once more after a second, because a program that is being killed may still write to it. */
const removeScript = 'rm -rf -- "$1" || { sleep 1 && rm -rf -- "$1"; }'

/** The demuxers that the converter may use. Playlists are missing, because they make FFmpeg read other files. */
const audioFormats = 'ogg,mov,mp3,wav,flac,matroska,aac,amr,caf'

/**
 * Converts audio to what most recognisers read. The audio comes from people and decides by itself what FFmpeg takes it for, so
 * FFmpeg may read nothing but this file. https://ffmpeg.org/ffmpeg-formats.html#Format-Options
 */
export const defaultConvert: readonly string[] = [
  ...['ffmpeg', '-nostdin', '-hide_banner', '-loglevel', 'error'],
  ...['-protocol_whitelist', 'file', '-format_whitelist', audioFormats, '-i', '{file}'],
  ...['-map', '0:a:0', '-t', '{seconds}', '-ac', '1', '-ar', '16000', '-c:a', 'pcm_s16le', '-f', 'wav', '{wav}'],
]

/** Creates the transcriber of a config. Throws a `BridgeError` if the service's key is missing. */
export function createTranscriber(options: {
  readonly config: TranscribeConfig
  readonly secret: ReadSecret
  /** The environment of the programs: without the bridge's secrets. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}): Transcriber {
  const { config, env, clock } = options
  const { command, url, model = '', maxSeconds, timeoutMs } = config
  const { convert = url === undefined ? defaultConvert : false } = config
  const key = config.key && options.secret(config.key)
  /** The notes that wait for their turn, oldest first. */
  const waiting = new Set<() => void>()
  let running = 0
  return { transcribe }

  /** Waits for a turn, and passes it on when it is done. */
  async function transcribe(
    ...[read, mime, signal, toldSeconds = 0]: Parameters<Transcriber['transcribe']>
  ): Promise<Transcription> {
    if (toldSeconds > maxSeconds) return tooLong(toldSeconds)
    if (signal.aborted || !(await takeTurn(signal))) return { type: 'failed', why: 'canceled' }
    try {
      return await transcribeInTime(await read(), { mime, isTold: toldSeconds > 0 }, signal)
    } finally {
      passTurn()
    }
  }

  /** Transcribes within `timeoutMs`. Never rejects. */
  async function transcribeInTime(bytes: Uint8Array, facts: NoteFacts, signal: AbortSignal): Promise<Transcription> {
    if (signal.aborted) return { type: 'failed', why: 'canceled' }
    const deadline = new AbortController()
    const onAbort = (): void => deadline.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    const stopTimer = clock.after(timeoutMs, () => deadline.abort())
    let result: Transcription
    try {
      result = await transcribeNow(bytes, facts, deadline.signal)
    } catch (error) {
      result = { type: 'failed', why: 'failed', detail: messageOf(error) }
    } finally {
      stopTimer()
      signal.removeEventListener('abort', onAbort)
    }
    if (!deadline.signal.aborted) return result
    return { type: 'failed', why: signal.aborted ? 'canceled' : 'late' }
  }

  /** Resolves with true when the note has its turn, and with false if the signal aborts first. */
  async function takeTurn(signal: AbortSignal): Promise<boolean> {
    if (running < mostAtOnce) {
      running += 1
      return true
    }
    return await new Promise<boolean>((resolve) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave)
        resolve(true)
      }
      const leave = (): void => {
        waiting.delete(begin)
        resolve(false)
      }
      waiting.add(begin)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** Ends a turn, and gives it to the note that has waited longest. */
  function passTurn(): void {
    const [next] = waiting
    if (!next) running -= 1
    else {
      waiting.delete(next)
      next()
    }
  }

  /** Transcribes. The result does not count if the signal has aborted. Rejects if the folder for the audio can't be used. */
  async function transcribeNow(
    bytes: Uint8Array,
    { mime, isTold }: NoteFacts,
    signal: AbortSignal,
  ): Promise<Transcription> {
    // A converter cuts the note, and its result tells the length.
    const seconds = convert === false ? await audioSeconds(bytes, signal) : opusSeconds(bytes)
    if (seconds !== undefined && seconds > maxSeconds) return tooLong(seconds)
    const isUntold = convert === false && seconds === undefined && !isTold
    if (isUntold && bytes.length > maxSeconds * leastBytesInSecond) return tooLong('untold')
    if (bytes.length === 0) return { type: 'failed', why: 'unreadable', detail: 'It is empty.' }
    void removeLeftFolders(clock)
    // Readable by this user only.
    const folder = await mkdtemp(join(tmpdir(), folderPrefix))
    const release = runIfThisDies(removeScript, folder)
    try {
      const recorded = join(folder, `voice.${endingOf(mime)}`)
      await writeFile(recorded, bytes)
      const converted = convert === false ? recorded : await convertAudio(convert, folder, recorded, signal)
      if (typeof converted !== 'string') return converted
      if (convert !== false && (await secondsOf(converted)) > maxSeconds) return tooLong(undefined)
      return url === undefined
        ? await runTranscriber(command ?? [], folder, converted, signal)
        : heard(await postAudio({ url, key, model, file: converted, maxBytes: maxOutputBytes, signal }))
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 }).finally(release)
    }
  }

  /** Returns the failure for a note of that length. */
  function tooLong(seconds: NoteLength['seconds']): Transcription {
    return { type: 'failed', why: 'too-long', length: { seconds, maxSeconds } }
  }

  /** Converts the audio to WAV. Resolves with the path of the result, or with a failure. */
  async function convertAudio(
    converter: readonly string[],
    folder: string,
    file: string,
    signal: AbortSignal,
  ): Promise<string | Extract<Transcription, { type: 'failed' }>> {
    const wav = join(folder, 'converted.wav')
    // One second more, so that a note that is too long is noticed.
    const filled = fillIn(converter, { file, wav, seconds: String(maxSeconds + 1) })
    const end = await runProgram({ command: filled, cwd: folder, env, maxBytes: maxOutputBytes, signal, clock })
    if (end.type === 'missing') return { type: 'failed', why: 'missing', detail: end.detail }
    if (end.type === 'failed') {
      // Another recording does not help then. FFmpeg's words are those of `strerror`.
      const isFull = end.detail.includes('No space left on device')
      return { type: 'failed', why: isFull ? 'failed' : 'unreadable', detail: end.detail }
    }
    if (end.type !== 'done') return { type: 'failed', why: 'unreadable', detail: `The converter was ${end.type}.` }
    return wav
  }

  /** Runs the local program. Without `{file}` in its command, the path is its last argument. */
  async function runTranscriber(
    recogniser: readonly string[],
    folder: string,
    file: string,
    signal: AbortSignal,
  ): Promise<Transcription> {
    const isNamed = recogniser.some((part) => part.includes('{file}'))
    const filled = fillIn(isNamed ? recogniser : [...recogniser, '{file}'], { file })
    const end = await runProgram({ command: filled, cwd: folder, env, maxBytes: maxOutputBytes, signal, clock })
    switch (end.type) {
      case 'done':
        return heard({ type: 'understood', text: new TextDecoder().decode(end.output) })
      case 'missing':
      case 'failed':
        return { type: 'failed', why: end.type, detail: end.detail }
      case 'flooded':
        return { type: 'failed', why: 'too-much' }
      case 'killed':
        return { type: 'failed', why: 'late' }
      default:
        return end satisfies never
    }
  }
}

/** What the platform told about a note. */
interface NoteFacts {
  readonly mime: string
  /** Whether it told the length, which then is not too long. */
  readonly isTold: boolean
}

/** Returns a transcription with its text cleaned. Without any words, it failed. */
function heard(result: Transcription): Transcription {
  if (result.type === 'failed') return result
  const text = cleanTranscript(result.text)
  return text === '' ? { type: 'failed', why: 'empty' } : { type: 'understood', text }
}

/** Returns a command with each `{name}` of the values replaced, also within an argument. */
function fillIn(command: readonly string[], values: Readonly<Record<string, string>>): readonly [string, ...string[]] {
  const byName = new Map(Object.entries(values))
  const [program = '', ...args] = command.map((part) =>
    part.replace(/\{(\w+)\}/g, (all, name: string) => byName.get(name) ?? all),
  )
  return [program, ...args]
}

/** Returns how long a WAV file is, in seconds. 0 if it can't be read, or is another kind of file. */
async function secondsOf(path: string): Promise<number> {
  try {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(32), 0, 32, 0)
      return wavSeconds(buffer.subarray(0, bytesRead), (await file.stat()).size) ?? 0
    } finally {
      await file.close()
    }
  } catch {
    return 0
  }
}

/**
 * Removes the folders of notes that a computer left when it went down, once they are older than any transcription. Ignores errors:
 * the folder of another user can't be removed.
 */
async function removeLeftFolders(clock: Pick<Clock, 'now'>): Promise<void> {
  try {
    for (const name of (await readdir(tmpdir())).filter((one) => one.startsWith(folderPrefix))) {
      const path = join(tmpdir(), name)
      if (clock.now() - (await lstat(path)).mtimeMs > leftAfterMs) await rm(path, { recursive: true, force: true })
    }
  } catch {
    // The next note tries it again.
  }
}
