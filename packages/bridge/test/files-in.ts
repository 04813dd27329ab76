import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openCode2Version, sayText } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BridgeStage, crowdIn, startStage } from './stage.ts'
import { type Service, startService } from './transcription-service.ts'

/** The chats of the tests. */
const [first, second, third, fourth] = [11, 12, 13, 14]

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const pdf = Buffer.from('%PDF-1.7\n\0')
const scripts = { look: { steps: [[sayText('I see it.')]] } }
const document = (name: string, mime: string, bytes: Uint8Array) =>
  ({ file: { kind: 'document', name, mime, bytes } }) as const

const limit = { context: 200_000, output: 8000 }

/** The settings of a second model, which takes pictures. */
const seerOf1 = (baseURL: string) => ({
  provider: {
    fake: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Fake',
      options: { baseURL, apiKey: 'x' },
      models: {
        m1: { name: 'M1', limit, attachment: false },
        seer: { name: 'Seer', limit, attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } },
      },
    },
  },
})
const seerOf2 = (baseURL: string) => ({
  providers: {
    fake: {
      name: 'Fake',
      package: '@opencode-ai/ai/providers/openai-compatible',
      settings: { baseURL, apiKey: 'x' },
      models: {
        m1: { name: 'M1', limit, capabilities: { tools: true, input: ['text'], output: ['text'] } },
        seer: { name: 'Seer', limit, capabilities: { tools: true, input: ['text', 'image'], output: ['text'] } },
      },
    },
  },
})

/** Sends files to the agent on an OpenCode of this version. */
export function testFilesIn(version: string): void {
  describe(`OpenCode ${version}`, () => {
    let stage: BridgeStage
    let service: Service
    beforeAll(async () => {
      const extra = version === openCode2Version ? seerOf2 : seerOf1
      stage = await startStage({ scripts, version, extra, ...crowdIn([first, second, third, fourth], []) })
      service = await startService(({ body }, response) => {
        if (body.includes('damaged')) response.writeHead(400).end('{"error":{"message":"Invalid file format."}}')
        else if (body.includes('garbage')) response.end('ERROR: Cannot read "voice.ogg"')
        else response.end('{"text":"Look. [scenario:look]"}')
      })
      await stage.start({ transcribe: { url: service.url, model: 'whisper-1' } })
    })
    afterAll(async () => {
      await stage.close()
      await service.stop()
    })

    /** What the model got, without the requests for a title, which another model answers. */
    const requests = () => stage.model.requests.filter(({ kind }) => kind !== 'title')

    test('a text file of any type reaches the model as a text, under a name without a path, and is not stored', async () => {
      const { directory } = stage.server
      const before = [readdirSync(directory), readdirSync(dirname(directory))]
      const rows = Buffer.from('{"sales":"of the year"}')
      stage.telegram.say(first, 'Look. [scenario:look]', document('../../\u0007rows.json', 'application/json', rows))
      await stage.seen(first, (screen) => screen.some(({ text }) => text.includes('I see it.')))
      const got = JSON.stringify(requests())
      expect(got).toContain('of the year')
      expect(got).toMatch(/[^/]_u0007rows\.json/)
      expect([readdirSync(directory), readdirSync(dirname(directory))]).toEqual(before)
    })

    test('a file that the model does not take is refused before the run, with what it takes', async () => {
      const before = requests()
      stage.telegram.say(second, 'Look. [scenario:look]', document('report.pdf', 'application/pdf', pdf))
      const { text } = await stage.seen(second, (screen) => screen.find((one) => one.text.includes('Nothing was run')))
      expect(text).toContain('the agent can’t read report.pdf. It takes text files')
      const zip = Buffer.from([0x50, 0x4b, 3, 4, 0])
      stage.telegram.say(second, 'Look. [scenario:look]', document('all.zip', 'application/zip', zip))
      await stage.seen(second, (screen) => screen.some((one) => one.text.includes('can’t read all.zip')))
      expect(requests()).toEqual(before)
    })

    test('a model that takes it is named as the cure, and then gets it', async () => {
      const sent = { file: { kind: 'photo', bytes: png } } as const
      stage.telegram.say(third, 'Look. [scenario:look]', sent)
      const isCure = (text: string): boolean => text.includes('choose a model that reads it with /model')
      await stage.seen(third, (screen) => screen.some(({ text }) => isCure(text)))
      stage.telegram.say(third, '/model fake/seer')
      await stage.seen(third, (screen) => screen.some((one) => one.from === 'bot' && one.text.includes('seer')))
      stage.telegram.say(third, 'Look. [scenario:look]', sent)
      await stage.seen(third, (screen) => screen.some(({ text }) => text.includes('I see it.')))
      const got = JSON.stringify(requests())
      expect(got).toContain(png.toString('base64'))
      expect(got).not.toContain('Cannot read')
    })

    test('a voice note that can’t be transcribed reaches no model, and the text after it does', async () => {
      const before = requests().length
      const speak = (words: string): number =>
        stage.telegram.say(fourth, 'With a caption.', {
          file: { kind: 'voice', bytes: Buffer.from(words), mime: 'audio/ogg' },
        })
      const sentences = {
        damaged: 'the voice note could not be read. It may be damaged. Record it again, or type it.',
        garbage: 'the transcriber failed. The bridge’s log tells the operator why. Type it instead.',
      }
      for (const [words, sentence] of Object.entries(sentences)) {
        const note = speak(words)
        const { text } = await stage.seen(fourth, (screen) => screen.find(({ replyTo }) => replyTo === note))
        expect(text).toBe(`Nothing was run: ${sentence}`)
      }
      expect(requests()).toHaveLength(before)
      speak('well')
      await stage.answered(fourth, 'I see it.')
      const got = JSON.stringify(requests().slice(before))
      expect(got).toContain('With a caption.\\nLook.')
      for (const error of ['ERROR', 'Cannot read', 'Nothing was run', 'voice.ogg']) expect(got).not.toContain(error)
    })
  })
}
