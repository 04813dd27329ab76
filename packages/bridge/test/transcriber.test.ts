import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { secretsOf } from '../src/config/load.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { TranscribeConfig } from '../src/config/schema.ts'
import { amrSeconds, audioTypeOf, endingOf, isAudio, opusSeconds, wavSeconds } from '../src/voice/audio.ts'
import { checkTranscriber } from '../src/voice/check-transcriber.ts'
import { cleanTranscript } from '../src/voice/clean-transcript.ts'
import { createTranscriber, type Transcriber, type Transcription } from '../src/voice/transcriber.ts'
import { bundleFixture, run } from './process.ts'
import { dripped, type Service, startService } from './transcription-service.ts'

const note = new TextEncoder().encode('not audio, but these programs do not look')
const never = new AbortController().signal
const stops: (() => unknown)[] = []
/** Where the audio is kept, for each test alone. */
let temporary = ''
beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'reply-transcriber-'))
  vi.stubEnv('TMPDIR', temporary)
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  vi.unstubAllEnvs()
  rmSync(temporary, { recursive: true })
})

/** Returns a checked `transcribe` of a config. */
function configOf(transcribe: object): TranscribeConfig {
  const { transcribe: config } = parseConfig({
    servers: { home: { url: 'http://127.0.0.1:4096' } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } } },
    transcribe,
  })
  if (!config) throw new Error('no transcribe')
  return config
}

/** Transcribes audio that is there. */
interface Listener {
  transcribe(bytes: Uint8Array, ...more: Tail<Parameters<Transcriber['transcribe']>>): Promise<Transcription>
}

type Tail<All extends readonly unknown[]> = All extends readonly [unknown, ...infer Rest] ? Rest : never

/** Returns a transcriber with this `transcribe`, whose key is `swordfish`. */
function transcriberOf(transcribe: object, clock: Clock = systemClock): Listener {
  const { transcribe: transcribed } = realTranscriberOf(transcribe, clock)
  return { transcribe: async (bytes, ...more) => await transcribed(async () => bytes, ...more) }
}

function realTranscriberOf(transcribe: object, clock: Clock = systemClock): Transcriber {
  const env = { PATH: process.env.PATH }
  return createTranscriber({ config: configOf(transcribe), secret: () => 'swordfish', env, clock })
}

/** Starts a service that responds so, until the test is over. */
async function serviceWith(...[respond]: Parameters<typeof startService>): Promise<Service> {
  const service = await startService(respond)
  stops.push(service.stop)
  return service
}

/** Returns the beginning of a FLAC file of that length: samples of one channel at 8 kHz, with 16 bits. */
function flacHeader(seconds: number): Uint8Array {
  const header = Buffer.alloc(42)
  header.write('fLaC')
  header.writeUInt32BE(0x80_00_00_22, 4)
  header.writeUInt32BE((8000 << 12) | (15 << 4), 18)
  header.writeUInt32BE(seconds * 8000, 22)
  return header
}

/** Returns a transcriber whose program is a shell script. `$1` is the path of the audio. */
function scripted(script: string, more: object = {}): Listener {
  return transcriberOf({ command: ['/bin/sh', '-c', script, 'sh'], convert: false, ...more })
}

const leftFolders = (): readonly string[] => readdirSync(temporary)

