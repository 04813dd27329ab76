import { type Reply, textOf } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { type SlackFault, type SlackFeatures, type SlackMessage, startSlack } from '@reply/testing/slack'
import { describe, expect, test } from 'vitest'
import { createInFlight, stalledIn } from '../../sink/test/in-flight.ts'
import { asks, questionOf, replyWith, settledWith, text } from '../../sink/test/make.ts'
import { beginning, showTimeline, type Timeline, timelinesOf } from '../../sink/test/timeline.ts'
import { type SlackApi, type SlackSinkOptions, slackSink } from '../src/index.ts'
import { renderSlack } from '../src/internal.ts'
import { clientOf, recipient, start, token } from './app.ts'

interface Plan {
  readonly faults?: readonly SlackFault[]
  readonly features?: SlackFeatures
  readonly sink?: Partial<SlackSinkOptions>
  /** Channels that show the same reply. Default: one thread. */
  readonly channels?: readonly string[]
  readonly isThread?: boolean
  /** Without a thread: a message to reply to. Default false. */
  readonly hasPrompt?: boolean
}

/** Shows a recorded reply through the real client to its end, on a manual clock. */
async function show(timeline: Timeline, plan: Plan) {
  const { faults = [], features = {}, sink: options = {}, channels = ['C1'], isThread = true, hasPrompt } = plan
  let root: string | undefined
  const clock = createHandClock(beginning)
  const slack = await startSlack({ token, clock, faults, features })
  const client = clientOf(slack)
  const inFlight = createInFlight(() => stalledIn(slack.calls))
  const api: SlackApi = {
    apiCall: async (method, given) => {
      return await inFlight.during(async () => {
        return await client.apiCall(method, given)
      })
    },
  }
  try {
    const sinks = channels.map((channelId) => {
      root = isThread || hasPrompt ? slack.say(channelId, 'Go') : undefined
      const place = isThread ? { threadTs: root } : { replyTo: root }
      return slackSink({ api, channelId, ...place, recipient, clock, ...options })
    })
    const { delivery, reply } = await showTimeline(timeline, { clock, sinks, rest: inFlight.rest })
    const screen = slack.screen(channels[0] ?? 'C1').filter(({ from }) => from === 'bot')
    return { delivery, reply, slack, screen, root, limited: slack.calls.filter(({ status }) => status === 429).length }
  } finally {
    await slack.close()
  }
}

const letters = (words: string): string => words.replace(/[^\p{L}\p{N}]/gu, '')

const shownOf = ({ text, mode }: SlackMessage): string => (mode === 'markdown' ? renderSlack(text).plain : text)

/** How often each part of the text is on the screen, without markup. */
function shownTimes(reply: Reply, screen: readonly SlackMessage[]): readonly number[] {
  const all = letters(screen.map(shownOf).join('\n'))
  const parts = renderSlack(textOf(reply)).plain.split('\n\n').map(letters)
  return [...new Set(parts.filter((part) => part.length > 12))].map((part) => all.split(part).length - 1)
}

const timelines = async (scenario: string): Promise<Timeline> => {
  const [timeline] = await timelinesOf({ version: '1.18.33', scenario })
  return timeline ?? expect.fail(`Nothing is recorded of ${scenario}.`)
}

const scenarios = ['long-markdown', 'tools-todos', 'question', 'abort-text']
const more = ['plain', 'permission-once', 'retry-429', 'unicode']

const edit = { policy: { delivery: 'edit' } } as const
const error = (word: string, more: object = {}): SlackFault => ({ type: 'error', error: word, ...more })

const plans: readonly (readonly [string, Plan])[] = [
  ['nothing', {}],
  ['nothing, by edits', { sink: edit }],
  ['a channel without a thread', { isThread: false }],
  ['a flood of 30 s', { faults: [{ type: 'rate-limited', retryAfterS: 30, nth: 2, method: /^chat/ }] }],
  [
    'a flood of ten minutes, by edits',
    { sink: edit, faults: [{ type: 'rate-limited', retryAfterS: 600, nth: 2, method: /^chat/ }] },
  ],
  ['failures of theirs, by edits', { sink: edit, faults: [{ type: 'status', code: 503, times: 3 }] }],
  [
    'failures after posts were taken',
    { sink: edit, faults: [{ type: 'status', code: 502, method: 'chat.postMessage', times: 5, isTaken: true }] },
  ],
  ['an update of theirs', { faults: [error('service_unavailable', { times: 3 })] }],
  ['wrong markup, by edits', { sink: edit, faults: [error('invalid_blocks', { method: /chat/ })] }],
  ['too long, by edits', { sink: edit, faults: [error('msg_blocks_too_long', { method: /chat/, nth: 2 })] }],
  ['a stream that is too long', { faults: [error('msg_too_long', { method: 'chat.appendStream' })] }],
  ['a stream that ended', { faults: [error('message_not_in_streaming_state', { method: 'chat.appendStream' })] }],
  [
    'a stream that ended before it was closed',
    { faults: [error('message_not_in_streaming_state', { method: 'chat.stopStream' })] },
  ],
  ['a person who stops it', { faults: [error('stopped_by_user', { method: 'chat.appendStream' })] }],
  ['an append without a confirmation', { faults: [{ type: 'accept-then-drop', method: 'chat.appendStream' }] }],
  ['a close without a confirmation', { faults: [{ type: 'accept-then-drop', method: 'chat.stopStream' }] }],
  ['no streams', { features: { streams: false } }],
  ['no streams, statuses and sessions', { features: { streams: false, statuses: false, sessions: false } }],
]

