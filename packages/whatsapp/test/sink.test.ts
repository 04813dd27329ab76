import { type Reply, textOf } from '@reply/core'
import { type Delivery, memoryStore } from '@reply/sink'
import { createHandClock } from '@reply/testing'
import { type CloudFault, createFakeBaileys, type SocketFault, startWhatsApp } from '@reply/testing/whatsapp'
import { describe, expect, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { replyWith, settledWith, text } from '../../sink/test/make.ts'
import { beginning, showTimeline, type Timeline, timelinesOf } from '../../sink/test/timeline.ts'
import { baileysSink, createCloudClient, whatsappSink } from '../src/index.ts'
import { renderWhatsApp } from '../src/internal.ts'
import { person, token } from './cloud.ts'

interface Shown {
  readonly delivery: Delivery
  readonly reply: Reply
  readonly texts: readonly string[]
  /** Calls that were rate-limited. */
  readonly floods: number
}

/** Through the Cloud API. */
async function showCloud(timeline: Timeline, faults: readonly CloudFault[] = []): Promise<Shown> {
  const clock = createHandClock(beginning)
  const whatsapp = await startWhatsApp({ token, clock, faults })
  const { url: apiUrl, phoneNumberId } = whatsapp
  const inFlight = createInFlight()
  const counting: typeof fetch = async (input, init) => {
    return await inFlight.during(() => fetch(input, init))
  }
  const client = createCloudClient({ token, phoneNumberId, apiUrl, fetch: counting })
  try {
    const sink = whatsappSink({ client, to: person, replyTo: whatsapp.say(person, 'Go.'), clock })
    const shown = await showTimeline(timeline, { clock, sinks: [sink], rest: inFlight.rest })
    const texts = whatsapp.screen(person).flatMap(({ from, text }) => (from === 'business' ? [text] : []))
    const floods = whatsapp.calls.filter(({ code }) => code === 131056 || code === 130429).length
    return { ...shown, texts, floods }
  } finally {
    await whatsapp.close()
  }
}

const jid = '4917000000002@s.whatsapp.net'

/** Through a linked device whose host reconnects 10 s after a disconnect. */
async function showBaileys(
  timeline: Timeline,
  faults: readonly SocketFault[] = [],
): Promise<Shown & { readonly lateEdits: number }> {
  const clock = createHandClock(beginning)
  const baileys = createFakeBaileys({ clock, faults })
  const connect = (): ReturnType<typeof baileys.connect> => {
    const socket = baileys.connect()
    socket.ev.on('connection.update', ({ connection }) => {
      if (connection === 'close') clock.after(10_000, again)
    })
    return socket
  }
  const again = (): void => {
    current = connect()
  }
  let current = connect()
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) await Promise.resolve()
  }
  const sink = baileysSink({ socket: () => current, jid, clock })
  const shown = await showTimeline(timeline, { clock, sinks: [sink], rest })
  const texts = baileys.screen(jid).map(({ text }) => text)
  const floods = shown.delivery.rateLimited
  return { ...shown, texts, floods, lateEdits: baileys.lateEdits.length }
}

const letters = (words: string): string => words.replace(/[^\p{L}\p{N}]/gu, '')

