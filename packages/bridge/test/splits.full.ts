import { afterAll, beforeAll, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { type Platform, type PlatformName, platformNames, startPlatform } from './platforms.ts'

/** More than the longest message, in UTF-16 units, which Slack counts in bytes. */
const beyond: Readonly<Record<PlatformName, number>> = { telegram: 33_000, slack: 5100, discord: 2100, whatsapp: 4200 }

/** What people see as one character: families, skin colours, flags, letters with marks, and what takes two units. */
const characters = ['👨‍👩‍👧‍👦', '🤷🏽‍♀️', '🇳🇱', 'e\u0301\u0323\u0308', '😀']

/** Without a space, so that there is no better place to split, and with a message's end in each kind of character. */
function answerFor(name: PlatformName): string {
  const run = (one: string): string => one.repeat(Math.ceil(beyond[name] / one.length))
  return `xx${kindsFor(name).map(run).join('')}.`
}

/** WhatsApp takes a message in six seconds. */
function kindsFor(name: PlatformName): readonly string[] {
  return name === 'whatsapp' ? characters.slice(0, 3) : characters
}

let platforms: readonly Platform[]
let chats: Chats

beforeAll(async () => {
  platforms = await Promise.all(platformNames.map((name) => startPlatform(name)))
  const agent = localAgent((run, name) => answer(run, answerFor(name as PlatformName)))
  chats = await startChats({ platforms, connectTo: agent.connectTo })
  await chats.start()
})
afterAll(async () => await chats.close())

const whole = new RegExp(`^x*(?:${characters.join('|')})+[.]?$`, 'u')

test.concurrent.for(platformNames)(
  'an answer without spaces is split between characters, and arrives whole: %s',
  async (name, { expect }) => {
    const platform = platforms.find((one) => one.name === name)
    platform?.say('ann', name)
    const end = `${kindsFor(name).at(-1)}.`
    await expect.poll(() => platform?.texts().at(-1)?.endsWith(end)).toBe(true)
    const shown = platform?.texts() ?? []
    const text = answerFor(name)
    expect(shown.join('') === text).toBe(true)
    expect(shown.length).toBeGreaterThanOrEqual(kindsFor(name).length)
    expect(shown.filter((one) => !whole.test(one))).toEqual([])
    expect(chats.errors).toEqual([])
  },
)
