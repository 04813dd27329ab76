import { emptyReply, type PermissionAsk } from '@reply/core'
import { createHandClock, type HandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createAnsweredBy } from '../src/asks/answered-by.ts'
import { emitTo } from '../src/events/emit.ts'
import type { BridgeEvent } from '../src/events/event.ts'
import { bridgeLog } from '../src/events/log.ts'
import { bridgeMetrics } from '../src/events/metrics.ts'
import { createRunEvents } from '../src/runs/run-events.ts'
import type { Execution } from '../src/state/execution.ts'

const place = { at: 1000, channel: 'tg', chat: '7' } as const
const inbound: BridgeEvent = { ...place, type: 'inbound', kind: 'text', actorID: '1', messageID: '5', verdict: 'taken' }
const ended: BridgeEvent = {
  ...{ ...place, type: 'run', phase: 'ended', started: 'chat', executionID: 'abc123', actorID: '1', messageID: '5' },
  ...{
    server: 'home',
    sessionID: 'ses_1',
    outcome: 'completed',
    times: { postedMs: 10, firstByteMs: 400, endedMs: 900 },
  },
}
const delivery: BridgeEvent = {
  ...{ ...place, type: 'delivery', started: 'chat', executionID: 'abc123', sessionID: 'ses_1', shown: 2 },
  ...{ undelivered: 0, doubtful: 0, calls: 7, rateLimited: 1, deliveredMs: 1200 },
}

test('the log has a JSON line for each event, with its ids', () => {
  const lines: string[] = []
  const { observers, onError } = bridgeLog({ destination: { write: (line) => void lines.push(line) } })
  for (const event of [inbound, ended, { ...inbound, verdict: 'ignored' as const }])
    for (const observe of observers ?? []) observe(event)
  onError?.(Object.assign(new Error('No server.'), { type: 'unreachable', token: 'abc' }))
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'inbound taken', channel: 'tg', chat: '7', messageID: '5' },
    { msg: 'run ended', executionID: 'abc123', sessionID: 'ses_1', outcome: 'completed' },
    { msg: 'failed', error: { type: 'unreachable', message: 'No server.' } },
  ])
  expect(lines.join()).not.toContain('abc"')
})

test('the log shows neither a secret nor what a person wrote, also if an event has them', () => {
  const lines: string[] = []
  const { observers } = bridgeLog({ destination: { write: (line) => void lines.push(line) } })
  const slipped = { token: '42:abc', text: 'private', channel: { password: 'hidden' } }
  for (const observe of observers ?? []) observe(Object.assign({ ...inbound }, slipped))
  expect(lines.join()).toContain('"token":"***"')
  expect(lines.join()).not.toMatch(/42:abc|private|hidden/)
})

test('the metrics count by channel and outcome, in Prometheus text', async () => {
  const { observe, text, contentType } = bridgeMetrics()
  for (const event of [inbound, { ...ended, phase: 'posted' } as BridgeEvent]) observe(event)
  expect(await text()).toContain('reply_bridge_runs{channel="tg"} 1')
  for (const event of [ended, delivery]) observe(event)
  const shown = await text()
  expect(contentType).toContain('text/plain')
  expect(shown).toContain('reply_bridge_runs{channel="tg"} 0')
  expect(shown).toContain('reply_bridge_inbounds_total{channel="tg",kind="text",verdict="taken"} 1')
  expect(shown).toContain('reply_bridge_runs_total{channel="tg",server="home",outcome="completed",started="chat"} 1')
  expect(shown).toContain('reply_bridge_rate_limited_total{channel="tg"} 1')
  expect(shown).toContain('reply_bridge_first_byte_seconds_sum{channel="tg"} 0.4')
})

test('a run that ended before this process found it is in progress until its answer is delivered', async () => {
  const { observe, text } = bridgeMetrics()
  observe({ ...ended, phase: 'found' } as BridgeEvent)
  expect(await text()).toContain('reply_bridge_runs{channel="tg"} 1')
  observe(delivery)
  expect(await text()).toContain('reply_bridge_runs{channel="tg"} 0')
})