/** How often each part of the text is on the screen. */
function shownTimes({ reply, texts }: Shown): readonly number[] {
  const all = letters(texts.join('\n'))
  const parts = renderWhatsApp(textOf(reply)).plain.split('\n\n').map(letters)
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

const cloudPlans: readonly (readonly [string, readonly CloudFault[]])[] = [
  ['nothing', []],
  ['a limit of the pair', [{ type: 'rate-limited', times: 3 }]],
  ['a limit of the number', [{ type: 'rate-limited', code: 130429, nth: 2, times: 2 }]],
  [
    'a length that is refused',
    [{ type: 'refused', status: 400, code: 100, details: 'must be at most 4096 characters', nth: 2 }],
  ],
]

describe.each(cloudPlans)('the Cloud API under %s', (name, faults) => {
  test.each(scenarios)('%s is shown completely and once', async (scenario) => {
    const shown = await showCloud(await timelines(scenario), faults)
    expect(shown.delivery).toMatchObject({ undelivered: [], doubtful: 0 })
    expect(shownTimes(shown).filter((times) => times !== 1)).toEqual([])
    expect(shown.floods).toBe(shown.delivery.rateLimited)
    if (!name.startsWith('a limit')) expect(shown.floods).toBe(0)
  })
})

const socketPlans: readonly (readonly [string, readonly SocketFault[]])[] = [
  ['nothing', []],
  ['a flood', [{ type: 'refused', statusCode: 429, nth: 2 }]],
  ['a connection that breaks before a post', [{ type: 'drop', nth: 1 }]],
  ['a connection that breaks before an edit', [{ type: 'drop', kind: 'edit' }]],
  [
    'a connection that breaks after a post',
    [
      { type: 'accept-then-drop', nth: 1 },
      { type: 'accept-then-drop', nth: 3 },
    ],
  ],
  ['answers that do not come', [{ type: 'unanswered', times: 3 }]],
  ['a dead connection', [{ type: 'silent', times: 3 }]],
  ['acknowledgements that do not come', [{ type: 'silent', isTaken: true, times: 3 }]],
  ['failures of the server', [{ type: 'nack', error: '500', times: 3 }]],
  ['a call that hangs', [{ type: 'stall', nth: 2 }]],
]

describe.each(socketPlans)('Baileys under %s', (name, faults) => {
  test.each(scenarios)('%s is shown completely and once', async (scenario) => {
    const shown = await showBaileys(await timelines(scenario), faults)
    expect(shown.delivery).toMatchObject({ undelivered: [], doubtful: 0 })
    expect(shownTimes(shown).filter((times) => times !== 1)).toEqual([])
    expect([shown.lateEdits, shown.floods > 0 && name !== 'a flood']).toEqual([0, false])
  })
})

/** A text in three states: it grows while the first post has no result. */
async function grow(faults: readonly SocketFault[]): Promise<Shown> {
  const part = (words: string, isOpen: boolean) => ({ ...text(words, isOpen ? { status: 'open' } : {}), id: 'prt_a' })
  const states = [
    { atMs: 0, reply: replyWith([part('It begins,', true)]) },
    { atMs: 400, reply: replyWith([part('It begins, grows', true)]) },
    { atMs: 20_000, reply: settledWith([part('It begins, grows and is done.', false)]) },
  ]
  return await showBaileys({ name: 'growing', states }, faults)
}

test.each<[string, readonly SocketFault[]]>([
  ['taken, then the connection drops', [{ type: 'accept-then-drop' }]],
  ['taken twice, then the connection drops', [{ type: 'accept-then-drop', times: 2 }]],
  ['taken without an end of the call', [{ type: 'unanswered' }]],
  ['taken without an acknowledgement', [{ type: 'silent', isTaken: true }]],
  ['taken, then not reachable', [{ type: 'accept-then-drop' }, { type: 'drop', nth: 2, times: 2 }]],
  ['taken, and refused when tried again', [{ type: 'accept-then-drop' }, { type: 'nack', error: '500', nth: 2 }]],
  ['lost', [{ type: 'silent' }]],
  ['lost with its edit', [{ type: 'silent' }, { type: 'silent', kind: 'edit' }]],
  ['dropped before it was written', [{ type: 'drop' }]],
])('a post that is %s shows the end of its text, once', async (_, faults) => {
  const { texts, delivery } = await grow(faults)
  expect(texts).toEqual(['It begins, grows and is done.'])
  expect(delivery).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
})

test('over a dead connection nothing counts as shown, and what was to be shown is named', async () => {
  const clock = createHandClock(beginning)
  const baileys = createFakeBaileys({ clock, faults: [{ type: 'silent', times: 1000 }] })
  const errors: Error[] = []
  const sink = baileysSink({ socket: baileys.connect(), jid, clock, onError: (error) => errors.push(error) })
  sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('It is done.')]) })
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) await Promise.resolve()
  }
  await clock.advance(60_000, rest)
  expect(errors.map(({ message }) => message)).toContainEqual(expect.stringMatching(/not acknowledge/))
  const stopped = sink.stop()
  await clock.advance(10_000, rest)
  await stopped
  const { shown, undelivered } = await sink.settled()
  expect([shown, undelivered.map(({ key, type }) => [key, type]), baileys.screen(jid)]).toEqual([
    0,
    [['answer#0', 'stopped']],
    [],
  ])
})

test('a post that may stand there since its first try is edited only as long as WhatsApp shows edits of that', async () => {
  const clock = createHandClock(beginning)
  const baileys = createFakeBaileys({ clock, faults: [{ type: 'accept-then-drop' }] })
  let socket = baileys.connect()
  const sink = baileysSink({ socket: () => socket, jid, clock })
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) await Promise.resolve()
  }
  const part = (words: string, isOpen: boolean) => ({ ...text(words, isOpen ? { status: 'open' } : {}), id: 'prt_a' })
  sink.replyStarted?.({ type: 'replyStarted', reply: replyWith([part('It begins', true)]) })
  await clock.advance(600_000, rest)
  socket = baileys.connect()
  await clock.advance(120_000, rest)
  sink.replyAmended?.({ type: 'replyAmended', reply: replyWith([part('It begins and grows', true)]) })
  await clock.advance(200_000, rest)
  sink.replyAmended?.({ type: 'replyAmended', reply: settledWith([part('It begins and grows. It is done.', false)]) })
  await clock.advance(60_000, rest)
  const said = baileys.screen(jid).map(({ text }) => text)
  expect(said.join(' ')).toContain('It is done.')
  expect(baileys.lateEdits).toEqual([])
  expect(await sink.settled()).toMatchObject({ undelivered: [] })
})