describe.each(plans)('under %s', (name, plan) => {
  test.each(name.startsWith('nothing') ? [...scenarios, ...more] : scenarios)(
    '%s is shown completely and once',
    async (scenario) => {
      const { delivery, reply, screen, slack, limited } = await show(await timelines(scenario), plan)
      expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
      expect(shownTimes(reply, screen).filter((times) => times !== 1)).toEqual([])
      expect(screen.filter(({ isStreaming }) => isStreaming)).toEqual([])
      expect(limited).toBe(name.startsWith('a flood') ? delivery.rateLimited : 0)
      expect(slack.mentions).toEqual([])
    },
  )
})

test('a stream that Slack opened without an answer is closed, and shows the whole text once', async () => {
  const faults: readonly SlackFault[] = [{ type: 'status', code: 502, method: 'chat.startStream', isTaken: true }]
  const { delivery, reply, screen, slack } = await show(await timelines('long-markdown'), { faults })
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(shownTimes(reply, screen).filter((times) => times !== 1)).toEqual([])
  expect(screen.filter(({ isStreaming }) => isStreaming)).toEqual([])
  expect([slack.count('chat.postMessage'), slack.count('chat.stopStream') > 0]).toEqual([0, true])
})

test('without the scope to read, a stream without an answer doubles one message at most, and is counted', async () => {
  const faults: readonly SlackFault[] = [{ type: 'status', code: 502, method: 'chat.startStream', isTaken: true }]
  const { delivery, reply, screen } = await show(await timelines('plain'), { faults, features: { history: false } })
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 1 })
  expect(shownTimes(reply, screen).every((times) => times === 1 || times === 2)).toBe(true)
})

test('where no stream can be opened, the text is a message that Slack is asked for', async () => {
  const faults: readonly SlackFault[] = [
    { type: 'status', code: 502, method: 'chat.startStream', times: 50 },
    { type: 'status', code: 502, method: 'chat.postMessage', times: 5, isTaken: true },
  ]
  const { delivery, reply, screen } = await show(await timelines('plain'), { faults })
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(shownTimes(reply, screen).filter((times) => times !== 1)).toEqual([])
})

test('without the scope to read, an outage loses nothing and doubles one message at most', async () => {
  const faults: readonly SlackFault[] = [{ type: 'status', code: 502, times: 30, isTaken: true }]
  const sink = { policy: { delivery: 'final', verbosity: 'quiet' } } as const
  const { delivery, reply, screen } = await show(await timelines('plain'), {
    faults,
    sink,
    features: { history: false },
  })
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 1 })
  expect(shownTimes(reply, screen).every((times) => times === 1 || times === 2)).toBe(true)
})

test.each([
  ['below the prompt', true],
  ['in the channel', false],
])('without a thread, everything of a reply is shown %s', async (_, hasPrompt) => {
  const sink = { policy: { notifyAfterMs: 0, delivery: 'edit' } } as const
  const { screen, root } = await show(await timelines('tools-todos'), { sink, isThread: false, hasPrompt })
  expect(screen.length).toBeGreaterThan(1)
  expect([...new Set(screen.map(({ threadTs }) => threadTs))]).toEqual([hasPrompt ? root : undefined])
})

test('a stream shows tools as tasks, and no message has only tasks', async () => {
  const { screen, slack } = await show(await timelines('tools-todos'), {})
  expect(screen.flatMap(({ tasks }) => tasks).every(({ status }) => status === 'complete')).toBe(true)
  expect(screen.some(({ tasks }) => tasks.length > 0)).toBe(true)
  expect(slack.count('chat.startStream')).toBeGreaterThan(0)
})