test('the metrics tell runs that were started elsewhere from those of the chat, and where their requests were answered', async () => {
  const { observe, text } = bridgeMetrics()
  const asked = { ...place, type: 'ask', askType: 'permission', executionID: 'abc123', sessionID: 'ses_1' } as const
  const answered = { ...asked, phase: 'answered', started: 'elsewhere', requestID: 'per_1' } as const
  observe({ ...answered, actorID: '1', actorChannel: 'tg' })
  // Another chat shows it, too.
  observe(answered)
  observe({ ...answered, requestID: 'per_3' })
  for (const event of [ended, delivery]) observe({ ...event, started: 'elsewhere' } as BridgeEvent)
  observe({ type: 'unshown', at: 1000, server: 'home', sessionID: 'ses_1', askType: 'permission', requestID: 'per_2' })
  const shown = (await text()).split('\n')
  const labels = 'channel="tg",type="permission",result="answered",started="elsewhere"'
  expect(shown).toContain(`reply_bridge_asks_total{${labels},by="chat"} 1`)
  expect(shown).toContain(`reply_bridge_asks_total{${labels},by="other"} 1`)
  expect(shown).toContain(
    'reply_bridge_runs_total{channel="tg",server="home",outcome="completed",started="elsewhere"} 1',
  )
  expect(shown).toContain('reply_bridge_asks_unshown_total{server="home",type="permission"} 1')
  // No message began it, so there is no time since one.
  expect(shown.filter((line) => /^reply_bridge_(first_byte|delivered)_seconds_count/.test(line))).toEqual([])
})

const beat: BridgeEvent = {
  ...{ type: 'beat', at: 1000, sinceLastMs: 1010, isLate: false, members: 3, shards: 22, restoring: 2, oldestMs: 400 },
  budgets: [{ channel: 'tg', budget: 'calls', share: 9, total: 25 }],
}

const shardsTaken = {
  type: 'shards',
  at: 1000,
  owned: ['05', '06'],
  restoring: ['05', '06'],
  restored: 0,
  taken: 22,
  takenOver: 20,
  givenBack: 0,
  lost: 0,
} as const

test('the metrics of a member have its shards, its share of each budget, and what it took and lost', async () => {
  const { observe, text } = bridgeMetrics()
  observe({ type: 'member', at: 1000, status: 'joined' })
  observe(shardsTaken)
  observe(beat)
  observe({ ...beat, sinceLastMs: 2100, isLate: true })
  observe({ ...shardsTaken, owned: ['05'], restoring: [], restored: 19, taken: 0, takenOver: 0, givenBack: 2, lost: 1 })
  observe({ type: 'fenced', at: 3000, shard: '07' })
  const shown = await text()
  for (const line of [
    ...[
      'member 1',
      'members 3',
      'shards 22',
      'shards_restoring 2',
      'inbox_oldest_seconds 0.4',
      'takeovers_total 20',
      'shards_given_back_total 2',
    ],
    ...['shards_lost_total 1', 'beats_late_total 1', 'fenced_total 1'],
    ...['budget_share{channel="tg",budget="calls"} 9', 'budget_limit{channel="tg",budget="calls"} 25'],
  ])
    expect(shown.split('\n')).toContain(`reply_bridge_${line}`)
})

test.each(['waiting', 'expired', 'left'] as const)(
  'a process whose lease is %s has nothing in its metrics',
  async (status) => {
    const { observe, text } = bridgeMetrics()
    observe({ type: 'member', at: 1000, status: 'joined' })
    observe(beat)
    observe({ type: 'member', at: 2000, status })
    const shown = (await text()).split('\n')
    for (const line of ['member 0', 'members 0', 'shards 0', 'shards_restoring 0', 'inbox_oldest_seconds 0'])
      expect(shown).toContain(`reply_bridge_${line}`)
    expect(shown.filter((line) => line.startsWith('reply_bridge_budget_share{'))).toEqual([])
  },
)

test('the log has one line for all shards that changed, and none at its usual level for a beat in time', () => {
  const lines: string[] = []
  const { observers } = bridgeLog({ destination: { write: (line) => void lines.push(line) } })
  for (const event of [
    shardsTaken,
    beat,
    { ...beat, isLate: true },
    { type: 'fenced', at: 1000, shard: '07' } as const,
  ])
    for (const observe of observers) observe(event)
  const [info, warn] = [30, 40]
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: info, msg: 'shards changed', owned: ['05', '06'], taken: 22, takenOver: 20 },
    { level: warn, msg: 'beat late', sinceLastMs: 1010 },
    { level: warn, msg: 'write fenced', shard: '07' },
  ])
})