describe('a local program', () => {
  test('gets the path of the audio as its last argument, and its output is the text', async () => {
    const result = await scripted('basename "$1"; cat "$1"').transcribe(note, 'audio/ogg; codecs=opus', never)
    expect(result).toEqual({ type: 'understood', text: `voice.ogg\n${new TextDecoder().decode(note)}` })
  })

  test('gets the path where the command has {file}, also within an argument', async () => {
    const program = {
      command: ['/bin/sh', '-c', 'cat "$(echo "$1" | cut -d = -f 2)"', 'sh', '--file={file}'],
      convert: false,
    }
    const result = await transcriberOf(program).transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ type: 'understood', text: expect.stringContaining('not audio') })
  })

  test('gets what the converter wrote, which gets the most seconds', async () => {
    const convert = [
      '/bin/sh',
      '-c',
      'printf "%s s of %s" "$2" "$(cat "$1")" > "$3"',
      'sh',
      '{file}',
      '{seconds}',
      '{wav}',
    ]
    const result = await scripted('cat "$1"', { convert, maxSeconds: 30 }).transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ type: 'understood', text: expect.stringMatching(/^31 s of not audio/) })
  })

  test('does not get a shell: what looks like one in a command is an argument', async () => {
    const program = { command: ['/bin/echo', '$(id)', '`id`', ';', '{toString}', '{file}'], convert: false }
    const result = await transcriberOf(program).transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ text: expect.stringMatching(/^\$\(id\) `id` ; \{toString\} \/\S+\/voice\.ogg$/) })
  })

  test('has only the given environment, and leaves no file behind', async () => {
    vi.stubEnv('VOICE_TEST_SECRET', 'swordfish')
    const result = await scripted('env; pwd; : > left-behind').transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ text: expect.not.stringContaining('swordfish') })
    expect(leftFolders()).toEqual([])
  })

  test.each<[string, string, object]>([
    ['prints nothing', ':', { why: 'empty' }],
    ['prints only silence', 'echo "[BLANK_AUDIO]"', { why: 'empty' }],
    ['fails', 'echo "no model" >&2; exit 3', { why: 'failed', detail: 'It exited with 3. no model' }],
    ['is killed', 'kill -9 $$', { why: 'failed', detail: 'It was ended by SIGKILL.' }],
    ['floods its output', 'yes word', { why: 'too-much' }],
    ['floods its error output and fails', 'yes word | head -c 5000000 >&2; exit 1', { why: 'failed' }],
  ])('that %s is told apart', async (_, script, expected) => {
    expect(await scripted(script).transcribe(note, 'audio/ogg', never)).toMatchObject({ type: 'failed', ...expected })
  })

  test('that is not installed is missing, also as the converter', async () => {
    const none = { command: ['reply-no-such-program'] }
    expect(await transcriberOf({ ...none, convert: false }).transcribe(note, 'audio/ogg', never)).toMatchObject({
      why: 'missing',
      detail: expect.stringContaining('reply-no-such-program'),
    })
    const converted = { command: ['cat'], convert: ['reply-no-converter', '{file}', '{wav}'] }
    expect(await transcriberOf(converted).transcribe(note, 'audio/ogg', never)).toMatchObject({ why: 'missing' })
  })

  test('that can’t write does not blame the note', async () => {
    const error = 'av_interleaved_write_frame(): No space left on device'
    const convert = ['/bin/sh', '-c', 'echo "$1" >&2; exit 1', 'sh', error, '{file}', '{wav}']
    expect(await scripted('echo ran', { convert }).transcribe(note, 'audio/ogg', never)).toMatchObject({
      why: 'failed',
      detail: `It exited with 1. ${error}`,
    })
    const damaged = ['/bin/sh', '-c', 'echo "Invalid data" >&2; exit 1', 'sh', '{file}', '{wav}']
    expect(await scripted('echo ran', { convert: damaged }).transcribe(note, 'audio/ogg', never)).toMatchObject({
      why: 'unreadable',
    })
  })

  test('that hangs is ended with all that it started, once its time is over', async () => {
    const hung = scripted('trap "" TERM; sleep 987 & echo $!; wait', { timeoutMs: 1000 })
    expect(await hung.transcribe(note, 'audio/ogg', never)).toEqual({ type: 'failed', why: 'late' })
    await expectGone('sleep 987')
    expect(leftFolders()).toEqual([])
  })

  test('is ended with all that it started if the bridge is killed, and the audio is removed', async () => {
    const host = run(await bundleFixture('transcriber-host', temporary), '/bin/sh', '-c', 'sleep 983 & wait', 'sh')
    const folders = (): readonly string[] => leftFolders().filter((name) => name.startsWith('reply-voice-'))
    await vi.waitFor(() => expect(running('sleep 983')).toBe(1), { timeout: 60_000 })
    expect(folders()).toHaveLength(1)
    host.child.kill('SIGKILL')
    await host.ended
    await expectGone('sleep 983')
    await vi.waitFor(() => expect(folders()).toEqual([]), { timeout: 60_000 })
  })

  test('begins after what a computer left that went down is removed, and leaves that of others who are at work', async () => {
    const [left, other] = ['reply-voice-left', 'reply-voice-other'].map((name) => join(temporary, name))
    for (const folder of [left, other]) mkdirSync(folder ?? '')
    const daysAgo = Date.now() / 1000 - 2 * 86_400
    utimesSync(left ?? '', daysAgo, daysAgo)
    await scripted('echo done').transcribe(note, 'audio/ogg', never)
    await expect.poll(leftFolders).toEqual(['reply-voice-other'])
  })

  test('that started others is ended with them when it exits, also if they hold its output', async () => {
    const result = await scripted('sleep 986 & echo done').transcribe(note, 'audio/ogg', never)
    expect(result).toEqual({ type: 'understood', text: 'done' })
    await expectGone('sleep 986')
  })

  test('that left a process outside of its group is not waited for, also if that holds its output', async () => {
    // Until it is `sleep`, it may still be in the group of the program.
    const outside = 'setsid sleep 981 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; echo $!'
    const result = await scripted(`${outside}; yes word | head -n 20000`).transcribe(note, 'audio/ogg', never)
    const [pid = '', ...words] = result.type === 'understood' ? result.text.split('\n') : []
    expect(commandLine(pid)).toBe('sleep 981')
    process.kill(Number(pid))
    expect(words).toEqual(Array.from({ length: 20_000 }, () => 'word'))
  })

  test('that prints secrets as it fails keeps them out of the log, also where its output is cut', async () => {
    const token = 'sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789'
    const script = `echo "the key ${token} of ${'x'.repeat(260)}" >&2; exit 1`
    const result = await scripted(script).transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ why: 'failed', detail: expect.stringMatching(/^It exited with 1\. .*x$/) })
    expect(JSON.stringify(result)).not.toMatch(/[0-9]{5}|abcdef|ABCDEF/)
  })

  test('is ended by a cancel, and a note that waits for its turn begins nothing', async () => {
    const cancel = new AbortController()
    const hung = scripted('sleep 985')
    const all = [1, 2, 3].map(() => hung.transcribe(note, 'audio/ogg', cancel.signal))
    await vi.waitFor(() => expect(running('sleep 985')).toBe(2), { timeout: 60_000 })
    cancel.abort()
    expect(await Promise.all(all)).toEqual([1, 2, 3].map(() => ({ type: 'failed', why: 'canceled' })))
    await expectGone('sleep 985')
  })

  test('lets the others go on after two notes that hang', async () => {
    const clock = createHandClock()
    const command = ['/bin/sh', '-c', '[ "$(cat "$1")" = hang ] && sleep 984; cat "$1"', 'sh']
    const one = transcriberOf({ command, convert: false, timeoutMs: 1000 }, clock)
    const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
    const all = ['hang', 'hang', 'a', 'b', 'c'].map((text) => one.transcribe(bytes(text), 'audio/ogg', never))
    await vi.waitFor(() => expect(running('sleep 984')).toBe(2), { timeout: 60_000 })
    await clock.advance(1000)
    const results = await Promise.all(all)
    expect(results.map((result) => (result.type === 'understood' ? result.text : result.why))).toEqual([
      'late',
      'late',
      'a',
      'b',
      'c',
    ])
  })
})

