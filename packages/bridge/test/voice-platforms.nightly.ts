import type { LocalRun } from '@reply/core/source'
import { afterEach, describe, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { linkedDevice } from './linked-device.ts'
import { answer, localAgent } from './local-agent.ts'
import { type Platform, platformNames, startPlatform } from './platforms.ts'
import { missingPrograms, pocketsphinx, spokenClip, spokenNote } from './voice-notes.ts'

const missing = missingPrograms('ffmpeg', 'espeak-ng', 'pocketsphinx_continuous')

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
