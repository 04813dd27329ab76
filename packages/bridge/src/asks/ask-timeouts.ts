import { type Ask, type Client, type Clock, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { elapsed } from '@reply/core/show'
import type { Actor } from '@reply/sink'
import type { Channels } from '../chats/channels.ts'
import type { RouterConfig } from '../config/schema.ts'
import type { People } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { State } from '../state/state.ts'
import { texts } from '../texts.ts'
import { atMost } from '../timers.ts'

/** Rejects asks that stay unanswered for too long. */
export interface AskTimeouts {
  /** An observer of one run, whose asks are shown in that place. */
  observerFor(run: WatchedRun): ReplyObserver
  /** Stops all timers. */
  stop(): void
}

/** A run whose asks are watched. */
export interface WatchedRun {
  readonly place: ChatPlace & { readonly actor: Actor }
  readonly opencode: Pick<Client, 'reject'>
  /** The server's name, with which messages about the ask find the session again. */
  readonly server: string
}

/** When a rejection that failed is tried again, in ms. */
const againMs = 5000
/** How long a rejection waits for the chat to say so, in ms. */
const saidMs = 5000
/** How long the store remembers since when an ask waits, at least, in ms: a day. */
const rememberedMs = 86_400_000

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
  /** Ends the timers of a waiting ask, by the ask's id. */
  const waiting = new Map<string, () => void>()
  return { observerFor, stop }

  function observerFor(run: WatchedRun): ReplyObserver {
    const look = ({ reply }: { readonly reply: Reply }): void => sync(run, reply)
    return {
      replyStarted: look,
      questionAsked: look,
      questionReplied: look,
      questionRejected: look,
      permissionAsked: look,
      permissionReplied: look,
      askWithdrawn: look,
      replySettled: look,
    }
  }

  function sync(run: WatchedRun, reply: Reply): void {
    const pending = reply.phase === 'settled' ? [] : pendingAsks(reply)
    const ids = new Set(pending.map(({ requestID }) => requestID))
    for (const { requestID } of reply.asks) if (!ids.has(requestID)) end(requestID)
    for (const ask of pending) if (!waiting.has(ask.requestID)) void begin(run, ask)
  }

  function end(requestID: string): void {
    waiting.get(requestID)?.()
    waiting.delete(requestID)
  }

  async function begin(run: WatchedRun, ask: Ask): Promise<void> {
    const { requestID } = ask
    waiting.set(requestID, () => {})
    try {
      if (!progress.enabled) return await reject({ run, ask, said: texts.askOff, message: texts.askOffMessage })
      const since = await state.persist(() => sinceOf(requestID))
      // An earlier process may have had a clock that was ahead.
      const leftMs = Math.min(askTimeoutMs, since.at + askTimeoutMs - clock.now())
      if (!waiting.has(requestID)) return
      if (since.isNew && ask.type === 'permission' && isWithoutApprover(run.place))
        void channels.notify(run.place, { text: texts.noApprover }, sessionOf(run, ask))
      const after = elapsed(askTimeoutMs)
      const stops = [
        clock.after(Math.max(0, leftMs), () => {
          void reject({ run, ask, said: texts.askTimedOut(after), message: texts.askRejectedMessage(after) })
        }),
      ]
      const reminderMs = leftMs - askTimeoutMs / 2
      if (reminderMs > 0) {
        stops.push(
          clock.after(reminderMs, () => {
            void channels.notify(run.place, { text: texts.askReminder(elapsed(askTimeoutMs / 2)) }, sessionOf(run, ask))
          }),
        )
      }
      waiting.set(requestID, () => {
        for (const stopTimer of stops) stopTimer()
      })
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** In a private chat there is one person to answer. */
  function isWithoutApprover({ channel, chat, actor }: WatchedRun['place']): boolean {
    return chat.kind === 'private' && !people.find(channel, actor)?.may.has('approve')
  }

  /** When the ask was first seen, also by an earlier process. */
  async function sinceOf(requestID: string): Promise<{ readonly at: number; readonly isNew: boolean }> {
    const key = `ask/${requestID}`
    const now = clock.now()
    const write = {
      type: 'put-if-absent',
      key,
      value: String(now),
      expiresAt: now + Math.max(rememberedMs, 2 * askTimeoutMs),
    } as const
    if (await state.commit([write])) return { at: now, isNew: true }
    return { at: Number((await state.read(key)) ?? now), isNew: false }
  }

  /** Says so first: what the agent goes on to say comes after it. A chat that takes no message now holds nothing up. */
  async function reject(what: Rejection): Promise<void> {
    const { run, ask, said } = what
    await atMost(channels.notify(run.place, { text: said }, sessionOf(run, ask)), saidMs, clock)
    if (waiting.has(ask.requestID)) await send(what)
  }

  async function send(what: Rejection): Promise<void> {
    const { run, ask, message } = what
    try {
      await run.opencode.reject(ask, ask.type === 'permission' ? message : undefined)
    } catch (error) {
      // Answered at the last moment.
      const isLate = error instanceof Error && 'type' in error && error.type === 'already-resolved'
      if (isLate || !waiting.has(ask.requestID)) return
      onError(error instanceof Error ? error : new Error(String(error)))
      waiting.set(
        ask.requestID,
        clock.after(againMs, () => void send(what)),
      )
    }
  }

  function stop(): void {
    for (const stopTimers of waiting.values()) stopTimers()
    waiting.clear()
  }
}

interface Rejection {
  readonly run: WatchedRun
  readonly ask: Ask
  readonly said: string
  readonly message: string
}

/** The session of the chat is the root; for a sub-agent's ask it is not the ask's own. */
function sessionOf({ server }: WatchedRun, { sessionID, path }: Ask): { server: string; sessionID: string } {
  return { server, sessionID: path[0] ?? sessionID }
}
