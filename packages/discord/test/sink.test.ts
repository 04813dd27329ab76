import { emptyReply, type Reply, textOf } from '@reply/core'
import { memoryStore } from '@reply/sink'
import { createHandClock } from '@reply/testing'
import { type DiscordFault, type DiscordMessage, type DiscordOptions, startDiscord } from '@reply/testing/discord'
import { describe, expect, test } from 'vitest'
import { createInFlight, stalledIn } from '../../sink/test/in-flight.ts'
import { permits, replyWith, settledWith, text } from '../../sink/test/make.ts'
import { beginning, showTimeline, type Timeline, timelinesOf } from '../../sink/test/timeline.ts'
import { type DiscordSinkOptions, discordSink } from '../src/index.ts'
import { renderDiscord } from '../src/internal.ts'
import { channelId, clientOf, start, token, until, watched } from './bot.ts'

interface Plan extends Partial<DiscordOptions> {
  readonly sink?: Partial<DiscordSinkOptions>
  /** Channels that show the same reply. */
  readonly channelIds?: readonly string[]
}

/** Shows a recorded reply through the real client to its end, on a manual clock. */
async function show(timeline: Timeline, { sink: options = {}, channelIds = [channelId], ...plan }: Plan) {
  const clock = createHandClock(beginning)
  const discord = await startDiscord({ token, clock, ...plan })
  const inFlight = createInFlight(() => stalledIn(discord.calls))
  const client = watched(clientOf(discord, clock), inFlight)
  try {
    const sinks = channelIds.map((id) => discordSink({ rest: client, channelId: id, clock, ...options }))
    const { delivery, reply } = await showTimeline(timeline, { clock, sinks, rest: inFlight.rest })
    const screen = discord.screen(channelIds[0] ?? channelId)
    const limited = discord.calls.filter(({ status }) => status === 429).length
    return { delivery, reply, discord, screen, limited }
  } finally {
    await discord.close()
  }
}

const letters = (words: string): string => words.replace(/[^\p{L}\p{N}]/gu, '')

/** How often each part of the text is on the screen, without markup. */
function shownTimes(reply: Reply, screen: readonly DiscordMessage[]): readonly number[] {
  const all = letters(screen.map(({ text }) => text).join('\n'))
  const parts = renderDiscord(textOf(reply)).plain.split('\n\n').map(letters)
  return [...new Set(parts.filter((part) => part.length > 12))].map((part) => all.split(part).length - 1)
}

const timeline = async (scenario: string): Promise<Timeline> => {
  const [found] = await timelinesOf({ version: '1.18.33', scenario })
  return found ?? expect.fail(`Nothing is recorded of ${scenario}.`)
}

const scenarios = ['plain', 'long-markdown', 'tools-todos', 'question', 'abort-text']

const plans: readonly (readonly [string, Plan])[] = [
  ['nothing', {}],
  ['a flood of 30 s', { faults: [{ type: 'rate-limited', retryAfterS: 30, nth: 2 }] }],
  ['a flood of everybody', { faults: [{ type: 'rate-limited', retryAfterS: 20, scope: 'global', nth: 3 }] }],
  ['a flood of others', { faults: [{ type: 'rate-limited', retryAfterS: 9, scope: 'shared', times: 2 }] }],
  ['failures of theirs', { faults: [{ type: 'status', status: 502, times: 3 }] }],
  ['failures after posts were taken', { faults: [{ type: 'status', status: 502, times: 5, isTaken: true }] }],
  ['broken connections', { faults: [{ type: 'accept-then-drop', nth: 2, times: 2 }] }],
  ['a slower channel', { allowances: { post: { count: 1, perMs: 3000 }, edit: { count: 2, perMs: 10_000 } } }],
]

describe.each(plans)('under %s', (name, plan) => {
  test.each(scenarios)('%s is shown completely and once', async (scenario) => {
    const { delivery, reply, screen, limited } = await show(await timeline(scenario), plan)
    expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
    expect(shownTimes(reply, screen).filter((times) => times !== 1)).toEqual([])
    // The headers announce a limit before a call is refused.
    if (!name.startsWith('a flood')) expect([limited, delivery.rateLimited]).toEqual([0, 0])
  })
})