test('the metrics have what failed for good by its kind', async () => {
  const { observe, text } = bridgeMetrics()
  observe({ type: 'failures', at: 1000, deliveries: 1, prompts: 2, rows: 3, poison: 4 })
  const shown = await text()
  for (const line of ['{kind="delivery"} 1', '{kind="prompt"} 2', '{kind="row"} 3', '{kind="poison"} 4'])
    expect(shown).toContain(`reply_bridge_failed${line}`)
})

test('an observer that throws is reported, and the others still hear', () => {
  const [errors, heard]: [Error[], BridgeEvent[]] = [[], []]
  const emit = emitTo(
    [
      () => {
        throw new Error('broken')
      },
      (event) => heard.push(event),
    ],
    (error) => errors.push(error),
  )
  emit(inbound)
  expect([errors.map(({ message }) => message), heard]).toEqual([['broken'], [inbound]])
})

/** A run of a message that was just heard, or without one, and what is told of it. */
function startRun(clock: HandClock, change: Partial<Execution> = {}) {
  const receivedAt = clock.now()
  const told: BridgeEvent[] = []
  const execution: Execution = {
    ...{ id: 'abc123', server: 'home', phase: 'planned', status: 'running', startedAt: receivedAt },
    prompt: {
      ...{ id: '5', channel: 'tg', chat: { id: '7' }, actor: { id: '1', name: 'Ann' }, text: 'Hi', files: [] },
      ...{ isCommand: false, messageRef: { id: '5' }, receivedAt },
    },
    ...change,
  }
  const events = createRunEvents(execution, clock, createAnsweredBy(), (event) => told.push(event))
  const posting: Execution = { ...execution, phase: 'posting', sessionID: 'ses_1' }
  return { told, execution, events, posting }
}

test('a run tells when it was posted, first heard of, shown and over, counted from its message', async () => {
  const clock = createHandClock()
  const { told, execution, events, posting } = startRun(clock)
  await clock.advance(10)
  events.onChanged(execution, posting)
  await clock.advance(20)
  events.onShown()
  await clock.advance(30)
  events.onShown()
  events.onChanged(posting, { ...posting, phase: 'delivering', status: 'complete' })
  events.onDelivered(posting, { shown: 2, undelivered: [], doubtful: 0, calls: 3, rateLimited: 0 })
  expect(told).toMatchObject([
    { type: 'run', phase: 'posted', times: { postedMs: 10 } },
    { type: 'run', phase: 'ended', sessionID: 'ses_1', times: { postedMs: 10, endedMs: 60 } },
    { type: 'delivery', shown: 2, calls: 3, firstShownMs: 30, deliveredMs: 60 },
  ])
})

test('a run without a message is told as such, with times since it began, and not since the message before it', async () => {
  const clock = createHandClock()
  const { now } = clock
  const byAgent = startRun(clock, { startedBy: 'msg_1', startedAt: now() + 60_000 })
  const byDesk = startRun(clock, { startedBy: 'msg_2', followed: 'asks', startedAt: now() + 60_000 })
  await clock.advance(60_000)
  const told = [byAgent, byDesk].flatMap(({ execution, told }) => {
    const events = createRunEvents(execution, clock, createAnsweredBy(), (event) => told.push(event))
    events.onChanged(execution, { ...execution, status: 'complete' })
    return told
  })
  expect(told).toMatchObject([
    { started: 'agent', times: { endedMs: 0 } },
    { started: 'elsewhere', times: { endedMs: 0 } },
  ])
})

test.each([600_000, -600_000])(
  'its times and the wait of an ask do not notice a clock that is set by %i ms',
  async (byMs) => {
    const clock = createHandClock()
    const { told, execution, events, posting } = startRun(clock)
    const ask: PermissionAsk = {
      ...{
        type: 'permission',
        requestID: 'per_1',
        sessionID: 'ses_1',
        directory: undefined,
        status: 'pending',
        path: [],
        title: 'bash',
      },
      ...{ permission: 'bash', patterns: [], always: [], metadata: {} },
    }
    const reply = emptyReply('ses_1')
    events.observer.permissionAsked?.({ type: 'permissionAsked', ask, reply })
    clock.step(byMs)
    await clock.advance(10)
    const answered: PermissionAsk = { ...ask, status: 'answered', reply: 'once' }
    events.observer.permissionReplied?.({ type: 'permissionReplied', ask: answered, answer: 'once', reply })
    events.onChanged(execution, posting)
    expect(told).toMatchObject([{ phase: 'asked' }, { phase: 'answered', waitedMs: 10 }, { times: { postedMs: 10 } }])
  },
)
