import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The programs with which tests make and recognise voice notes. All are in Debian, under these names or in these packages. */
const packages: Readonly<Record<string, string>> = {
  ffmpeg: 'ffmpeg',
  'espeak-ng': 'espeak-ng',
  pocketsphinx_continuous: 'pocketsphinx pocketsphinx-en-us',
}

/** Returns why a test can't run here: the programs that are not installed, and how to install them. Undefined if it can. */
export function missingPrograms(...names: readonly string[]): string | undefined {
  const missing = names.filter((name) => spawnSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', name]).status !== 0)
  if (missing.length === 0) return undefined
  const cure = `apt-get install ${missing.map((name) => packages[name]).join(' ')}`
  return `${missing.join(', ')} not installed: ${cure}`
}

/** Speaks a text as people's phones record it: Ogg/Opus with one channel. */
export function spokenNote(text: string): Uint8Array {
  return spoken(text, 'ogg', ['-c:a', 'libopus', '-b:a', '32k'])
}

/** Speaks a text in MP4/AAC, as Slack's clients record it. */
export function spokenClip(text: string): Uint8Array {
  return spoken(text, 'mp4', ['-c:a', 'aac', '-b:a', '64k'])
}

function spoken(text: string, ending: string, codec: readonly string[]): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'reply-spoken-'))
  try {
    const [wav, recording] = [join(folder, 'spoken.wav'), join(folder, `spoken.${ending}`)]
    runOrThrow('espeak-ng', ['-v', 'en-us', '-s', '130', '-w', wav, text])
    runOrThrow('ffmpeg', ['-loglevel', 'error', '-i', wav, '-ac', '1', ...codec, recording])
    return readFileSync(recording)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns a note of silence, as Ogg/Opus. Its length is a multiple of 10 seconds. */
export function silentNote(seconds: number): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'reply-silent-'))
  try {
    const [short, long] = [join(folder, 'short.ogg'), join(folder, 'long.ogg')]
    const source = ['-f', 'lavfi', '-i', 'anullsrc=r=16000:cl=mono', '-t', '10']
    runOrThrow('ffmpeg', ['-loglevel', 'error', ...source, '-c:a', 'libopus', '-b:a', '6k', short])
    runOrThrow('ffmpeg', [
      '-loglevel',
      'error',
      '-stream_loop',
      String(seconds / 10 - 1),
      '-i',
      short,
      '-c',
      'copy',
      long,
    ])
    return readFileSync(long)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns a recording of silence in the format of that file name's ending. */
export function silentRecording(seconds: number, ending: string, options: readonly string[] = []): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'reply-silent-'))
  try {
    const recording = join(folder, `silent.${ending}`)
    const source = ['-f', 'lavfi', '-i', 'anullsrc=r=16000:cl=mono', '-t', String(seconds)]
    runOrThrow('ffmpeg', ['-loglevel', 'error', ...source, '-b:a', '24k', ...options, recording])
    return readFileSync(recording)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * The command line of a real recogniser. A synthetic voice is too unlike the people it was trained on for free speech, so it
 * chooses among the sentences of a grammar.
 */
export const pocketsphinx: readonly string[] = [
  ...['pocketsphinx_continuous', '-logfn', '/dev/null'],
  ...['-jsgf', fileURLToPath(new URL('fixtures/voice-commands.gram', import.meta.url)), '-infile', '{file}'],
]

function runOrThrow(program: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw error ?? new Error(`${program}: ${stderr}`)
}