test.each<DiscordFault['type'] & ('accept-then-drop' | 'accept-then-stall' | 'refuse' | 'stall')>([
  'accept-then-drop',
  'accept-then-stall',
  'refuse',
  'stall',
])("%s on the answer's first post: the nonce keeps it from being posted twice", async (type) => {
  const faults: readonly DiscordFault[] = [{ type, call: 'post' }]
  const { delivery, reply, screen } = await show(await timeline('plain'), {
    faults,
    sink: { policy: { verbosity: 'quiet' } },
  })
  expect(shownTimes(reply, screen)).toEqual(shownTimes(reply, screen).map(() => 1))
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
})

test('an inaccessible channel is named in the delivery', async () => {
  const channels = [{ id: channelId, isClosed: true }]
  const { delivery, screen } = await show(await timeline('plain'), { channels })
  expect(screen).toEqual([])
  const reason = expect.stringContaining('50013 Missing Permissions')
  expect(delivery.undelivered).toContainEqual({ key: 'answer#0', card: 'answer', type: 'refused', reason })
})

/** A text that grows by a word every 100 ms. */
function growing(words: number): Timeline['states'] {
  return Array.from({ length: words + 1 }, (_, index) => {
    const isSettled = index === words
    const text = 'word '.repeat(index + 1).trim()
    const part = { id: 'prt_1', messageID: 'msg_2', type: 'text' as const, text, raw: undefined }
    const sealed = { ...part, status: isSettled ? ('sealed' as const) : ('open' as const) }
    const reply: Reply = {
      ...emptyReply('ses_1'),
      promptIDs: ['msg_1'],
      startedAt: beginning,
      messages: [{ id: 'msg_2', parts: [sealed], raw: undefined }],
      phase: isSettled ? 'settled' : 'working',
      ...(isSettled && { outcome: 'completed' as const, finish: 'stop', settledAt: beginning + 100 * index }),
    }
    return { atMs: 100 * index, reply }
  })
}

test('edits of growing text are at least 500 ms apart, at most five calls in five seconds', async () => {
  const { discord, limited } = await show({ ...(await timeline('plain')), states: growing(200) }, {})
  const written = discord.calls.filter(({ name }) => name === 'post' || name === 'edit')
  const at = written.map((call) => call.at - beginning)
  const gaps = at.slice(1, -1).map((time, index) => time - (at[index] ?? 0))
  expect([gaps.length > 10, gaps.filter((gap) => gap < 500), limited]).toEqual([true, [], 0])
  expect(at.filter((time, index) => index >= 5 && time - (at[index - 5] ?? 0) < 5000)).toEqual([])
  expect(discord.screen(channelId).map(({ text }) => text)).toEqual(['word '.repeat(201).trim()])
})

// https://discord.com/developers/docs/resources/message#create-message: 2,000 characters.
test('a message takes all of its 2,000 characters, with a status below it only where that fits', async () => {
  const states = growing(399).slice(-20)
  const sink = { policy: { notifyAfterMs: 60_000 } }
  const { discord, screen } = await show({ ...(await timeline('plain')), states }, { sink })
  expect(screen.map(({ text }) => text)).toEqual(['word '.repeat(400).trim()])
  expect(discord.calls.filter(({ status = 0 }) => status >= 400)).toEqual([])
})

