import { type Ask, type Client, type Clock, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { elapsed } from '@reply/core/show'
import type { Actor } from '@reply/sink'
import type { Channels } from '../chats/channels.ts'
import type { RouterConfig } from '../config/schema.ts'
import { errorTypeOf, toError } from '../error.ts'
import type { People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import { readWithExpiry, type State } from '../state/state.ts'
import { texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'
import { askObserver } from './ask-observer.ts'

/** Rejects asks that are pending for too long. */
export interface AskTimeouts {
  /** Returns an observer that watches the asks of a run, and rejects those that stay pending for too long. */
  observerFor(run: WatchedRun): ReplyObserver
  /** Clears all timers. The asks stay pending. */
  stop(): void
}

/** A run, and the place that shows its asks. */
export interface WatchedRun {
  readonly place: ChatPlace & { readonly actor: Actor }
  readonly client: Pick<Client, 'reject'>
  /** The server's name in the config, so that a reply to a message about the ask continues its session. */
  readonly server: string
}

/** How long after a failed rejection it is retried, in ms. */
const retryMs = 5000
/** How long a rejection waits for its message in the chat, in ms. */
const noticeMs = 5000
/** How long the store remembers that an ask was seen, in ms: at least a day. The row has that time, from which its age follows. */
const rememberedMs = 86_400_000

/** Rejects asks that stay pending for too long, after a reminder in the chat. */
export function createAskTimeouts(options: {
  readonly state: State
  readonly channels: Channels
  readonly people: People
  readonly router: RouterConfig
  readonly clock: Clock
  readonly onError: (error: Error) => void
}): AskTimeouts {
  const { state, channels, people, router, clock, onError } = options
  const { askTimeoutMs = router.timeoutMs, progress } = router
  /** By the id of a pending ask: clears its timers. */
  const waiting = new Map<string, () => void>()
  return { observerFor, stop }

  /** Returns an observer that starts and clears the timers of the run's asks. */
  function observerFor(run: WatchedRun): ReplyObserver {
    return askObserver((reply) => updateTimers(run, reply))
  }

  /**
   * Starts timers for asks that became pending, and clears those of asks that no longer are. In a settled reply none is
   * pending.
   */
  function updateTimers(run: WatchedRun, reply: Reply): void {
    const pending = reply.phase === 'settled' ? [] : pendingAsks(reply)
    const ids = new Set(pending.map(({ requestID }) => requestID))
    for (const { requestID } of reply.asks) if (!ids.has(requestID)) clearTimers(requestID)
    for (const ask of pending) if (!waiting.has(ask.requestID)) void startTimers(run, ask)
  }

  /** Clears the timers of an ask, which then counts as no longer pending. Does nothing for an unknown one. */
  function clearTimers(requestID: string): void {
    waiting.get(requestID)?.()
    waiting.delete(requestID)
  }

  /**
   * Starts the timers for the reminder at half of the time and for the rejection of an ask. The time counts from when any
   * process first saw it. Rejects it immediately if asks are not shown. Posts a notice if it is new and no one in the chat can
   * allow it. Errors go to `onError`.
   */
  async function startTimers(run: WatchedRun, ask: Ask): Promise<void> {
    const { requestID } = ask
    waiting.set(requestID, () => {})
    try {
      if (!progress.enabled) return await postAndReject(run, ask, texts.askOff, texts.askOffMessage)
      const since = await state.withRetries(() => firstSeen(requestID))
      const leftMs = askTimeoutMs - since.ageMs
      if (!waiting.has(requestID)) return
      if (since.isNew && ask.type === 'permission' && isWithoutApprover(run.place))
        void channels.tryPost(run.place, { text: texts.noApprover }, rootSessionOf(run, ask))
      const after = elapsed(askTimeoutMs)
      const stops = [
        clock.after(Math.max(0, leftMs), () => {
          void postAndReject(run, ask, texts.askTimedOut(after), texts.askRejectedMessage(after))
        }),
      ]
      const reminderMs = leftMs - askTimeoutMs / 2
      if (reminderMs > 0) {
        stops.push(clock.after(reminderMs, () => void remind(run, ask, elapsed(askTimeoutMs / 2)).catch(onError)))
      }
      waiting.set(requestID, () => {
        for (const stopTimer of stops) stopTimer()
      })
    } catch (error) {
      onError(toError(error))
    }
  }

  /** Posts how much time is left, and whether the platform refused the ask. */
  async function remind(run: WatchedRun, ask: Ask, left: string): Promise<void> {
    const isUnshown = (await channels.postOfAsk(run.place, ask.requestID)) === 'failed'
    const text = isUnshown ? texts.askReminderUnshown(left) : texts.askReminder(left)
    await channels.tryPost(run.place, { text }, rootSessionOf(run, ask))
  }

  /** Whether the chat is private and its person lacks `approve`, so no one there can allow anything. False for shared chats. */
  function isWithoutApprover({ channel, chat, actor }: WatchedRun['place']): boolean {
    return chat.kind === 'private' && !people.personOf(channel, actor)?.may.has('approve')
  }

  /**
   * Returns how long ago the ask was first seen, possibly by an earlier process, so that a restart does not prolong its time.
   * Stores that it is seen if it is new. The age is by the store's clock, because that process may have run on another machine.
   */
  async function firstSeen(requestID: string): Promise<{ readonly ageMs: number; readonly isNew: boolean }> {
    const key = `ask/${requestID}`
    const expiresInMs = Math.max(rememberedMs, 2 * askTimeoutMs)
    const write = { type: 'put-if-absent', key, value: String(expiresInMs), expiresInMs } as const
    if (await state.commit([write])) return { ageMs: 0, isNew: true }
    const stored = await readWithExpiry(state, key)
    const { value = '0', expiresInMs: leftMs = Number(value) } = stored ?? {}
    // Not below 0: the store's clock may have been set back.
    return { ageMs: Math.max(0, Number(value) - leftMs), isNew: false }
  }

  /**
   * Posts the notice, and then rejects the ask with the message for the agent if it is still pending. Waits for the post at
   * most `noticeMs`, so that it precedes what the agent writes next.
   */
  async function postAndReject(run: WatchedRun, ask: Ask, notice: string, messageForAgent: string): Promise<void> {
    await waitAtMost(channels.tryPost(run.place, { text: notice }, rootSessionOf(run, ask)), noticeMs, clock)
    if (waiting.has(ask.requestID)) await sendRejection(run, ask, messageForAgent)
  }

  /**
   * Rejects the ask on its server, a permission with the message for the agent. After a failure, reports it and tries again
   * after `retryMs`, until the ask is no longer pending. Never rejects.
   */
  async function sendRejection(run: WatchedRun, ask: Ask, messageForAgent: string): Promise<void> {
    try {
      await run.client.reject(ask, ask.type === 'permission' ? messageForAgent : undefined)
    } catch (error) {
      // It was answered just before.
      const isLate = errorTypeOf(error) === 'already-resolved'
      if (isLate || !waiting.has(ask.requestID)) return
      onError(toError(error))
      waiting.set(
        ask.requestID,
        clock.after(retryMs, () => void sendRejection(run, ask, messageForAgent)),
      )
    }
  }

  /** Clears all timers. The asks stay pending. */
  function stop(): void {
    for (const stopTimers of waiting.values()) stopTimers()
    waiting.clear()
  }
}

/**
 * Returns the root session of an ask, which the chat works with, and its server. The ask of a sub-agent names another session.
 */
function rootSessionOf({ server }: WatchedRun, { sessionID, path }: Ask): { server: string; sessionID: string } {
  return { server, sessionID: path[0] ?? sessionID }
}