describe('the audio', () => {
  test('of at most two notes is read at the same time, also if one can’t be read', async () => {
    const one = realTranscriberOf({ command: ['cat'], convert: false })
    let reading = 0
    let most = 0
    const read = async (): Promise<Uint8Array> => {
      reading += 1
      most = Math.max(most, reading)
      await new Promise((resolve) => setImmediate(resolve))
      reading -= 1
      return note
    }
    const broken = async (): Promise<never> => {
      throw new Error('It is gone.')
    }
    const all = [read, broken, read, broken, read, read].map((given) => one.transcribe(given, 'audio/ogg', never))
    const ends = (await Promise.allSettled(all)).map(({ status }) => status)
    expect(ends).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(most).toBe(2)
  })

  test('of a note that is canceled while it waits is not read', async () => {
    const one = realTranscriberOf({ command: ['/bin/sh', '-c', 'sleep 982', 'sh'], convert: false })
    const cancel = new AbortController()
    let reads = 0
    const read = async (): Promise<Uint8Array> => {
      reads += 1
      return note
    }
    const all = [1, 2, 3].map(() => one.transcribe(read, 'audio/ogg', cancel.signal))
    await vi.waitFor(() => expect(running('sleep 982')).toBe(2), { timeout: 60_000 })
    cancel.abort()
    await Promise.all(all)
    expect(reads).toBe(2)
  })
})

