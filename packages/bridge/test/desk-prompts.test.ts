import type { LocalRun } from '@reply/core/source'
import { afterEach, expect, test } from 'vitest'
import { askIn, driven, held, posted, sessionID, shows, startDesk, stopDesk } from './desk-stage.ts'

afterEach(stopDesk)

/** Starts a bridge whose agent takes prompts while it works. */
const start = async (follow: string, mirrors: readonly (readonly string[])[] = []) =>
  await startDesk({ takesPromptsWhileBusy: true, server: { follow }, mirrors })

/** What the bot said in a chat since the session began. */
const said = (chat = 1): readonly string[] => driven?.said(chat).slice(1) ?? []

/** Ends a run, and those that joined it. */
function endAll(run: LocalRun): void {
  run.end({ type: 'completed' })
  for (const joined of held) joined.end({ type: 'completed' })
}

test('with `all`, everything that the desk types is quoted once, in order, above what the agent says to it', async () => {
  const { desk, join, passes } = await start('all')
  const run = desk(sessionID, 'Build it')
  run.write({ type: 'text', delta: 'It builds.' })
  await passes(shows('It builds.'))
  await join(sessionID, 'hold on, use pnpm')
  await passes(() => held.length === 1)
  run.end({ type: 'completed' })
  held[0]?.write({ type: 'text', delta: 'I use pnpm.' })
  await passes(shows('I use pnpm.'))
  await join(sessionID, 'hold on, and say so')
  await passes(() => held.length === 2)
  held[0]?.end({ type: 'completed' })
  held[1]?.write({ type: 'text', delta: 'So I say.' })
  held[1]?.end({ type: 'completed' })
  await passes(shows('So I say.'))
  await passes(() => false, 1000)
  const quoted = (text: string): string => `From the terminal, home:\n\n${text}`
  expect(said()).toEqual([
    quoted('Build it'),
    'It builds.',
    quoted('hold on, use pnpm'),
    'I use pnpm.',
    quoted('hold on, and say so'),
    'So I say.',
  ])
  expect(posted('From the terminal').map(({ isSilent }) => isSilent)).toEqual([true, true, true])
})

test.each([
  ['all', 1],
  ['asks', 0],
])(
  'with `%s`, what the desk types into a run of the chat is quoted %i times, and what the chat writes is not',
  async (follow, count) => {
    const mirrors = [['telegram:1', 'telegram:2']]
    const { join, passes, telegram } = await start(follow, mirrors)
    telegram.say(1, 'hold on, build it')
    await passes(() => held.length === 1)
    telegram.say(1, '/steer hold on, with pnpm')
    await passes(() => held.length === 2)
    await join(sessionID, 'hold on, says the desk')
    await passes(() => held.length === 3)
    held[2]?.write({ type: 'text', delta: 'As the desk says.' })
    await passes(() => shows('As the desk says.')() && shows('As the desk says.', 2)())
    for (const run of held) run.end({ type: 'completed' })
    await passes(() => false, 1000)
    for (const chat of [1, 2]) {
      const quotes = posted('From the terminal', chat)
      expect(quotes.map(({ text }) => text)).toEqual(
        Array(count).fill('From the terminal, home:\n\nhold on, says the desk'),
      )
    }
  },
)

test('with `asks`, nothing that the desk types is quoted, also once a prompt of the chat joined the run', async () => {
  const { desk, join, passes, telegram } = await start('asks')
  const run = desk(sessionID, 'Build it')
  askIn(run, 'one')
  await passes(shows('touch one'))
  run.closeAsk('one')
  await passes(shows('Answered in the terminal'))
  telegram.say(1, 'hold on, use pnpm')
  await passes(() => held.length === 1)
  await join(sessionID, 'hold on, says the desk')
  held[0]?.write({ type: 'text', delta: 'I use pnpm.' })
  await passes(shows('I use pnpm.'))
  endAll(run)
  await passes(() => false, 1000)
  expect(said().join()).not.toMatch(/Build it|says the desk/)
})