describe('a run that people of the chat stop', () => {
  const stopped = { outcome: 'aborted', aborting: 'requested' } as const
  const sink = { policy: { abortNotice: 'below' } } as const
  // Too short to be shown at once.
  const said = 'It begins'
  const stoppedAt = (atMs: number): Timeline => ({
    name: 'stopped',
    states: [
      { atMs: 0, reply: replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }]) },
      { atMs, reply: settledWith([{ ...text(said), id: 'prt_a' }], stopped) },
    ],
  })

  test('before its text was shown has one post, which says both', async () => {
    const { delivery, screen, slack } = await show(stoppedAt(150), { sink })
    expect(screen.map(shownOf)).toEqual([`${said}\n\n⏹️ Stopped.`])
    expect([slack.count('chat.postMessage'), slack.count('chat.startStream'), slack.count('chat.update')]).toEqual([
      1, 0, 0,
    ])
    expect(delivery.saysStopped).toBe(true)
  })

  test('after its text began to stream has only the text, without an edit', async () => {
    const { delivery, screen, slack } = await show(stoppedAt(3000), { sink })
    expect(screen.map(shownOf)).toEqual([said])
    expect([slack.count('chat.startStream'), slack.count('chat.stopStream'), slack.count('chat.update')]).toEqual([
      1, 1, 0,
    ])
    expect(delivery.saysStopped).toBeUndefined()
  })
})

test("a reply longer than a stream's lifetime continues in another stream", async () => {
  const paragraphs = Array.from({ length: 30 }, (_, index) => `Paragraph ${index} says **something** that is new.`)
  const states = paragraphs.map((_, index) => {
    const written = text(paragraphs.slice(0, index + 1).join('\n\n'), { status: 'open' })
    return { atMs: index * 20_000, reply: replyWith([{ ...written, id: 'prt_a' }]) }
  })
  const end = settledWith([{ ...text(paragraphs.join('\n\n')), id: 'prt_a' }])
  const timeline = { name: 'slow', states: [...states, { atMs: 600_000, reply: end }] }
  const { delivery, reply, screen, slack } = await show(timeline, {})
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(shownTimes(reply, screen).filter((times) => times !== 1)).toEqual([])
  expect(slack.count('chat.startStream')).toBe(3)
  expect(slack.calls.filter((call) => call.error !== undefined)).toEqual([])
})

const unanswered = ['accept-then-drop', 'accept-then-stall', 'refuse', 'stall'] as const
test.each(
  unanswered.flatMap((type) => [
    { type, method: 'chat.postMessage', delivery: 'edit' } as const,
    { type, method: 'chat.startStream', delivery: 'native' } as const,
  ]),
)('$type of the first $method: the answer is there once', async (given) => {
  const { type, method, delivery: way } = given
  const sink = { policy: { verbosity: 'quiet', delivery: way } } as const
  const { delivery, reply, screen } = await show(await timelines('plain'), { faults: [{ type, method }], sink })
  expect(shownTimes(reply, screen).filter((count) => count !== 1)).toEqual([])
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
})

test('a channel that accepts no posts is named in the delivery', async () => {
  const { delivery, screen } = await show(await timelines('plain'), {
    faults: [error('is_archived', { times: 100 })],
    sink: edit,
  })
  expect(screen).toEqual([])
  const reason = expect.stringContaining('is_archived')
  expect(delivery.undelivered).toContainEqual({ key: 'answer#0', card: 'answer', type: 'refused', reason })
})

test.each(['native', 'edit'] as const)(
  "many concurrent channels share the app's rate limits: %s",
  async (delivered) => {
    const channels = Array.from({ length: 30 }, (_, index) => `C${index + 1}`)
    const plan = { channels, sink: { policy: { delivery: delivered } } }
    const { delivery, limited } = await show(await timelines('tools-todos'), plan)
    expect([limited, delivery.undelivered]).toEqual([0, []])
  },
)

test('text in the thread of the prompt answers, text in the channel does not', async () => {
  const { slack, api, clock } = await start()
  const replyTo = slack.say('C1', 'Why?', { from: { id: 'U5', name: 'Ada' } })
  const sink = slackSink({ api, clock, channelId: 'C1', replyTo, answerers: ['U5'] })
  const reply = replyWith([], { asks: [asks([questionOf({ custom: true })])], phase: 'blocked' })
  sink.replyStarted?.({ type: 'replyStarted', reply })
  const messageRef = { id: '9999999999.000100', postedAt: clock.now() + 5000 }
  const said = (thread?: string) => ({ text: 'Red', messageRef, chat: { id: 'C1', kind: 'shared', thread } as const })
  await expect.poll(() => sink.readAnswer(said(replyTo), { id: 'U5', name: 'Ada' })).toMatchObject({ type: 'answer' })
  expect(await sink.readAnswer(said(), { id: 'U5', name: 'Ada' })).toBeUndefined()
  await sink.stop()
})