describe('a service', () => {
  test('gets the file, the model and the key, and its text counts', async () => {
    const { url, requests } = await serviceWith((_, response) => response.end('{"text":" Add a test. "}'))
    const one = transcriberOf({ url, model: 'whisper-1', key: { env: 'KEY' } })
    expect(await one.transcribe(note, 'audio/ogg; codecs=opus', never)).toEqual({
      type: 'understood',
      text: 'Add a test.',
    })
    const [{ method, path, authorization, body } = { body: '' }] = requests
    expect({ method, path, authorization }).toEqual({
      method: 'POST',
      path: '/v1/audio/transcriptions',
      authorization: 'Bearer swordfish',
    })
    expect(body).toMatch(/name="model"\r\n\r\nwhisper-1\r\n/)
    expect(body).toMatch(/name="file"; filename="voice\.ogg"[\s\S]*not audio, but/)
  })

  test('gets nothing of a recording that is too long', async () => {
    const { url, requests } = await serviceWith((_, response) => response.end('{"text":"Yes."}'))
    const one = transcriberOf({ url, model: 'base' })
    expect(await one.transcribe(flacHeader(601), 'audio/flac', never)).toMatchObject({ why: 'too-long' })
    expect(requests).toEqual([])
    expect(await one.transcribe(flacHeader(599), 'audio/flac', never)).toMatchObject({ text: 'Yes.' })
  })

  test('may be named with its whole path, and needs no key', async () => {
    const { url, requests } = await serviceWith((_, response) => response.end('{"text":"Yes."}'))
    const one = transcriberOf({ url: `${url}/audio/transcriptions`, model: 'base' })
    expect(await one.transcribe(note, 'audio/ogg', never)).toMatchObject({ text: 'Yes.' })
    expect(requests).toMatchObject([{ path: '/v1/audio/transcriptions', authorization: undefined }])
  })

  test.each<[string, (response: ServerResponse) => unknown, object]>([
    ['refuses the key', (response) => response.writeHead(401).end(), { why: 'shut-out' }],
    [
      'refuses the audio',
      (response) => response.writeHead(400).end('{"error":{"message":"Invalid file\\u001b[31m format."}}'),
      { why: 'unreadable', detail: 'The service answered 400. Invalid file\\u001b[31m format.' },
    ],
    [
      'repeats a key',
      (response) => response.writeHead(400).end('{"error":"No sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789 here"}'),
      { why: 'unreadable', detail: expect.stringMatching(/No \S*redacted\S* here/) },
    ],
    ['finds it too large', (response) => response.writeHead(413).end('no JSON'), { why: 'unreadable' }],
    ['is busy', (response) => response.writeHead(429).end(), { why: 'busy', detail: 'The service answered 429.' }],
    ['fails', (response) => response.writeHead(503).end(), { why: 'busy' }],
    ['is another service', (response) => response.writeHead(404).end(), { why: 'failed' }],
    ['answers without a text', (response) => response.end('{"words":[]}'), { why: 'failed' }],
    ['answers with no JSON', (response) => response.end('<html>'), { why: 'failed' }],
    ['heard nothing', (response) => response.end('{"text":""}'), { why: 'empty' }],
    ['floods', (response) => response.end(`{"text":"${'a'.repeat(300_000)}"}`), { why: 'too-much' }],
    ['closes the connection', (response) => response.destroy(), { why: 'busy' }],
  ])('that %s is told apart', async (_, respond, expected) => {
    const { url } = await serviceWith((_request, response) => respond(response))
    const result = await transcriberOf({ url, model: 'm', key: { env: 'KEY' } }).transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ type: 'failed', ...expected })
    expect(JSON.stringify(result)).not.toContain('swordfish')
  })

  test.each([301, 302, 307, 308])('that leads to another host with %i is not followed', async (status) => {
    const other = await serviceWith((_, response) => response.end('{"text":"Stolen."}'))
    const { url } = await serviceWith((_, response) => response.writeHead(status, { location: other.url }).end())
    const result = await transcriberOf({ url, model: 'm', key: { env: 'KEY' } }).transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ why: 'failed', detail: `The service answered ${status}.` })
    expect(other.requests).toEqual([])
  })

  test('that does not answer, or sends its answer byte by byte, is left when the time is over', async () => {
    for (const respond of [() => {}, (response: ServerResponse) => dripped(response)]) {
      const { url } = await serviceWith((_, response) => respond(response))
      const one = transcriberOf({ url, model: 'm', timeoutMs: 1000 })
      expect(await one.transcribe(note, 'audio/ogg', never)).toEqual({ type: 'failed', why: 'late' })
    }
  })

  test('is left by a cancel', async () => {
    const { url, requests } = await serviceWith(() => {})
    const cancel = new AbortController()
    const result = transcriberOf({ url, model: 'm' }).transcribe(note, 'audio/ogg', cancel.signal)
    await expect.poll(() => requests.length).toBe(1)
    cancel.abort()
    expect(await result).toEqual({ type: 'failed', why: 'canceled' })
  })

  test('that can’t be reached is busy', async () => {
    const { url, stop } = await serviceWith(() => {})
    await stop()
    const result = await transcriberOf({ url, model: 'm' }).transcribe(note, 'audio/ogg', never)
    expect(result).toMatchObject({ why: 'busy', detail: expect.stringContaining('ECONNREFUSED') })
  })
})

