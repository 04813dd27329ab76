import type { LocalRun } from '@reply/core/source'
import { createFakeBaileys } from '@reply/testing/whatsapp'
import { bridgeChannel as whatsapp } from '@reply/whatsapp/bridge'
import { afterEach, describe, expect, test } from 'vitest'
import { type BaileysLibrary, connectBaileys } from '../../whatsapp/src/baileys/connection.ts'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { type Platform, platformNames, startPlatform } from './platforms.ts'
import { missingPrograms, pocketsphinx, spokenClip, spokenNote } from './voice-notes.ts'

const missing = missingPrograms('ffmpeg', 'espeak-ng', 'pocketsphinx_continuous')

/** A linked device of WhatsApp. Files are not encrypted there: their path holds the content. */
async function linkedDevice(): Promise<Platform> {
  const account = createFakeBaileys()
  const ids = { ann: '15550000001@s.whatsapp.net', bob: '15550000002@s.whatsapp.net' }
  const ours = (who: keyof typeof ids) => account.screen(ids[who]).filter(({ from }) => from === 'me')
  const number = '4915100000000'
  const library: BaileysLibrary = {
    findFile: async ({ directPath = '' }) => {
      const content = Buffer.from(directPath.slice(1), 'base64url').toString('base64')
      return { url: `data:audio/ogg;base64,${content}`, decrypt: (bytes) => bytes }
    },
    login: async () => ({
      number: () => number,
      save: async () => {},
      connect: ({ onUpdate }) => {
        const socket = account.connect()
        socket.ev.on('connection.update', onUpdate)
        return { socket, end: () => account.drop(), pair: async () => '' }
      },
    }),
  }
  return {
    name: 'whatsapp',
    channel: { ...whatsapp, create: async (config, host) => await connectBaileys(config as never, host, library) },
    entry: { type: 'whatsapp', api: 'baileys', auth: './login', number },
    ...{ secrets: {}, ids, ready: async () => {}, labels: () => [], press: async () => {}, told: () => [] },
    say: (who, text) => void account.say(ids[who], text),
    speak: (who, { ogg: bytes }) =>
      void account.say(ids[who], '', { file: { name: '', bytes, mime: 'audio/ogg; codecs=opus', isVoice: true } }),
    texts: (who = 'ann') => ours(who).map(({ text }) => text),
    close: async () => {},
  }
}

let chats: Chats | undefined
afterEach(async () => await chats?.close())

const starts: readonly (readonly [string, () => Promise<Platform>])[] = [
  ...platformNames.map((name) => [name, () => startPlatform(name)] as const),
  ['a linked device of WhatsApp', linkedDevice],
]

test.each(starts)('on %s, the quotation says how to change what waits there', async (name, startOne) => {
  const platform = await startOne()
  let held: LocalRun | undefined
  const agent = localAgent((run) => {
    held = run
  })
  chats = await startChats({ platforms: [platform], connectTo: agent.connectTo })
  await chats.start({ transcribe: { command: ['/bin/echo', 'the words'], convert: false } })
  platform.say('ann', 'wait')
  await expect.poll(() => held).toBeDefined()
  const bytes = new TextEncoder().encode('a note')
  platform.speak('ann', { ogg: bytes, mp4: bytes })
  const quotation = (): string | undefined => platform.texts('ann').find((text) => text.includes('Understood'))
  await expect.poll(quotation).toContain('/edit and the text')
  expect(quotation()?.includes('reply to this message')).toBe(name !== 'slack')
})

describe.skipIf(missing !== undefined)(`a recording${missing ? ` (${missing})` : ''}`, () => {
  test.each(starts)('on %s becomes the prompt that was spoken', { timeout: 60_000 }, async (_, startOne) => {
    const platform = await startOne()
    const agent = localAgent((run, text) => answer(run, `Did: ${text}`))
    chats = await startChats({ platforms: [platform], connectTo: agent.connectTo })
    await chats.start({ transcribe: { command: pocketsphinx } })
    const words = 'add a test to the parser'
    platform.speak('ann', { ogg: spokenNote(words), mp4: spokenClip(words) })
    await expect.poll(() => platform.texts('ann').join('\n'), { timeout: 30_000 }).toContain(`Did: ${words}`)
    expect(agent.heard).toEqual([words])
    expect(platform.texts('ann').filter((text) => text.includes('Understood'))).toHaveLength(1)
    expect(chats.errors).toEqual([])
  })
})
