import type { Ask, Clock, Reply, ReplyObserver } from '@reply/core'
import type { Delivery } from '@reply/sink'
import type { AnsweredBy } from '../asks/answered-by.ts'
import { eventPlace } from '../events/emit.ts'
import type { AskEvent, BridgeEvent, EventPlace, RunEvent, RunStart, RunTimes } from '../events/event.ts'
import type { Execution } from '../state/execution.ts'

/** Emits the events of one run. */
export interface RunEvents {
  /** Keeps the newest reply, and emits the events of asks. Notes when the first output arrived. */
  readonly observer: ReplyObserver
  /** Call it when a change of the execution was stored. Emits `posted` or `ended` if the change was that. */
  onChanged(before: Execution, after: Execution): void
  /** Call it when the run was found after a restart. Emits `found`. */
  onFound(execution: Execution): void
  /**
   * Call it when the chat shows a message of the run. Keeps the time of the first call for `onDelivered`, and emits nothing.
   */
  onShown(): void
  /** Call it when the reply was delivered. Emits `delivery`. */
  onDelivered(execution: Execution, delivery: Delivery): void
}

/**
 * Emits the events of one run, with times since its message, or since its chat showed a run without one. Only the first time of each
 * kind counts.
 */
export function createRunEvents(
  { id: executionID, prompt, server, followed, startedBy, startedAt }: Execution,
  clock: Clock,
  answeredBy: AnsweredBy,
  emit: (event: BridgeEvent) => void,
): RunEvents {
  const started: RunStart = followed ? 'elsewhere' : startedBy === undefined ? 'chat' : 'agent'
  // The message of a run of the agent itself is that of the run before it.
  const began = started === 'chat' ? prompt.receivedAt : startedAt
  /**
   * Measures durations. How long ago the message was received is only known by the wall clock, because that may predate this
   * process.
   */
  const monotonic = (): number => clock.monotonic?.() ?? clock.now()
  const received = { afterMs: Math.max(0, clock.now() - began), at: monotonic() }
  const askedTimes = new Map<string, number>()
  let times: RunTimes = {}
  let firstShownMs: number | undefined
  let reply: Reply | undefined
  const keepReply = (seen: { readonly reply: Reply }): void => {
    reply = seen.reply
  }
  const onAsked = ({ ask }: { readonly ask: Ask }): void => emitAsk('asked', ask)
  const onAskEnded = ({ ask }: { readonly ask: Ask }): void => {
    if (ask.status !== 'pending') emitAsk(ask.status, ask)
  }
  const observer: ReplyObserver = {
    replyStarted: keepReply,
    partAdded: (seen) => {
      keepReply(seen)
      times = { firstByteMs: msSinceMessage(), ...times }
    },
    questionAsked: onAsked,
    permissionAsked: onAsked,
    questionReplied: onAskEnded,
    permissionReplied: onAskEnded,
    questionRejected: onAskEnded,
    askWithdrawn: onAskEnded,
    replySettled: keepReply,
  }
  return { observer, onChanged, onFound, onShown, onDelivered }

  /** Emits `posted` if the phase became `posting`, and `ended` if the status stopped being `running`. */
  function onChanged(before: Execution, after: Execution): void {
    if (before.phase !== 'posting' && after.phase === 'posting') {
      times = { postedMs: msSinceMessage(), ...times }
      emitRun('posted', after)
    }
    if (before.status !== 'running' || after.status === 'running') return
    times = { ...times, endedMs: msSinceMessage() }
    emitRun('ended', after)
  }

  /** Emits `found`. */
  function onFound(execution: Execution): void {
    emitRun('found', execution)
  }

  /** Remembers the time of the first call, for the event of the delivery. */
  function onShown(): void {
    firstShownMs ??= msSinceMessage()
  }

  /** Emits `delivery`, with the time of the first `onShown` if there was one. */
  function onDelivered({ sessionID }: Execution, delivery: Delivery): void {
    const { shown: messages, undelivered, doubtful, calls, rateLimited } = delivery
    emit({
      type: 'delivery',
      started,
      ...placeNow(),
      executionID,
      sessionID,
      shown: messages,
      undelivered: undelivered.length,
      doubtful,
      calls,
      rateLimited,
      firstShownMs,
      deliveredMs: msSinceMessage(),
    })
  }

  /** Emits `run`. Only `ended` has the outcome of the newest reply. */
  function emitRun(phase: RunEvent['phase'], { sessionID, reason }: Execution): void {
    const { id: messageID, actor } = prompt
    emit({
      type: 'run',
      started,
      phase,
      ...placeNow(),
      executionID,
      actorID: actor.id,
      messageID,
      server,
      sessionID,
      outcome: phase === 'ended' ? reply?.outcome : undefined,
      reason,
      times,
    })
  }

  /**
   * Emits the event of an ask. At its end, the event has how long the ask was pending, if this process saw it begin. It also has who
   * answered, if that is known and the ask was not withdrawn.
   */
  function emitAsk(phase: AskEvent['phase'], ask: Ask): void {
    const { type: askType, requestID, sessionID } = ask
    const decision = ask.type === 'permission' ? ask.reply : undefined
    const by = phase === 'asked' || phase === 'withdrawn' ? undefined : answeredBy.actorOf(requestID)
    const askedAt = askedTimes.get(requestID)
    if (phase === 'asked') askedTimes.set(requestID, monotonic())
    const waitedMs = phase === 'asked' || askedAt === undefined ? undefined : monotonic() - askedAt
    emit({
      type: 'ask',
      started,
      phase,
      ...placeNow(),
      askType,
      requestID,
      executionID,
      sessionID,
      decision,
      actorID: by?.actorID,
      actorChannel: by?.channel,
      waitedMs,
    })
  }

  /** Returns the place of the run and the current time, for an event. */
  function placeNow(): EventPlace {
    return eventPlace(prompt, clock.now())
  }

  /** Returns the time since the message with the prompt was received, or since a run without one was shown, in ms. At least 0. */
  function msSinceMessage(): number {
    return received.afterMs + monotonic() - received.at
  }
}