describe('a check', () => {
  const check = (transcribe: object, path?: string): string =>
    checkTranscriber(configOf(transcribe), () => 'swordfish', path)

  test('finds programs in PATH and by their paths, and does not call a service', () => {
    expect(check({ command: ['/bin/sh'], convert: ['cat', '{file}', '{wav}'] })).toBe('/bin/sh and cat installed')
    expect(check({ command: ['sh'], convert: false })).toBe('sh installed')
    expect(check({ url: 'https://api.example/v1', model: 'm', key: { env: 'KEY' } })).toBe('api.example not called')
  })

  test('names what is not installed, also the default converter, a folder that can’t be written, and a missing key', () => {
    expect(() => check({ command: ['reply-no-such-program'], convert: false })).toThrow(
      /^reply-no-such-program can't be run/,
    )
    expect(() => check({ command: ['/bin/sh'] }, '/nowhere')).toThrow(/^ffmpeg can't be run/)
    expect(() => check({ command: ['/bin'], convert: false })).toThrow(/^\/bin can't be run/)
    vi.stubEnv('TMPDIR', join(temporary, 'nowhere'))
    expect(() => check({ command: ['sh'], convert: false })).toThrow(
      /nowhere while they are transcribed\. Make it writable/,
    )
    const keyed = configOf({ url: 'https://api.example/v1', model: 'm', key: { env: 'REPLY_NO_KEY' } })
    expect(() => checkTranscriber(keyed, secretsOf('/', {}))).toThrow(/REPLY_NO_KEY is not set/)
  })
})

describe('the text', () => {
  test.each([
    ['two lines', '  Fix the \r\n\r\n parser.\n', 'Fix the\nparser.'],
    ['control sequences', '\u001b[31mred\u001b[0m \u0007bell\u0000', 'red bell'],
    ['a title and a link for terminals', '\u001b]0;title\u0007a\u001b]8;;http://x\u0007b\u001b]8;;\u0007', 'ab'],
    ['a reversed order and tags', 'a\u202eb\u2066c\ufeff\u{e0041}\u{e007f}', 'abc'],
    ['separators', 'one\u2028two\u0085three', 'one\ntwo\nthree'],
    ['half a surrogate pair', 'a\ud800b', 'ab'],
    ['joiners of Persian', 'می\u200cخواهم', 'می\u200cخواهم'],
    ['a slash command', ' \u200c/ /deploy prod', 'deploy prod'],
    ['a slash after hidden characters', '\ufeff\n\u2060/undo', 'undo'],
    ['silence', '[BLANK_AUDIO]\n', ''],
    ['silence between words', 'Go.\n[SILENCE]\nStop.', 'Go.\nStop.'],
  ])('of %s is cleaned', (_, printed, text) => expect(cleanTranscript(printed)).toBe(text))
})

describe('audio', () => {
  test('is told by its media type', () => {
    const types = ['audio/ogg; codecs=opus', 'AUDIO/MPEG', 'application/ogg', 'audio/x-new', 'video/mp4', 'text/plain']
    expect(types.map((mime) => isAudio({ mime, name: 'file' }))).toEqual([true, true, true, true, false, false])
    expect(types.map(endingOf)).toEqual(['ogg', 'mp3', 'ogg', 'bin', 'bin', 'bin'])
  })

  test.each([
    ['note.opus', '', 'ogg'],
    ['AUD 1.OGG', 'application/octet-stream', 'ogg'],
    ['note.oga', 'application/octet-stream; a=b', 'ogg'],
    ['note.m4a', 'Application/Octet-Stream', 'm4a'],
    ['note.wav', '', 'wav'],
    ['note.flac', '', 'flac'],
    ['note.amr', '', 'amr'],
    ['note.aac', '', 'aac'],
    ['note.mp3', '', 'mp3'],
  ])('is told by its name if its type is unknown: %s of %j', (name, mime, ending) => {
    expect([isAudio({ name, mime }), endingOf(audioTypeOf({ name, mime }))]).toEqual([true, ending])
  })

  test.each([
    ['clip.webm', 'application/octet-stream'],
    ['note.ogg.zip', 'application/octet-stream'],
    ['ogg', ''],
    ['constructor', ''],
    ['note.ogg', 'text/plain'],
    ['note.mp3', 'application/pdf'],
  ])('is not told by its name: %s of %j', (name, mime) => {
    expect([isAudio({ name, mime }), audioTypeOf({ name, mime })]).toEqual([false, mime])
  })

  test('of Ogg/Opus tells its length in its last page, and other files don’t', () => {
    expect(opusSeconds(oggPage(3600 * 48_000))).toBe(3600)
    expect(opusSeconds(oggPage(-1))).toBeUndefined()
    expect(opusSeconds(oggPage(5).subarray(0, 12))).toBeUndefined()
    expect(opusSeconds(note)).toBeUndefined()
  })

  test('that says to be too long is not transcribed', async () => {
    const result = await scripted('echo ran', { maxSeconds: 60 }).transcribe(oggPage(61 * 48_000), 'audio/ogg', never)
    expect(result).toEqual({ type: 'failed', why: 'too-long', length: { seconds: 61, maxSeconds: 60 } })
  })

  test('without a converter is refused by the length that its header tells', async () => {
    const one = scripted('echo ran', { maxSeconds: 60 })
    expect(await one.transcribe(flacHeader(60), 'audio/flac', never)).toMatchObject({ type: 'understood' })
    const length = { seconds: 3600, maxSeconds: 60 }
    expect(await one.transcribe(flacHeader(3600), 'audio/flac', never)).toEqual({
      type: 'failed',
      why: 'too-long',
      length,
    })
  })

  test.each([
    ['AMR', Buffer.from(`#!AMR\n${'\x3c'.padEnd(32, '\0').repeat(50)}${'\x7c'.repeat(50)}`, 'latin1'), 2],
    ['AMR-WB', Buffer.from(`#!AMR-WB\n${'\x44'.padEnd(61, '\0').repeat(50)}`, 'latin1'), 1],
    ['another kind', Buffer.from('#!ASR\n'), undefined],
  ])('of %s tells its length by its frames', (_, bytes, seconds) => expect(amrSeconds(bytes)).toBe(seconds))

  test('that doesn’t tell its length is refused without a converter if it has bytes for more', async () => {
    const one = scripted('echo ran', { maxSeconds: 60 })
    const [most, more] = [new Uint8Array(60 * 750).fill(7), new Uint8Array(60 * 750 + 1).fill(7)]
    expect(await one.transcribe(most, 'audio/webm', never)).toEqual({ type: 'understood', text: 'ran' })
    const refused = { type: 'failed', why: 'too-long', length: { seconds: 'untold', maxSeconds: 60 } }
    expect(await one.transcribe(more, 'audio/webm', never)).toEqual(refused)
    expect(await one.transcribe(more, 'audio/webm', never, 59)).toEqual({ type: 'understood', text: 'ran' })
    const convert = ['/bin/sh', '-c', 'cp "$1" "$2"', 'sh', '{file}', '{wav}']
    const converted = scripted('echo ran', { maxSeconds: 60, convert })
    expect(await converted.transcribe(more, 'audio/webm', never)).toEqual({ type: 'understood', text: 'ran' })
  })

  test('that the platform says to be too long is not read', async () => {
    const { transcribe: transcribed } = realTranscriberOf({ command: ['echo', 'ran'], convert: false, maxSeconds: 60 })
    const read = async (): Promise<Uint8Array> => {
      throw new Error('It was read.')
    }
    const length = { seconds: 61, maxSeconds: 60 }
    expect(await transcribed(read, 'audio/ogg', never, 61)).toEqual({ type: 'failed', why: 'too-long', length })
  })

  test('that is too long once it is converted is not transcribed', async () => {
    const wav = Buffer.alloc(44)
    wav.write('RIFF')
    wav.write('WAVEfmt ', 8)
    wav.writeUInt32LE(10, 28)
    expect(wavSeconds(wav, 44 + 25)).toBe(2.5)
    expect(wavSeconds(note, 100)).toBeUndefined()
    const convert = ['/bin/sh', '-c', 'cp "$1" "$2"; head -c 700 /dev/zero >> "$2"', 'sh', '{file}', '{wav}']
    const one = scripted('echo ran', { convert, maxSeconds: 60 })
    const isCut = { seconds: undefined, maxSeconds: 60 }
    expect(await one.transcribe(wav, 'audio/wav', never)).toEqual({ type: 'failed', why: 'too-long', length: isCut })
    const unconverted = scripted('echo ran', { maxSeconds: 60 })
    expect(await unconverted.transcribe(Buffer.concat([wav, Buffer.alloc(700)]), 'audio/wav', never)).toEqual({
      ...{ type: 'failed', why: 'too-long', length: { seconds: 70, maxSeconds: 60 } },
    })
  })

  test('without a byte is unreadable', async () => {
    const result = await scripted('echo ran').transcribe(new Uint8Array(), 'audio/ogg', never)
    expect(result).toMatchObject({ type: 'failed', why: 'unreadable' })
  })
})

/** Returns one page of Ogg/Opus with this position. */
function oggPage(position: number): Uint8Array {
  const page = Buffer.alloc(47)
  page.write('OggS')
  page.writeBigInt64LE(BigInt(position), 6)
  page.write('OpusHead', 28)
  return page
}

/** How many processes have this command line. */
function running(command: string): number {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandLine(pid) === command).length
}

/** Returns the command line of a process. Empty for one that has ended. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
  } catch {
    return ''
  }
}

/** Waits until no process has this command line. */
async function expectGone(command: string): Promise<void> {
  await vi.waitFor(() => expect(running(command)).toBe(0), { timeout: 60_000 })
}
