import { pendingAsks, type Reply, totalUsage, type Usage } from '@reply/core'
import { isAskDue } from '@reply/core/internal'
import type { AgUiEvent, AgUiMessage, AgUiMetadata, AgUiOutcome, AgUiUsage } from './event.ts'
import { askOf, interruptOf } from './interrupts.ts'
import { createAgents } from './project/agents.ts'
import { conversationOf, findPrompts } from './project/conversation.ts'
import { failureText } from './project/failure.ts'
import { type KnownMessage, knownAfter, messagesOf, snapshotsOf } from './project/messages.ts'

/** Names the run of a projection, and the messages that its client already shows. */
export interface AgUiProjectionOptions {
  /** The conversation, as the client names it. */
  readonly threadId: string
  /** This run, as the client names it. */
  readonly runId: string
  /** The run that this one goes on with, as the client names it. Default: none. */
  readonly parentRunId?: string | undefined
  /**
   * The messages before this reply. Every snapshot repeats them, because a client drops what a snapshot lacks. Those that
   * belong to the reply are replaced by its own state. Default: none.
   */
  readonly history?: readonly AgUiMessage[] | undefined
  /**
   * The messages that the client shows now. The run then begins with a snapshot of `history` and the reply so far, and its
   * usage counts from there. Default: the client shows `history` and nothing of the reply.
   */
  readonly have?: readonly AgUiMessage[] | undefined
  /**
   * Whether the run ends when the reply waits for a person, with an interrupt for each ask. If not, the run goes on until
   * the reply ends, and asks are shown as activities. Default: true.
   */
  readonly splitAtAsks?: boolean | undefined
}

/** Brings one client up to date with a reply, by events. */
export interface AgUiProjection {
  /**
   * Returns the events that lead from the last state to this one. Empty if nothing is new, and once the run has ended. You may
   * skip states of the reply.
   *
   * A permission waits until the call that it is about is known. With the time `now`, in ms since the epoch, it waits no longer
   * than 3 s, and can only be rejected then. So call it again every few seconds while the reply waits.
   */
  next(reply: Reply, now?: number): readonly AgUiEvent[]
  /** Whether the run has ended, with RUN_FINISHED or RUN_ERROR. */
  readonly ended: boolean
}

/**
 * Creates a projection of one reply for one client, as events of AG-UI 1.0. It compares each state with what it said, so a late
 * client, a reconnection, a retry that takes text back and a gap are the same case. A message that didn't change costs one
 * comparison.
 */
