import { openCode2Version, recordedVersions, sayText } from '@reply/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

let stage: BridgeStage
afterEach(async () => await stage.close())

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const pdf = Buffer.from('%PDF-1.7\n\0')
const scripts = { look: { steps: [[sayText('I see it.')]] } }
const document = (name: string, mime: string, bytes: Uint8Array) =>
  ({ file: { kind: 'document', name, mime, bytes } }) as const

/** What the model got, without the requests for a title, which another model answers. */
const got = () => JSON.stringify(stage.model.requests.filter(({ kind }) => kind !== 'title'))

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

const versions = [recordedVersions[0], ...recordedVersions.slice(-1), openCode2Version]

describe.each(versions)('OpenCode %s', (version) => {
  test('a text file of any type reaches the model as a text', async () => {
    stage = await startStage({ scripts, version })
    await stage.start()
    const rows = Buffer.from('{"sales":"of the year"}')
    stage.telegram.say(1, 'Look. [scenario:look]', document('rows.json', 'application/json', rows))
    await stage.seen(1, (screen) => screen.some(({ text }) => text.includes('I see it.')))
    expect(got()).toContain('of the year')
  })

  test('a file that the model does not take is refused before the run, with what it takes', async () => {
    stage = await startStage({ scripts, version })
    await stage.start()
    stage.telegram.say(1, 'Look. [scenario:look]', document('report.pdf', 'application/pdf', pdf))
    const { text } = await stage.seen(1, (screen) => screen.find((one) => one.text.includes('Nothing was run')))
    expect(text).toContain('the agent can’t read report.pdf. It takes text files')
    expect(stage.model.requests).toEqual([])
    stage.telegram.say(
      1,
      'Look. [scenario:look]',
      document('all.zip', 'application/zip', Buffer.from([0x50, 0x4b, 3, 4, 0])),
    )
    await stage.seen(1, (screen) => screen.some((one) => one.text.includes('can’t read all.zip')))
    expect(stage.model.requests).toEqual([])
  })

  test('a model that takes it is named as the cure, and then gets it', async () => {
    const isSecond = version === openCode2Version
    stage = await startStage({ scripts, version, extra: isSecond ? seerOf2 : seerOf1 })
    await stage.start()
    const sent = { file: { kind: 'photo', bytes: png } } as const
    stage.telegram.say(1, 'Look. [scenario:look]', sent)
    await stage.seen(1, (screen) => screen.some((one) => one.text.includes('choose a model that reads it with /model')))
    stage.telegram.say(1, '/model fake/seer')
    await stage.seen(1, (screen) => screen.some((one) => one.from === 'bot' && one.text.includes('seer')))
    stage.telegram.say(1, 'Look. [scenario:look]', sent)
    await stage.seen(1, (screen) => screen.some(({ text }) => text.includes('I see it.')))
    expect(got()).toContain(png.toString('base64'))
    expect(got()).not.toContain('Cannot read')
  })
})
