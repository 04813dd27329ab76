import { type Client, type Observation, observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { createRunEvents } from '../events/run-events.ts'
import { placeKey } from '../place.ts'
import type { Execution } from '../registry/execution.ts'
import type { Write } from '../store/store.ts'
import type { ActiveRun } from './active-run.ts'
import type { RunContext } from './context.ts'
import type { HeldRun } from './ended-runs.ts'
import { endOf } from './outcome.ts'
import { isCutShort, passOn, shownBy, shownInMirrors } from './shown-by.ts'
import { sinksFor } from './sink-for.ts'
import type { Timers } from './timers.ts'

export interface WakeOptions {
  readonly context: RunContext
  readonly held: HeldRun
  readonly opencode: Client
  /** The newest run of the session, in whose chat it is shown. */
  readonly last: Execution
  /** What an earlier process wrote down of it. */
  readonly stored?: Execution | undefined
  /** Adds it to what runs in its place. */
  readonly add: (run: ActiveRun) => void
  /** Cleared when the bridge stops. */
  readonly timers: Timers
  /** The bridge is stopping: what is not written down yet is left to the next process. */
  readonly isStopping: () => boolean
}

/**
 * Whether the reply answers nothing that a person wrote, and there is something to show. Undefined as long as that can't
 * be told.
 */
export function isWake({ prompt, asks, messages, phase }: Reply): boolean | undefined {
  if (prompt !== undefined && (prompt.text !== '' || prompt.files.length > 0)) return false
  if (asks.length > 0) return true
  const isOfAgent = messages.some(
    ({ parts, finish, error }) =>
      finish !== undefined || error !== undefined || parts.some(({ type }) => type !== 'tool'),
  )
  // A command that a person runs in the session elsewhere is a lone call, without a step of the agent around it.
  return isOfAgent || (phase === 'settled' ? false : undefined)
}

/**
 * What names the reply, also for another process, best first; not empty once `isWake` is true. It may begin with an ask,
 * and get a prompt later.
 */
export function wakeNamesOf({ promptIDs, messages, asks }: Reply): readonly string[] {
  return [promptIDs[0], asks[0]?.requestID, messages[0]?.id].filter((name) => name !== undefined)
}

/** Shows what a session does by itself. The observer gets its reply from now on. */
export async function beginWake(reply: Reply, options: WakeOptions): Promise<ReplyObserver> {
  const { context, held, opencode, last, stored, add, timers, isStopping } = options
  const { state, registry, routes, router, clock, asks, failed, onError } = context
  const { prompt, server, sessionID, agent } = last
  let newest = reply
  let execution: Execution = stored ?? {
    ...{ id: await registry.newID(prompt), prompt, server, sessionID, agent, wokenBy: wakeNamesOf(reply)[0] },
    isByApprovers: last.isByApprovers,
    ...{ phase: 'delivering', status: 'running', startedAt: clock.now() },
  }
  const [promptID] = reply.promptIDs
  const authors = promptID === undefined ? [] : [routes.writeAuthor(promptID, prompt)]
  const route = (await routes.of(prompt)) ?? { server }
  // The last step that may fail: the caller tries again, and must find nothing half begun.
  await state.commit([registry.write(execution), ...authors])
  const shows = sinksFor(context, execution, route)
  const events = createRunEvents({ ...context, execution })
  const shown = shownBy(shows, { asks: !router.progress.enabled, isLeftOut: () => false, onError })
  const observers = [...shown, asks.observerFor({ place: prompt, opencode, server }), events.observer]
  const unfollow = registry.follow(execution, () => newest)
  /** It made no progress for too long. */
  let isLate = false
  const settled = withResolvers<void>()
  const delivered = withResolvers<void>()
  add({
    execution: () => execution,
    shows,
    stream: () => ({ reply: newest, abort }),
    shown: events.shown,
    cancel,
    found: Promise.resolve(),
    delivered: delivered.promise,
    ended: follow()
      .catch(onError)
      .finally(() => {
        delivered.resolve()
        unfollow()
        held.end()
      }),
  })
  pass({ type: 'replyStarted', reply })
  if (reply.outcome) pass({ type: 'replySettled', outcome: reply.outcome, reply })
  const [observer = {}] = held.hold([observerOf(pass)])
  return observer

  function pass(observation: Observation): void {
    newest = observation.reply
    const [wokenBy] = wakeNamesOf(newest)
    // An ask can't be read again once it is answered.
    if (wokenBy !== undefined && wokenBy !== execution.wokenBy && !isStopping()) void update({ wokenBy }).catch(onError)
    // The time that people take to answer does not count.
    if (newest.phase === 'settled' || pendingAsks(newest).length > 0) timers.clear(execution.id)
    else timers.set(execution.id, router.timeoutMs, endLate)
    for (const observer of observers) {
      try {
        passOn(observer, observation)
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
    }
    if (newest.phase === 'settled') settled.resolve()
  }

  async function follow(): Promise<void> {
    await settled.promise
    if (isStopping()) return
    const end = isLate ? ({ status: 'error', reason: 'Timed out' } as const) : endOf(newest)
    await update({ ...end, finishedAt: clock.now() }, [registry.writeLog(execution)])
    const own = await shows[0].sink.settled()
    if (isStopping() || isCutShort(own)) return
    events.delivered(execution, own)
    delivered.resolve()
    const shown = [{ place: shows[0], delivery: own }, ...(await shownInMirrors(shows, clock))]
    if (isStopping()) return
    const missing = failed.of(execution, newest, shown)
    const isMissing = missing.some((one) => placeKey(one) === placeKey(prompt))
    await update({ phase: isMissing ? 'undelivered' : 'done' }, failed.keep(missing))
    failed.kept(missing)
  }

  function endLate(): void {
    isLate = true
    void abort().catch(onError)
  }

  async function cancel(): Promise<void> {
    // Only its showing goes on. To abort would end whatever the session runs now, also another person's prompt.
    if (newest.phase === 'settled') return
    await update({ isCanceled: true })
    await abort()
  }

  async function abort(): Promise<Reply> {
    await opencode.abort(newest)
    return newest
  }

  async function update(change: Partial<Execution>, more: readonly Write[] = []): Promise<void> {
    const before = execution
    execution = { ...execution, ...change }
    const writes = [registry.write(execution), ...more]
    await state.persist(() => state.commit(writes))
    events.changed(before, execution)
  }
}
