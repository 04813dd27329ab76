import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@reply/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseConfig } from '../src/config/parse.ts'
import { createTranscriber, type Transcription } from '../src/voice/transcriber.ts'
import { missingPrograms, pocketsphinx, silentNote, silentRecording, spokenNote } from './voice-notes.ts'

const missing = missingPrograms('ffmpeg', 'espeak-ng', 'pocketsphinx_continuous')
const never = new AbortController().signal

/** Transcribes a note with the default converter and a real recogniser. */
async function heard(bytes: Uint8Array, more: object = {}, mime = 'audio/ogg; codecs=opus'): Promise<Transcription> {
  const { transcribe: config } = parseConfig({
    servers: { home: { url: 'http://127.0.0.1:4096' } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } } },
    transcribe: { command: pocketsphinx, ...more },
  })
  if (!config) throw new Error('no transcribe')
  const one = createTranscriber({ config, secret: () => '', env: { PATH: process.env.PATH }, clock: systemClock })
  return await one.transcribe(async () => bytes, mime, never)
}

describe.skipIf(missing !== undefined)(`a voice note in Ogg/Opus${missing ? ` (${missing})` : ''}`, () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'reply-full-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(['add a test to the parser', 'fix the second bug', 'always'])(
    'becomes the words that were spoken: %s',
    { timeout: 60_000 },
    async (text) => expect(await heard(spokenNote(text))).toEqual({ type: 'understood', text }),
  )

  test('of silence has no words', { timeout: 60_000 }, async () => {
    expect(await heard(silentNote(10))).toEqual({ type: 'failed', why: 'empty' })
  })

  test('that is damaged, or no audio, is unreadable', { timeout: 60_000 }, async () => {
    const spoken = spokenNote('hello')
    const damaged = [spoken.slice(0, 20), new Uint8Array(5000).fill(7), new TextEncoder().encode('OggS'.repeat(500))]
    for (const bytes of damaged) expect(await heard(bytes)).toMatchObject({ type: 'failed', why: 'unreadable' })
  })

  test('of an hour is refused by its own length', { timeout: 60_000 }, async () => {
    const hour = silentNote(3600)
    expect(hour.length).toBeLessThan(20_000_000)
    expect(await heard(hour)).toMatchObject({ why: 'too-long', length: { seconds: expect.closeTo(3600, 0) } })
  })

  test('that claims to be short is cut by the converter, and refused', { timeout: 60_000 }, async () => {
    const note = Buffer.from(silentNote(30))
    note.writeBigInt64LE(48_000n, note.lastIndexOf('OggS') + 6)
    expect(await heard(note, { maxSeconds: 10 })).toEqual({
      ...{ type: 'failed', why: 'too-long', length: { seconds: undefined, maxSeconds: 10 } },
    })
  })

  test('can’t make the converter read other files, as it can by default', { timeout: 60_000 }, async () => {
    const secret = join(folder, 'secret.mp3')
    execFileSync('ffmpeg', ['-loglevel', 'error', '-i', '-', secret], { input: spokenNote('add a test to the parser') })
    const playlist = new TextEncoder().encode(
      `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile://${secret}\n#EXT-X-ENDLIST\n`,
    )
    const naive = { convert: ['ffmpeg', '-i', '{file}', '-ar', '16000', '-ac', '1', '{wav}'] }
    expect(await heard(playlist, naive)).toEqual({ type: 'understood', text: 'add a test to the parser' })
    expect(await heard(playlist)).toMatchObject({ type: 'failed', why: 'unreadable' })
  })
})

const missingEncoder = missingPrograms('ffmpeg')

describe.skipIf(missingEncoder !== undefined)(`a recording${missingEncoder ? ` (${missingEncoder})` : ''}`, () => {
  const unconverted = { command: ['echo', 'ran'], convert: false }

  test.each(['mp3', 'mp4', 'm4a', 'aac', 'flac', 'ogg', 'webm', 'wav'])(
    'in a file .%s is refused without a converter if it is too long',
    { timeout: 60_000 },
    async (ending) => {
      const bytes = silentRecording(20, ending)
      expect(await heard(bytes, { ...unconverted, maxSeconds: 30 }, `audio/${ending}`)).toMatchObject({
        type: 'understood',
      })
      // In AAC, the last part may not count.
      expect(await heard(bytes, { ...unconverted, maxSeconds: 10 }, `audio/${ending}`)).toMatchObject({
        ...{ why: 'too-long', length: { seconds: expect.closeTo(20, -0.3) } },
      })
    },
  )

  test('that a browser streams in WebM doesn’t tell its length', { timeout: 60_000 }, async () => {
    const bytes = silentRecording(20, 'webm', ['-live', '1'])
    expect(await heard(bytes, { ...unconverted, maxSeconds: 1 }, 'audio/webm')).toMatchObject({
      ...{ why: 'too-long', length: { seconds: 'untold' } },
    })
  })
})