test('the status is shown at once, in small text, and removed at the end', async () => {
  const { states } = await timeline('plain')
  const [first, ...more] = states
  const waiting = first ? [first, ...more.map((state) => ({ ...state, atMs: state.atMs + 8000 }))] : []
  const { discord } = await show({ ...(await timeline('plain')), states: waiting }, {})
  const [post] = discord.calls.filter(({ name }) => name === 'post')
  expect(post).toMatchObject({ at: beginning + (first?.atMs ?? 0), body: { content: /^-# / } })
  expect(discord.screen(channelId).map(({ source }) => source)).not.toContainEqual(expect.stringMatching(/^-# /m))
})

test('a text that grows for more than an hour continues in another message', async () => {
  const found = await timeline('plain')
  const [first, second, ...more] = found.states
  if (!first || !second) expect.fail()
  const late = [first, second, ...more.map((state) => ({ ...state, atMs: state.atMs + 4_000_000 }))]
  const { delivery, reply, screen, discord } = await show(
    { ...found, states: late },
    { sink: { policy: { statusTickMs: 60_000 } } },
  )
  expect([delivery.undelivered, shownTimes(reply, screen).filter((times) => times !== 1)]).toEqual([[], []])
  expect(discord.calls.filter(({ code }) => code === 30046)).toEqual([])
})

test('a restart posts nothing twice', async () => {
  const { states } = await timeline('plain')
  const reply = states.at(-1)?.reply ?? expect.fail()
  const clock = createHandClock(beginning)
  const discord = await startDiscord({ token, clock })
  const store = memoryStore()
  for (const _ of [1, 2]) {
    const sink = discordSink({ rest: clientOf(discord, clock), channelId, clock, store })
    sink.replyStarted?.({ type: 'replyStarted', reply })
    await sink.settled()
    await sink.stop()
  }
  expect([discord.screen(channelId).length, discord.count('post')]).toEqual([1, 1])
  await discord.close()
})

test("thirty concurrent channels share the bot's rate limits", async () => {
  const channelIds = Array.from({ length: 30 }, (_, index) => `1000000000000000${10 + index}`)
  const { delivery, limited } = await show(await timeline('tools-todos'), { channelIds })
  expect([limited, delivery.undelivered]).toEqual([0, []])
})

test('without the permission for threads the reply goes to the channel, and that is reported', async () => {
  const { discord, rest, clock } = await start({
    faults: [{ call: 'thread', type: 'status', status: 403, code: 50013, message: 'Missing Permissions', times: 50 }],
  })
  const errors: Error[] = []
  const onError = (error: Error): void => void errors.push(error)
  const replyTo = discord.say(channelId, 'Why?')
  const sink = discordSink({ rest, channelId, clock, replyTo, thread: true, onError })
  sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('The one answer.')]) })
  expect(await sink.settled()).toMatchObject({ shown: 1, undelivered: [] })
  await sink.stop()
  expect(discord.screen(channelId).at(-1)).toMatchObject({ text: 'The one answer.', replyTo })
  expect(errors).toMatchObject([{ type: 'port', message: expect.stringMatching(/50013.*Create Public Threads/) }])
  expect(discord.count('thread')).toBe(1)
})

test('a permission allowed after an hour says so in its message', async () => {
  const { discord, rest, clock } = await start({}, beginning)
  let ledger = ''
  const write = async (_: string, text: string): Promise<void> => {
    ledger = text
  }
  const store = { read: async () => undefined, write }
  const sink = discordSink({ rest, channelId, clock, store, answerers: ['5'] })
  const reply = replyWith([], { asks: [permits()], phase: 'blocked' })
  sink.replyStarted?.({ type: 'replyStarted', reply })
  await until(() => ledger.includes('"state":"shown"'))
  await clock.advance(3_660_000)
  const allowed = permits({ status: 'answered', reply: 'once' })
  sink.replyAmended?.({ type: 'replyAmended', reply: { ...reply, asks: [allowed] } })
  await until(() => discord.screen(channelId)[0]?.text.includes('✅') === true)
  await sink.stop()
})

test('that the agent begins is not worth an edit, and its text is edited evenly', async () => {
  const reply = (more: Partial<Reply>) => replyWith([], more)
  const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ')
  const growing = Array.from({ length: 60 }, (_, index) => ({
    atMs: 4000 + index * 100,
    reply: replyWith([text(words(index + 1), { status: 'open' })]),
  }))
  const states = [
    { atMs: 0, reply: reply({ phase: 'waiting' }) },
    { atMs: 1500, reply: reply({ phase: 'working' }) },
    ...growing,
    { atMs: 10_100, reply: settledWith([text(words(60))], {}, 10_100) },
  ]
  const seen: { readonly atMs: number; readonly text: string }[] = []
  const clock = createHandClock(beginning)
  const discord = await startDiscord({ token, clock })
  const inFlight = createInFlight(() => stalledIn(discord.calls))
  discord.observe(() => {
    const [message] = discord.screen(channelId)
    if (message && message.text !== seen.at(-1)?.text) seen.push({ atMs: clock.now() - beginning, text: message.text })
  })
  try {
    const sinks = [discordSink({ rest: watched(clientOf(discord, clock), inFlight), channelId, clock })]
    await showTimeline({ name: 'made', states }, { clock, sinks, rest: inFlight.rest })
  } finally {
    await discord.close()
  }
  expect(seen.filter(({ atMs }) => atMs < 4000).map((one) => one.text)).toEqual([expect.stringContaining('Working')])
  const texts = seen.filter((one) => one.text.includes('word0')).map(({ atMs }) => atMs)
  expect(Math.max(...texts.slice(1).map((at, index) => at - (texts[index] ?? 0)))).toBeLessThanOrEqual(1300)
})
