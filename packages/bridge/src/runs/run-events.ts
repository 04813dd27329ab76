import type { Ask, Clock, Reply, ReplyObserver } from '@reply/core'
import type { Delivery } from '@reply/sink'
import type { AnsweredBy } from '../asks/answered-by.ts'
import { eventPlace } from '../events/emit.ts'
import type { AskEvent, BridgeEvent, EventPlace, RunEvent, RunTimes } from '../events/event.ts'
import type { Execution } from '../state/execution.ts'

/** Tells what happens to one run. */
export interface RunEvents {
  /** Sees the first byte and the asks. */
  readonly observer: ReplyObserver
  /** The execution was written down anew. */
  changed(before: Execution, after: Execution): void
  /** It was found again after a restart. */
  found(execution: Execution): void
  /** A message about it is in the chat. */
  shown(): void
  /** Its reply is shown to the end. */
  delivered(execution: Execution, delivery: Delivery): void
}

export function createRunEvents(options: {
  readonly execution: Execution
  readonly clock: Clock
  readonly answeredBy: AnsweredBy
  readonly emit: (event: BridgeEvent) => void
}): RunEvents {
  const { clock, answeredBy, emit } = options
  const { id: executionID, prompt, server } = options.execution
  /** No one sets it. What an earlier process heard can only be counted by the time of day. */
  const monotonic = (): number => clock.monotonic?.() ?? clock.now()
  const begun = { afterMs: Math.max(0, clock.now() - prompt.receivedAt), at: monotonic() }
  const asked = new Map<string, number>()
  let times: RunTimes = {}
  let firstShownMs: number | undefined
  let reply: Reply | undefined
  const look = (seen: { readonly reply: Reply }): void => {
    reply = seen.reply
  }
  const asking = ({ ask }: { readonly ask: Ask }): void => tellAsk('asked', ask)
  const ending = ({ ask }: { readonly ask: Ask }): void => {
    if (ask.status !== 'pending') tellAsk(ask.status, ask)
  }
  const observer: ReplyObserver = {
    replyStarted: look,
    partAdded: (seen) => {
      look(seen)
      times = { firstByteMs: since(), ...times }
    },
    questionAsked: asking,
    permissionAsked: asking,
    questionReplied: ending,
    permissionReplied: ending,
    questionRejected: ending,
    askWithdrawn: ending,
    replySettled: look,
  }
  return { observer, changed, found, shown, delivered }

  function changed(before: Execution, after: Execution): void {
    if (before.phase !== 'posting' && after.phase === 'posting') {
      times = { postedMs: since(), ...times }
      tell('posted', after)
    }
    if (before.status !== 'running' || after.status === 'running') return
    times = { ...times, endedMs: since() }
    tell('ended', after)
  }

  function found(execution: Execution): void {
    tell('found', execution)
  }

  function shown(): void {
    firstShownMs ??= since()
  }

  function delivered({ sessionID }: Execution, delivery: Delivery): void {
    const { shown: messages, undelivered, doubtful, calls, rateLimited } = delivery
    emit({
      type: 'delivery',
      ...place(),
      executionID,
      sessionID,
      shown: messages,
      undelivered: undelivered.length,
      doubtful,
      calls,
      rateLimited,
      firstShownMs,
      deliveredMs: since(),
    })
  }

  function tell(phase: RunEvent['phase'], { sessionID, reason }: Execution): void {
    const { id: messageID, actor } = prompt
    emit({
      type: 'run',
      phase,
      ...place(),
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

  function tellAsk(phase: AskEvent['phase'], ask: Ask): void {
    const { type: askType, requestID, sessionID } = ask
    const decision = ask.type === 'permission' ? ask.reply : undefined
    const taken = phase === 'asked' ? undefined : answeredBy.take(requestID)
    const by = phase === 'withdrawn' ? undefined : taken
    const since = asked.get(requestID)
    if (phase === 'asked') asked.set(requestID, monotonic())
    const waitedMs = phase === 'asked' || since === undefined ? undefined : monotonic() - since
    emit({
      type: 'ask',
      phase,
      ...place(),
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

  function place(): EventPlace {
    return eventPlace(prompt, clock.now())
  }

  function since(): number {
    return begun.afterMs + monotonic() - begun.at
  }
}
