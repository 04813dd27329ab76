import type { Ask } from '../ask.ts'
import type { Client } from '../client/client.ts'
import { type Clock, pause } from '../clock.ts'
import { ReplyError } from '../error.ts'
import type { Reply } from '../reply.ts'
import { createWatches, type Feed, type HeldSession, untilReply } from './feed.ts'
import { Refusal } from './refusal.ts'
import { isAskKnown } from './shown.ts'

/** A running reply, which is watched until `release` is called. */
export interface RunningReply {
  /** Its newest state. */
  readonly feed: Feed
  /** Ends the watch, unless others hold the session. */
  readonly release: () => void
}

/** Finds the replies that requests are about. */
export interface WebSessions {
  /** Watches a session, and finds its running reply. Undefined if nothing runs, and then it isn't watched any more. */
  findRunning(sessionID: string, signal: AbortSignal): Promise<RunningReply | undefined>
  /** Reads the newest reply of a session, also one that has ended. */
  newestReply(sessionID: string): Promise<Reply | undefined>
  /**
   * Resolves with the reply once the calls of all pending permissions are known, since an answer counts for a certain call.
   * After a restart of this program they may have to be read first. Doesn't wait long, because some permissions name no call.
   */
  whenCallsKnown(feed: Feed, signal: AbortSignal): Promise<Reply | undefined>
}

/** How long a watch gets to find a run that the server reports, in steps of `lookAgainMs`. */
const maxLooks = 40
const lookAgainMs = 250

/** How long an answer waits until the calls of all pending permissions are known, in ms. */
const callsKnownMs = 3000

/** Creates the look-ups of a handler. `unknown` is the refusal of a session that may not be seen. */
export function createWebSessions(
  client: Pick<Client, 'watch' | 'reply'>,
  clock: Clock,
  unknown: () => Refusal,
): WebSessions {
  const hold = createWatches(client)
  return { findRunning, newestReply, whenCallsKnown }

  async function findRunning(sessionID: string, signal: AbortSignal): Promise<RunningReply | undefined> {
    const held = hold(sessionID)
    try {
      for (let looks = 0; looks < maxLooks && !signal.aborted; looks += 1) {
        const isOver = !isRunning(held.current()?.newest) && !isRunning(await newestReply(sessionID))
        const feed = held.current()
        if (feed && isRunning(feed.newest)) return { feed, release: held.release }
        if (isOver) {
          held.release()
          return undefined
        }
        // The watch reads the session, too. Its read may be the newer one, so look whether the run goes on.
        await untilBegun(held, signal)
      }
      throw new Refusal(503, "The session's state can't be read now. Try again.", { 'retry-after': '5' })
    } catch (error) {
      held.release()
      throw error
    }
  }

  /** Waits until a reply of the session is seen, for a moment. */
  async function untilBegun(held: HeldSession, signal: AbortSignal): Promise<void> {
    const begun = new AbortController()
    const stopListening = held.onReply(() => begun.abort())
    await pause(clock, lookAgainMs, AbortSignal.any([begun.signal, signal]))
    stopListening()
  }

  /** A sub-agent's session is not a conversation of its own, so it isn't found. */
  async function newestReply(sessionID: string): Promise<Reply | undefined> {
    try {
      return await client.reply(sessionID)
    } catch (error) {
      if (error instanceof ReplyError && error.type === 'invalid') throw unknown()
      throw error
    }
  }

  async function whenCallsKnown(feed: Feed, signal: AbortSignal): Promise<Reply | undefined> {
    const isKnown = (ask: Ask): boolean => ask.status !== 'pending' || isAskKnown(ask)
    const over = new AbortController()
    const stopTimer = clock.after(callsKnownMs, () => over.abort())
    const reply = await untilReply(feed, ({ asks }) => asks.every(isKnown), AbortSignal.any([signal, over.signal]))
    stopTimer()
    return reply
  }
}

/** Whether a reply has not ended. */
export function isRunning(reply: Reply | undefined): boolean {
  return reply !== undefined && reply.phase !== 'settled'
}
