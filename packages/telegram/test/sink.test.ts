import { type Reply, textOf } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { startTelegram, type TelegramFault, type TelegramFeatures, type TelegramMessage } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { describe, expect, test } from 'vitest'
import { createInFlight, stalledIn } from '../../sink/test/in-flight.ts'
import { beginning, showTimeline, type Timeline, timelinesOf } from '../../sink/test/timeline.ts'
import { type TelegramSinkOptions, telegramSink } from '../src/index.ts'
import { renderHtml } from '../src/internal.ts'
import { token } from './bot.ts'

interface Plan {
  readonly faults?: readonly TelegramFault[]
  readonly features?: TelegramFeatures
  readonly sink?: Partial<TelegramSinkOptions>
  /** Chats that show the same reply. */
  readonly chatIds?: readonly number[]
}

/** Shows a recorded reply through grammY to its end, on a manual clock. */
async function show(timeline: Timeline, { faults = [], features = {}, sink: options = {}, chatIds = [7] }: Plan) {
  const clock = createHandClock(beginning)
  const telegram = await startTelegram({ token, clock, faults, features })
  const api = new Api(token, { apiRoot: telegram.url })
  const inFlight = createInFlight(() => stalledIn(telegram.calls))
  api.config.use(async (call, method, payload, signal) => {
    return await inFlight.during(async () => {
      return await call(method, payload, signal)
    })
  })
  try {
    const sinks = chatIds.map((chatId) => telegramSink({ api, chatId, clock, ...options }))
    const { delivery, reply } = await showTimeline(timeline, { clock, sinks, rest: inFlight.rest })
    return { delivery, reply, telegram, screen: telegram.screen(chatIds[0] ?? 7), limited: limited(telegram.calls) }
  } finally {
    await telegram.close()
  }
}

const limited = (calls: readonly { readonly status?: number }[]): number =>
  calls.filter(({ status }) => status === 429).length

const letters = (words: string): string => words.replace(/[^\p{L}\p{N}]/gu, '')

/** How often each part of the text is on the screen, without markup. */
function shownTimes(reply: Reply, screen: readonly TelegramMessage[]): readonly number[] {
  const all = letters(screen.map(({ text }) => text).join('\n'))
  const parts = renderHtml(textOf(reply)).plain.split('\n\n').map(letters)
  return [...new Set(parts.filter((part) => part.length > 12))].map((part) => all.split(part).length - 1)
}

const timelines = async (scenario: string): Promise<Timeline> => {
  const [timeline] = await timelinesOf({ version: '1.18.33', scenario })
  return timeline ?? expect.fail(`Nothing is recorded of ${scenario}.`)
}

const scenarios = [
  'plain',
  'long-markdown',
  'tools-todos',
  'question',
  'permission-once',
  'abort-text',
  'retry-429',
  'unicode',
]

const plans: readonly (readonly [string, Plan])[] = [
  ['nothing', {}],
  ['a flood of 30 s', { faults: [{ type: 'rate-limited', retryAfterS: 30, nth: 2 }] }],
  ['a flood of ten minutes', { faults: [{ type: 'rate-limited', retryAfterS: 600, nth: 3, method: /Message/ }] }],
  ['edits without a result', { faults: [{ type: 'status', code: 502, method: /^edit/, times: 3 }] }],
  ['wrong markup', { faults: [{ type: 'status', code: 400, description: "Bad Request: can't parse entities" }] }],
  ['too long', { faults: [{ type: 'status', code: 400, description: 'Bad Request: MESSAGE_TOO_LONG', nth: 2 }] }],
  ['no rich messages', { features: { richMessages: false } }],
  ['HTML', { sink: { rich: false } }],
  ['a group', { chatIds: [-7] }],
  ['a group in HTML', { chatIds: [-7], sink: { rich: false } }],
  ['drafts', { sink: { policy: { delivery: 'native' } } }],
  ['drafts that the server lacks', { features: { drafts: false }, sink: { policy: { delivery: 'native' } } }],
]

describe.each(plans)('under %s', (name, plan) => {
  test.each(scenarios)('%s is shown completely and once', async (scenario) => {
    const { delivery, reply, screen, limited: floods } = await show(await timelines(scenario), plan)
    expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
    expect(shownTimes(reply, screen).filter((times) => times !== 1)).toEqual([])
    expect(floods).toBe(delivery.rateLimited)
    if (!name.startsWith('a flood')) expect(floods).toBe(0)
  })
})

test.each<TelegramFault['type'] & ('accept-then-drop' | 'accept-then-stall' | 'refuse' | 'stall')>([
  'accept-then-drop',
  'accept-then-stall',
  'refuse',
  'stall',
])("%s on the answer's first post: the answer is there, and counted as doubtful", async (type) => {
  const faults: readonly TelegramFault[] = [{ type, method: 'sendRichMessage' } as TelegramFault]
  const { delivery, reply, screen } = await show(await timelines('plain'), {
    faults,
    sink: { policy: { verbosity: 'quiet' } },
  })
  const times = shownTimes(reply, screen)
  expect(times.every((count) => count >= 1)).toBe(true)
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 1 })
})

const posts = /^send(?!ChatAction)/
const unconfirmed = [{ type: 'ambiguous' }]

test.each([
  ['a lost response', { times: 1, isTaken: true, method: posts }, { copies: 2, doubtful: 1, undelivered: [] }],
  ['a post that fails', { times: 1, method: posts }, { copies: 1, doubtful: 1, undelivered: [] }],
  [
    'five lost responses',
    { times: 5, isTaken: true, method: posts },
    { copies: 2, doubtful: 2, undelivered: unconfirmed },
  ],
  ['posts that always fail', { times: 90, method: posts }, { copies: 0, doubtful: 2, undelivered: unconfirmed }],
  ['an outage', { times: 40 }, { copies: 1, doubtful: 1, undelivered: [] }],
] as const)('%s: each copy is counted, and what is not confirmed is named', async (_, fault, expected) => {
  const faults: readonly TelegramFault[] = [{ type: 'status', code: 502, ...fault }]
  const { delivery, reply, screen } = await show(await timelines('plain'), {
    faults,
    sink: { policy: { verbosity: 'quiet', delivery: 'final' } },
  })
  const { copies, ...counted } = expected
  expect(shownTimes(reply, screen).filter((count) => count !== copies)).toEqual([])
  expect(delivery).toMatchObject(counted)
})

test('a chat that blocked the bot is named in the delivery', async () => {
  const faults: readonly TelegramFault[] = [
    { type: 'status', code: 403, description: 'Forbidden: bot was blocked by the user', times: 100 },
  ]
  const { delivery, screen } = await show(await timelines('plain'), { faults })
  expect(screen).toEqual([])
  expect(delivery.undelivered).toContainEqual({
    key: 'answer#0',
    card: 'answer',
    type: 'refused',
    reason: expect.stringContaining('bot was blocked by the user'),
  })
})

test("forty concurrent chats share the bot's rate limits", async () => {
  const chatIds = Array.from({ length: 40 }, (_, index) => index + 1)
  const { delivery, limited: floods } = await show(await timelines('tools-todos'), { chatIds })
  expect([floods, delivery.undelivered]).toEqual([0, []])
})
