import { createRecent } from '@reply/sink/internal'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { BridgeObserver } from './emit.ts'
import type { BeatEvent, BridgeEvent, DeliveryEvent, RunEvent } from './event.ts'

/** Metrics of a bridge, for Prometheus. */
export interface BridgeMetrics {
  /** Counts events. Add it to the bridge's `observers`. */
  readonly observe: BridgeObserver
  /** Returns the metrics in the Prometheus text format. */
  text(): Promise<string>
  /** The content type of that text. */
  readonly contentType: string
}

/** How many asks that ended are remembered, so that one that several chats show counts once. */
const mostEnded = 1000

/** The upper bounds of the histograms, in seconds. */
const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

/**
 * Counts runs, asks, received messages, calls to the platforms and rate limits by channel, and what this process has of a shared
 * state. Add up the metrics of all processes. Labels never contain ids of people or chats.
 */
export function bridgeMetrics(): BridgeMetrics {
  const register = new Registry()
  const registers = [register]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name: `reply_bridge_${name}`, help, labelNames, registers })
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
  ): Histogram<Label> => new Histogram({ name: `reply_bridge_${name}`, help, labelNames, buckets: seconds, registers })
  const inbounds = counter('inbounds_total', 'Messages, presses and stops by people.', ['channel', 'kind', 'verdict'])
  const runs = counter('runs_total', 'Runs that ended.', ['channel', 'server', 'outcome', 'started'])
  const asks = counter('asks_total', 'Questions and permission requests that ended.', [
    'channel',
    'type',
    'result',
    'started',
    'by',
  ])
  const unshown = counter('asks_unshown_total', 'Requests of runs started elsewhere, with no chat to show them.', [
    'server',
    'type',
  ])
  const calls = counter('platform_calls_total', 'Calls to the platform for replies.', ['channel'])
  const limited = counter('rate_limited_total', 'Calls that the platform rate-limited.', ['channel'])
  const undelivered = counter('undelivered_total', 'Messages that could not be shown.', ['channel'])
  const doubtful = counter('doubtful_total', 'Posts that the platform did not confirm.', ['channel'])
  const notices = counter('notices_total', 'Notices to people who were away, by their channel.', [
    'channel',
    'kind',
    'result',
  ])
  const transcriptions = counter('transcriptions_total', 'Voice notes, by what came of them.', ['channel', 'result'])
  const transcribed = histogram('transcription_seconds', 'From the queued voice note to its text, or to the failure.', [
    'channel',
    'result',
  ])
  const firstByte = histogram('first_byte_seconds', 'From the message to the first output of the agent.', ['channel'])
  const firstShown = histogram('first_shown_seconds', 'From the message to the first message of the reply.', [
    'channel',
  ])
  const delivered = histogram('delivered_seconds', 'From the message to the end of the delivery.', ['channel'])
  const waited = histogram('ask_wait_seconds', 'How long questions and permission requests waited for an answer.', [
    'channel',
    'type',
  ])
  const open = new Gauge({
    name: 'reply_bridge_runs',
    help: 'Runs in progress.',
    labelNames: ['channel'] as const,
    registers,
  })
  const receiving = new Gauge({
    name: 'reply_bridge_channel_receiving',
    help: '1 while the channel receives messages in this process, 0 while it reconnects or another process listens.',
    labelNames: ['channel'] as const,
    registers,
  })
  const failed = new Gauge({
    name: 'reply_bridge_failed',
    help: 'Failures that need a person.',
    labelNames: ['kind'] as const,
    registers,
  })
  const gauge = (name: string, help: string): Gauge => new Gauge({ name: `reply_bridge_${name}`, help, registers })
  const member = gauge('member', '1 while this process takes part, 0 while it waits or cannot use the state.')
  const members = gauge('members', 'Processes that take part, as this one sees it.')
  const shards = gauge('shards', 'Shards that this process owns. All processes together own 64.')
  const restoring = gauge('shards_restoring', 'Shards that this process owns and is still reading.')
  const oldest = gauge(
    'inbox_oldest_seconds',
    'How long the oldest message waits that this process is to handle. 0: none.',
  )
  const takeovers = counter('takeovers_total', 'Shards that this process took and another one had before.', [])
  const givenBack = counter('shards_given_back_total', 'Shards that this process gave back.', [])
  const lost = counter('shards_lost_total', 'Shards that another process took, because this one was too late.', [])
  const late = counter('beats_late_total', 'Beats that came more than 2 s after the last one.', [])
  const fenced = counter('fenced_total', 'Writes that the state refused, because this process was too late.', [])
  const share = new Gauge({
    name: 'reply_bridge_budget_share',
    help: 'Calls that this process may make in each window of a rate limit of the bot.',
    labelNames: ['channel', 'budget'] as const,
    registers,
  })
  const limit = new Gauge({
    name: 'reply_bridge_budget_limit',
    help: 'Calls that all processes together may make in each window of a rate limit of the bot.',
    labelNames: ['channel', 'budget'] as const,
    registers,
  })
  /** By channel: the runs in progress. */
  const runningKeys = new Map<string, ReadonlySet<string>>()
  const ended = createRecent<true>(mostEnded)
  return { observe: countEvent, text: async () => await register.metrics(), contentType: register.contentType }

  /** Updates the metrics with an event. Counts a run as in progress from its first event to its end, each once. */
  function countEvent(event: BridgeEvent): void {
    if (event.type === 'failures') {
      failed.set({ kind: 'delivery' }, event.deliveries)
      failed.set({ kind: 'prompt' }, event.prompts)
      failed.set({ kind: 'poison' }, event.poison)
      return failed.set({ kind: 'row' }, event.rows)
    }
    if (event.type === 'member') return countMembership(event.status === 'joined')
    if (event.type === 'beat') return countBeat(event)
    if (event.type === 'fenced') return fenced.inc()
    if (event.type === 'shards') {
      takeovers.inc(event.takenOver)
      givenBack.inc(event.givenBack)
      return lost.inc(event.lost)
    }
    if (event.type === 'unshown') return unshown.inc({ server: event.server, type: event.askType })
    if (event.type === 'notice') {
      notices.inc({ channel: event.to, kind: event.kind, result: event.result })
      return doubtful.inc({ channel: event.to }, event.doubtful)
    }
    const { channel } = event
    switch (event.type) {
      case 'channel':
        return receiving.set({ channel }, event.status === 'receiving' ? 1 : 0)
      case 'inbound':
        return inbounds.inc({ channel, kind: event.kind, verdict: event.verdict })
      case 'transcription':
        transcriptions.inc({ channel, result: event.result })
        return transcribed.observe({ channel, result: event.result }, event.tookMs / 1000)
      case 'ask':
        if (event.phase === 'asked' || ended.has(event.requestID)) return
        ended.set(event.requestID, true)
        asks.inc({
          channel,
          type: event.askType,
          result: event.phase,
          started: event.started,
          by: event.actorID === undefined ? 'other' : 'chat',
        })
        if (event.waitedMs !== undefined) waited.observe({ channel, type: event.askType }, event.waitedMs / 1000)
        return
      case 'delivery':
        // One that was found after its end has no other event of it.
        countOpen(event, false)
        calls.inc({ channel }, event.calls)
        limited.inc({ channel }, event.rateLimited)
        undelivered.inc({ channel }, event.undelivered)
        doubtful.inc({ channel }, event.doubtful)
        // Without a message, there is no time since one.
        if (event.started !== 'chat') return
        if (event.firstShownMs !== undefined) firstShown.observe({ channel }, event.firstShownMs / 1000)
        return delivered.observe({ channel }, event.deliveredMs / 1000)
      case 'run': {
        countOpen(event, event.phase !== 'ended')
        if (event.phase !== 'ended') return
        const { firstByteMs } = event.times
        runs.inc({ channel, server: event.server, outcome: event.outcome ?? 'none', started: event.started })
        if (firstByteMs !== undefined && event.started === 'chat') firstByte.observe({ channel }, firstByteMs / 1000)
        return
      }
    }
    event satisfies never
  }

  /** Counts a run as in progress, or no longer. */
  function countOpen({ channel, chat, thread = '', executionID }: RunEvent | DeliveryEvent, isOpen: boolean): void {
    const keys = new Set(runningKeys.get(channel))
    const key = `${chat}/${thread}/${executionID}`
    if (isOpen) keys.add(key)
    else keys.delete(key)
    runningKeys.set(channel, keys)
    open.set({ channel }, keys.size)
  }

  /** Sets the metrics of a member. One that is none has nothing, so that sums over all processes are right. */
  function countMembership(isMember: boolean): void {
    member.set(isMember ? 1 : 0)
    if (isMember) return
    for (const one of [members, shards, restoring, oldest]) one.set(0)
    share.reset()
  }

  /** Sets the numbers of a beat. */
  function countBeat(event: BeatEvent): void {
    if (event.isLate) late.inc()
    members.set(event.members)
    shards.set(event.shards)
    restoring.set(event.restoring)
    oldest.set(event.oldestMs / 1000)
    for (const { channel, budget, share: own, total } of event.budgets) {
      share.set({ channel, budget }, own)
      limit.set({ channel, budget }, total)
    }
  }
}
