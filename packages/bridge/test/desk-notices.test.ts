import type { LocalRun } from '@reply/core/source'
import { PortError } from '@reply/sink/channel'
import { afterEach, expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { askIn, driven, held, posted, sessionID, shows, startDesk, stopDesk } from './desk-stage.ts'
import { answer } from './local-agent.ts'
import { createPhone } from './phone.ts'

afterEach(stopDesk)

const home = -1_001_000_001_234

/** Starts a bridge with a phone for each person, and lets Ann's chat begin a session. Ann and Carl may approve, Bob may prompt. */
async function startWithPhones(options: Parameters<typeof startDesk>[0] = {}, entry: object = {}) {
  const events: BridgeEvent[] = []
  const { channel, rang: notices, faults } = createPhone()
  const phone = { entry: { type: 'phone', ...entry }, channel }
  const all = {
    groups: [home],
    more: { anns: phone, carls: phone, bobs: phone },
    people: {
      ann: { ids: ['telegram:1'], may: ['prompt', 'approve'], notify: ['anns'] },
      carl: { ids: ['telegram:3'], may: ['approve'], notify: ['carls'] },
      bob: { ids: ['telegram:2'], may: ['prompt'], notify: ['bobs'] },
    },
    observers: [(event: BridgeEvent) => void events.push(event)],
    ...options,
  }
  const stage = await startDesk(all)
  /** The notices that were sent, as their kinds and receivers. */
  const rang = (): readonly string[] =>
    events.flatMap((event) => (event.type === 'notice' ? [`${event.kind} ${event.to}`] : [])).toSorted()
  const restart = async (): Promise<void> => {
    await stage.stop()
    await stage.chats.start({ ...all, clock: stage.clock })
  }
  return { ...stage, rang, notices, faults, restart }
}

/** Lets a minute and a half pass. */
async function aWhile(): Promise<void> {
  const { clock, passes } = driven ?? expect.fail()
  const until = clock.now() + 90_000
  await passes(() => clock.now() >= until, 500)
}

test('a request of the desk rings once it has waited while the person of its private chat is away, and its end does not', async () => {
  const { desk, passes, rang } = await startWithPhones()
  const run = desk(sessionID, 'Go')
  askIn(run, 'one')
  await passes(shows('touch one'))
  expect(rang()).toEqual([])
  await aWhile()
  expect(rang()).toEqual(['ask anns'])
  run.closeAsk('one')
  await aWhile()
  answer(run, 'Done.')
  await aWhile()
  expect(rang()).toEqual(['ask anns'])
})

test('a request of the desk that a group shows rings for those who may approve', async () => {
  const { desk, rang, notices } = await startWithPhones({
    server: { directory: '/shop', homeChat: `telegram:${home}` },
  })
  askIn(desk('ses_shop', 'Go', '/shop'), 'one')
  await aWhile()
  expect(rang()).toEqual(['ask anns', 'ask carls'])
  const link = `https://t.me/c/1000001234/${posted('touch one', home)[0]?.messageId}`
  expect(notices.map((notice) => notice.link)).toEqual([link, link])
})

test('a request of the desk does not ring before `quietMs`, also if people count as away at once', async () => {
  const { desk, clock, passes, rang } = await startWithPhones({ router: { quietMs: 30_000 } }, { awayMs: 0 })
  // The end of her own prompt rang, too.
  const asked = (): readonly string[] => rang().filter((one) => one.startsWith('ask'))
  const run = desk(sessionID, 'Go')
  const began = clock.now()
  askIn(run, 'one')
  await passes(() => asked().length > 0)
  expect(clock.now() - began).toBeGreaterThanOrEqual(30_000)
  run.closeAsk('one')
  askIn(run, 'two')
  await passes(shows('touch two'))
  run.closeAsk('two')
  await aWhile()
  expect(asked()).toEqual(['ask anns'])
})

test('the notice of a request whose run is not found again after a restart is not sent', async () => {
  const { desk, passes, rang, faults, restart } = await startWithPhones()
  faults.push(new PortError('rate-limited', 'slow down', { retryAfterMs: 600_000 }))
  askIn(desk(sessionID, 'Go'), 'one')
  await passes(() => faults.length === 0)
  await restart()
  await passes(shows('Answered elsewhere'))
  await aWhile()
  expect(rang()).toEqual([])
})

test('a request of the desk that is answered there in time does not ring', async () => {
  const { desk, passes, rang } = await startWithPhones()
  const run = desk(sessionID, 'Go')
  askIn(run, 'one')
  await passes(shows('touch one'))
  run.closeAsk('one')
  await aWhile()
  expect(rang()).toEqual([])
})

test.each(['private', 'group'])(
  'what the agent does by itself in a %s rings for the author of the last prompt alone',
  async (kind) => {
    const stage = await startWithPhones()
    const { passes, telegram, wake, rang } = stage
    const inGroup = (): boolean => stage.said(home).includes('Hello to you.')
    if (kind === 'group') {
      telegram.say(home, '@fake_bot Hi', { from: { id: 1, name: 'Ann' } })
      await passes(inGroup)
    }
    await aWhile()
    const run: LocalRun = wake(sessionID)
    const answers = askIn(run, 'one')
    await aWhile()
    expect([rang(), answers]).toEqual([['ask anns'], []])
    run.closeAsk('one')
    answer(run, 'It is done.')
    await aWhile()
    expect(rang()).toEqual(['ask anns', 'final anns'])
  },
)

test('who prompts into a run of the desk is told of its end, in the chat and on the phone', async () => {
  const { desk, passes, rang, telegram } = await startWithPhones({ takesPromptsWhileBusy: true })
  const run = desk(sessionID, 'Go')
  askIn(run, 'one')
  await passes(shows('touch one'))
  expect(posted('touch one').map(({ isSilent }) => isSilent)).toEqual([true])
  run.closeAsk('one')
  await passes(shows('Answered elsewhere'))
  telegram.say(1, 'hold on, use pnpm')
  await passes(() => held.length > 0)
  run.write({ type: 'text', delta: 'It builds. ' })
  await aWhile()
  run.write({ type: 'text', delta: 'It is built.' })
  run.end({ type: 'completed' })
  for (const joined of held) joined.end({ type: 'completed' })
  await aWhile()
  const said = telegram
    .screen(1)
    .filter(({ from }) => from === 'bot')
    .slice(-2)
  expect(said.map(({ text, isSilent }) => [text, isSilent])).toEqual([
    ['It builds. It is built.', true],
    [expect.stringMatching(/^Done in 1m 3\ds\.$/), false],
  ])
  expect(rang()).toEqual(['final anns'])
})