export function createAgUiProjection(options: AgUiProjectionOptions): AgUiProjection {
  const { threadId, runId, parentRunId, history = [], have, splitAtAsks = true } = options
  let out: AgUiEvent[] = []
  let isStarted = false
  let ended = false
  /** The last state that the client was sent. */
  let last: Reply | undefined
  const emit = (event: AgUiEvent): void => {
    out.push(event)
  }
  const agents = createAgents(emit)
  /** What was used before this run. */
  let usedBefore: Usage | undefined
  let session: readonly unknown[] = []
  let state: readonly unknown[] = [undefined, undefined, 'live', false]
  let shownAsks: Reply['asks'] = []
  return {
    next,
    get ended() {
      return ended
    },
  }

  function next(reply: Reply, now?: number): readonly AgUiEvent[] {
    if (ended) return []
    out = []
    const isFirst = !isStarted
    if (isFirst) start(reply)
    projectState(reply)
    if ((isFirst && have) || !projectMessages(reply)) restate(reply)
    finishIfOver(reply, now)
    last = reply
    const events = out
    // Nothing that was said is kept.
    out = []
    return events
  }

  function start(reply: Reply): void {
    isStarted = true
    if (have) usedBefore = totalUsage(reply)
    emit({
      type: 'RUN_STARTED',
      threadId,
      runId,
      ...(parentRunId !== undefined && { parentRunId }),
      protocolVersion: '1.0',
      metadata: { reply: { sessionID: reply.sessionID } },
    })
  }

  /** Emits the session's title, agent and model, and the reason for which the run waits, whenever one of them changes. */
  function projectState(reply: Reply): void {
    const { sessionID, title, agent, model, retry, compaction, connection, stalled } = reply
    const newSession = [title, agent, model]
    if (newSession.some((field, at) => field !== session[at])) {
      session = newSession
      emit({ type: 'CUSTOM', name: 'reply.session', value: { sessionID, title, agent, model } })
    }
    const newState = [retry, compaction, connection, stalled]
    if (newState.some((field, at) => field !== state[at])) {
      state = newState
      emit({ type: 'CUSTOM', name: 'reply.state', value: { retry, compaction, connection, stalled } })
    }
  }

  /** Returns whether the whole difference could be expressed as events. */
  function projectMessages(reply: Reply, isWhole = false): boolean {
    const isSaid = agents.project(reply, () => findPrompts(history, reply), isWhole)
    if (!splitAtAsks) projectAsks(reply)
    return isSaid
  }

  /** Shows asks as activities. Those that have not changed are skipped. */
  function projectAsks({ asks }: Reply): void {
    const before = shownAsks
    shownAsks = asks
    if (before === asks) return
    for (const [at, ask] of asks.entries()) {
      if (before[at] === ask) continue
      const { subagentRunId, toolCallId } = agents.placeOf(ask)
      emit({
        type: 'ACTIVITY_SNAPSHOT',
        messageId: `${ask.requestID}.ask`,
        activityType: 'reply.ask',
        content: { ...askOf(ask), ...(toolCallId !== undefined && { toolCallId }) },
        ...(subagentRunId !== undefined && { subagentRunId }),
      })
    }
  }

  /** Says the whole conversation anew, in snapshots, and goes on from there. */
  function restate(reply: Reply): void {
    agents.closeTexts()
    const before = out
    out = []
    agents.restart()
    shownAsks = []
    projectMessages(reply, true)
    agents.closeTexts()
    const events = out
    out = before
    const messages = conversationOf(history, messagesOf(events), findPrompts(history, reply))
    out.push(...snapshotsOf(messages, knownAfter(knownMessages(), before)), ...eventsOfRun(events))
  }

  /** What the client has of the conversation, as of the last state. */
  function knownMessages(): readonly KnownMessage[] {
    if (last === undefined) return have ?? history
    const events: AgUiEvent[] = []
    const prompts = findPrompts(history, last)
    createAgents((event) => events.push(event)).project(last, () => prompts, true)
    return conversationOf(history, messagesOf(events), prompts)
  }

  /** Ends the run if the reply ended, or waits for a person and all asks are known. */
  function finishIfOver(reply: Reply, now?: number): void {
    if (reply.phase === 'settled') return finish(reply)
    if (reply.phase !== 'blocked' || !splitAtAsks) return
    const asks = pendingAsks(reply)
    if (asks.length === 0 || !asks.every((ask) => isAskDue(ask, reply, now))) return
    const interrupts = asks.map((ask) => interruptOf(ask, agents.placeOf(ask)))
    agents.close((id) => interrupts.filter(({ subagentRunId }) => subagentRunId === id).map((each) => each.id))
    finishWith(reply, { type: 'interrupt', interrupts })
  }

  function finish(reply: Reply): void {
    agents.close(() => [])
    const { outcome } = reply
    switch (outcome) {
      case 'failed':
      case 'timed-out':
      case 'lost':
        ended = true
        emit({
          type: 'RUN_ERROR',
          message: failureText(reply),
          code: outcome,
          usage: usageOf(reply),
          metadata: endOf(reply),
        })
        return
      case 'aborted':
        return finishWith(reply, { type: 'cancelled' })
      case 'completed':
      case 'stopped':
      case undefined:
        return finishWith(reply, { type: 'success' })
      default:
        outcome satisfies never
    }
  }

  function finishWith(reply: Reply, outcome: AgUiOutcome): void {
    ended = true
    emit({ type: 'RUN_FINISHED', threadId, runId, outcome, usage: usageOf(reply), metadata: endOf(reply) })
  }

  /** What this run used. Empty if it used nothing. */
  function usageOf(reply: Reply): readonly AgUiUsage[] {
    const total = totalUsage(reply)
    const { model } = reply
    const used = (field: 'input' | 'output' | 'reasoning' | 'cacheRead' | 'cacheWrite'): number =>
      total[field] - (usedBefore?.[field] ?? 0)
    const inputTokens = used('input') + used('cacheRead') + used('cacheWrite')
    const outputTokens = used('output') + used('reasoning')
    if (inputTokens + outputTokens === 0) return []
    return [
      {
        ...(model && { provider: model.providerID, model: model.modelID }),
        inputTokens,
        outputTokens,
        totalTokens: inputTokens + outputTokens,
        reasoningTokens: used('reasoning'),
        cachedInputTokens: used('cacheRead'),
        cacheWriteInputTokens: used('cacheWrite'),
      },
    ]
  }
}

/** How the reply ended or paused, with the usage and cost of the whole reply, under our key. */
function endOf(reply: Reply): AgUiMetadata {
  const { outcome, lostReason, finish, error } = reply
  const failure = error && { name: error.name, statusCode: error.statusCode, retryable: error.retryable }
  return { reply: { outcome, lostReason, finish, error: failure, usage: totalUsage(reply) } }
}

/** The events that are about the run and not about messages, without the steps that are over. */
function eventsOfRun(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
  const stepOf = (event: AgUiEvent): string | undefined =>
    event.type === 'STEP_STARTED' || event.type === 'STEP_FINISHED'
      ? `${event.subagentRunId ?? ''} ${event.stepName}`
      : undefined
  const begun = new Set(events.flatMap((event) => (event.type === 'STEP_STARTED' ? (stepOf(event) ?? []) : [])))
  const over = new Set(events.flatMap((event) => (event.type === 'STEP_FINISHED' ? (stepOf(event) ?? []) : [])))
  return events.filter((event) => {
    const step = stepOf(event)
    return step === undefined ? event.type.startsWith('SUBAGENT_') : !(begun.has(step) && over.has(step))
  })
}