test.each(['accept-then-drop', 'refuse'] as const)(
  '%s on the answer through the Cloud API: the answer is there, and counted as doubtful',
  async (type) => {
    const shown = await showCloud(await timelines('plain'), [{ type, kind: 'text' }])
    expect(shownTimes(shown).every((count) => count >= 1)).toBe(true)
    expect(shown.delivery).toMatchObject({ undelivered: [], doubtful: 1 })
  },
)

const failure = { type: 'refused', status: 502, code: 9, kind: 'text' } as const

const numberRead = { ...failure, kind: 'number' } as const

test.each<[string, readonly CloudFault[], object]>([
  ['one failure', [failure], { copies: 1, doubtful: 1, undelivered: [] }],
  ['a failure after the post was made', [{ ...failure, isTaken: true }], { copies: 2, doubtful: 1, undelivered: [] }],
  [
    'five of them',
    [{ ...failure, isTaken: true, times: 5 }],
    { copies: 2, doubtful: 2, undelivered: [{ type: 'ambiguous' }] },
  ],
  [
    'an outage after the post was made',
    [
      { ...failure, isTaken: true },
      { ...numberRead, times: 30 },
    ],
    { copies: 2, doubtful: 1, undelivered: [] },
  ],
])('%s of the Cloud API (5xx) leave no copy uncounted', async (_, faults, expected) => {
  const shown = await showCloud(await timelines('plain'), faults)
  const copies = Math.max(...shownTimes(shown))
  expect({ copies, ...shown.delivery }).toMatchObject(expected)
})

test('the delivery names the 24 hours if they kept something from being shown', async () => {
  const shown = await showCloud(await timelines('plain'), [{ type: 'refused', status: 400, code: 131047, times: 100 }])
  expect(shown.texts).toEqual([])
  expect(shown.delivery.undelivered).toMatchObject([
    { key: 'answer#0', type: 'refused', reason: expect.stringMatching(/24 h.*template/) },
  ])
})

test('a text that grows for an hour is edited while WhatsApp shows edits, then continues in another message', async () => {
  const clock = createHandClock(beginning)
  const baileys = createFakeBaileys({ clock })
  const sink = baileysSink({ socket: baileys.connect(), jid, clock })
  const [{ reply: first } = expect.fail('no state')] = (await timelines('plain')).states
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) await Promise.resolve()
  }
  const said = (minutes: number): string =>
    Array.from({ length: minutes }, (_, at) => `Minute ${at + 1} has passed.`).join(' ')
  const at = (minutes: number, isSettled = false): Reply => ({
    ...first,
    asks: [],
    children: [],
    startedAt: beginning,
    phase: isSettled ? 'settled' : 'working',
    ...(isSettled && { outcome: 'completed' as const, finish: 'stop', settledAt: clock.now() }),
    messages: [
      {
        id: 'msg_2',
        raw: {},
        parts: [
          {
            id: 'prt_1',
            messageID: 'msg_2',
            type: 'text',
            status: isSettled ? 'sealed' : 'open',
            text: said(minutes),
            raw: {},
          },
        ],
      },
    ],
  })
  sink.replyStarted?.({ type: 'replyStarted', reply: at(1) })
  for (let minute = 2; minute <= 60; minute++) {
    await clock.advance(60_000, rest)
    sink.replyAmended?.({ type: 'replyAmended', reply: at(minute) })
  }
  await clock.advance(60_000, rest)
  sink.replyAmended?.({ type: 'replyAmended', reply: at(60, true) })
  await clock.advance(60_000, rest)
  const answer = baileys.screen(jid).filter(({ text }) => text.includes('Minute'))
  expect(letters(answer.map(({ text }) => text).join(''))).toBe(letters(said(60)))
  expect([answer.length, baileys.lateEdits]).toEqual([4, []])
  await sink.stop()
})

test('a process that dies during a post posts nothing twice after a restart', async () => {
  const clock = createHandClock(beginning)
  const baileys = createFakeBaileys({ clock, faults: [{ type: 'accept-then-drop' }] })
  const store = memoryStore()
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) await Promise.resolve()
  }
  const timeline = await timelines('plain')
  const final = timeline.states.at(-1)?.reply ?? expect.fail('no state')
  const first = baileysSink({ socket: baileys.connect(), jid, clock, store })
  first.replyStarted?.({ type: 'replyStarted', reply: final })
  await clock.advance(100, rest)
  await first.stop()
  expect([baileys.screen(jid).length, baileys.isConnected]).toEqual([1, false])
  const second = baileysSink({ socket: baileys.connect(), jid, clock, store })
  const { delivery, reply } = await showTimeline(
    { ...timeline, states: [{ atMs: 0, reply: final }] },
    { clock, sinks: [second], rest },
  )
  const texts = baileys.screen(jid).map(({ text }) => text)
  expect(shownTimes({ delivery, reply, texts, floods: 0 }).filter((times) => times !== 1)).toEqual([])
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(baileys.count('text')).toBeGreaterThan(baileys.screen(jid).length)
})
