import type { Ask } from '../../ask.ts'
import { within } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SettleEvent } from '../../event.ts'
import { findReply } from '../../reduce/child.ts'
import { isAtEnd } from '../../reduce/reduce.ts'
import { isAnyChildRunning, isOnlyOfBackgroundChildren } from '../../reduce/run.ts'
import type { Reply } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import { openChildIDs } from '../connection/newest-run.ts'
import type { Drive } from '../drive.ts'
import type { Inbox } from '../inbox.ts'
import { createTree, type Tree } from './session-tree.ts'
import type { Stopping } from './stopping.ts'

export interface AbortRequest {
  readonly reason?: 'requested' | 'timed-out' | undefined
  /**
   * The prompt's post. The abort waits for it, because an abort that overtakes it would leave its run going: until the
   * server has responded or shows the prompt, at most `postMs`. Then it cancels the post, unless the prompt is shown.
   */
  readonly posting?: Posting | undefined
}

/** The post of a prompt. */
export interface Posting {
  /** Settles when the server has responded. Undefined if that tells nothing, because it responds when the run has ended. */
  readonly answered: Promise<unknown> | undefined
  readonly cancel: () => void
}

/** The outcome of an abort. `error` tells why the server could not be stopped. */
export type Aborted =
  /** `parked`: ids of prompts that the session keeps until its next prompt. Undefined if they could not be listed. */
  | { readonly type: 'stopped'; readonly parked?: readonly string[] | undefined }
  | { readonly type: 'not-stopped'; readonly error?: ReplyError | undefined }
  | { readonly type: 'gone'; readonly error: ReplyError }

export interface Aborting {
  /**
   * Ends all work of a session and its sub-agents on the server, and settles its reply here if one is known. Resolves
   * with the outcome after 30 s at the latest. Never rejects. Concurrent calls for one session share one abort.
   */
  abort(sessionID: string, request?: AbortRequest): Promise<Aborted>
}

const maxTries = 5

/** The limits for listing pending asks before the abort is sent, and for the whole abort, in ms. */
const listMs = 5000
/** How long a stop waits for the post of the prompt, in ms. */
export const postMs = 5000
const wholeMs = 30_000

/** How often a session without a reply is polled, in ms. */
const pollMs = 100

/**
 * Creates `abort`, which ends a session's work on the server. At once, no ask of its tree can be answered any more, and
 * the known asks are rejected: an abort leaves permissions pending, and approving one later would still run the
 * command. Then walks the tree, rejects its pending asks, aborts the run and checks again, and repeats that while
 * anything is running. The reply settles as `aborted` only if the server was seen idle, otherwise as `lost` with the
 * reason `not-stopped`.
 */
export function createAborting(
  drive: Drive,
  options: {
    readonly graceMs: number
    readonly stopping: Stopping
    readonly parentOf: (place: SessionRef) => Promise<string | undefined>
    readonly find: (sessionID: string) => Promise<SessionRef>
    readonly inbox: Inbox
  },
): Aborting {
  const { engine, source, info, clock, onError } = drive
  const { graceMs, stopping, parentOf, find, inbox } = options
  const runningAborts = new Map<string, Promise<Aborted>>()
  /** Ends the waits of `pauseUntil` whose condition holds. The value is the session whose changes are awaited. */
  const wakes = new Map<() => void, string>()
  engine.onSessionChanged((sessionID) => {
    for (const [wake, id] of wakes) if (id === sessionID) wake()
  })
  return { abort }

  /**
   * Ends all work in the session and its sub-agents, and settles its reply. Joins a running abort of the session, and
   * then ignores `request`. Never rejects.
   */
  function abort(sessionID: string, request: AbortRequest = {}): Promise<Aborted> {
    const before = runningAborts.get(sessionID)
    if (before) return before
    const aborted = runAbort(sessionID, request).finally(() => runningAborts.delete(sessionID))
    runningAborts.set(sessionID, aborted)
    return aborted
  }

  /**
   * Blocks answers to the asks of the session's tree, rejects the known ones, stops its work on the server and settles
   * its reply. Gives up after `wholeMs`. Answers stay blocked if the stop could not be confirmed. If the server itself
   * ends asks with an abort, they aren't rejected.
   */
  async function runAbort(sessionID: string, { reason = 'requested', posting }: AbortRequest): Promise<Aborted> {
    const stop = stopping.begin([sessionID, ...sessionIDsOf(openReply())])
    let tree: Tree | undefined
    let isOver = false
    let lastError: ReplyError | undefined
    markAborting()
    // Some agents must receive the abort before the asks that it ends.
    const mustReject = info.current().abortsAsks !== true
    const rejections = (mustReject ? (openReply()?.asks ?? []) : [])
      .filter((ask) => ask.status === 'pending')
      .map(rejectAsk)
    const aborted = (await within(clock, wholeMs, stopOnServer())) ?? { type: 'not-stopped', error: lastError }
    isOver = true
    stop.end(aborted.type !== 'not-stopped')
    settleReply(aborted)
    return aborted

    /**
     * Waits for the prompt's post. Then withdraws queued prompts, rejects asks and aborts running sessions, up to
     * `maxTries` times until the tree is idle. Resolves with `gone` if the server doesn't know the session, and with
     * `not-stopped` if it stays busy, the client is closed or the abort is over. Reports errors, and doesn't settle the
     * reply.
     */
    async function stopOnServer(): Promise<Aborted> {
      let busy: readonly string[] = []
      await within(clock, listMs, Promise.all(rejections))
      if (posting) await endPost(posting)
      for (let attempt = 1; attempt <= maxTries && !isOver; attempt++) {
        markAborting()
        try {
          const place = await find(sessionID)
          const found = tree ?? createTree(source, place, parentOf, stop.cover)
          tree = found
          // First, because a rejection ends the run and a queued prompt would begin.
          await within(clock, listMs, inbox.withdrawAll(place, found.sessionIDs()).catch(recordError))
          if (mustReject) await within(clock, listMs, rejectListedAsks(place, found).catch(recordError))
          await Promise.all([
            source.abort(place),
            ...busy.map(async (id) => await abortUnlessGone({ ...place, sessionID: id })),
          ])
          await waitUntilIdle(place, found)
          const areAsksRejected = await within(clock, listMs, rejectListedAsks(place, found))
          busy = await runningSessionIDs(place, found)
          const isIdle = busy.length === 0 && (info.current().canRead || isIdleOnStream())
          if (areAsksRejected && isIdle && (hasPromptStarted() || attempt === maxTries))
            return {
              type: 'stopped',
              parked: await within(clock, listMs, inbox.withdrawAll(place, found.sessionIDs())),
            }
        } catch (error) {
          const reported = recordError(error)
          if (reported.type === 'gone') return { type: 'gone', error: reported }
          if (reported.type === 'closed') break
          await pauseUntil(() => false)
        }
      }
      return { type: 'not-stopped', error: lastError }
    }

    /** Waits until the server has responded to the post or shows the prompt, and after `postMs` cancels the post. */
    async function endPost({ answered, cancel }: Posting): Promise<void> {
      let isAnswered = answered === undefined
      const onAnswered = (): void => {
        isAnswered = true
        for (const wake of wakes.keys()) wake()
      }
      answered?.then(onAnswered, onAnswered)
      await pauseUntil(() => isAnswered || hasPromptStarted(), postMs)
      if (!hasPromptStarted()) cancel()
    }

    /**
     * Aborts a sub-agent's run on the server. Does nothing if its session was deleted. Rejects with any other error.
     */
    async function abortUnlessGone(place: SessionRef): Promise<void> {
      await source.abort(place).catch((error: unknown) => {
        if (!(error instanceof ReplyError && error.type === 'gone')) throw error
      })
    }

    /**
     * Rejects all asks of the tree that the server lists as pending, and adds newly found sub-agents to the tree. If
     * the server can't list all, also rejects the pending ones that the stream reported. Resolves with whether all were
     * rejected. Rejects if the asks or the tree can't be listed.
     */
    async function rejectListedAsks({ directory }: SessionRef, tree: Tree): Promise<boolean> {
      tree.add(sessionIDsOf(openReply()))
      const [{ asks: listed, isWhole }] = await Promise.all([source.asks(directory), tree.addDescendants()])
      const isListed = (ask: Ask): boolean => listed.some((other) => other.requestID === ask.requestID)
      // If the server can't list all, adds those that the stream reported.
      const streamed = isWhole
        ? []
        : (openReply()?.asks ?? []).filter((ask) => ask.status === 'pending' && !isListed(ask))
      const asks = [...listed, ...streamed]
      const isBelow = await Promise.all(asks.map((ask) => tree.addIfBelow(ask.sessionID)))
      const rejected = await Promise.all(asks.filter((_, index) => isBelow[index]).map(rejectAsk))
      return rejected.every((isRejected) => isRejected)
    }

    /**
     * Rejects an ask on the server, and blocks answers to it for good. Resolves with whether it is no longer pending,
     * which includes one that the server doesn't know. Reports errors instead of rejecting.
     */
    async function rejectAsk(ask: Ask): Promise<boolean> {
      stop.closeAsk(ask.requestID)
      try {
        await source.reject(ask)
        return true
      } catch (error) {
        // Rejecting one permission also rejects the session's others.
        if (error instanceof ReplyError && error.type === 'gone') return true
        recordError(error)
        return false
      }
    }

    /** The ids of the tree's sessions that are running according to REST. Adds those that are new to the tree. */
    async function runningSessionIDs({ directory }: SessionRef, tree: Tree): Promise<readonly string[]> {
      const ids = [...(await source.working(directory)).keys()]
      const isBelow = await Promise.all(ids.map((id) => tree.addIfBelow(id)))
      return ids.filter((_, index) => isBelow[index])
    }

    /**
     * Resolves when the run is idle, after `graceMs`, or soon after the abort is over. Goes by the stream if the
     * session has an open reply, otherwise polls the server, and rejects if that fails.
     */
    async function waitUntilIdle(place: SessionRef, tree: Tree): Promise<void> {
      if (openReply()) return await pauseUntil(isIdleOnStream)
      for (let waitedMs = 0; waitedMs < graceMs && !isOver; waitedMs += pollMs) {
        if ((await runningSessionIDs(place, tree)).length === 0) return
        await pauseUntil(() => false, pollMs)
      }
    }

    /** Whether the stream shows that the run and its sub-agents have ended. True without an open reply. */
    function isIdleOnStream(): boolean {
      const reply = openReply()
      if (!reply) return true
      // A reply of background sub-agents alone has no idle of its own.
      const isIdle = isOnlyOfBackgroundChildren(reply) || (engine.idleOf(sessionID) === 'reported' && isAtEnd(reply))
      return isIdle && !isAnyChildRunning(reply)
    }

    /**
     * Whether the run shows any event or prompt. Until then an idle session isn't at its end: a server that was just
     * started may take seconds to begin the prompt. True without an open reply.
     */
    function hasPromptStarted(): boolean {
      const reply = openReply()
      return reply?.phase !== 'waiting' || reply.promptIDs.length > 0
    }

    /** Resolves when the condition holds, now or after a change of the session, and after `delayMs` at the latest. */
    function pauseUntil(isEnough: () => boolean, delayMs = graceMs): Promise<void> {
      return new Promise((resolve) => {
        if (isEnough()) return resolve()
        const done = (): void => {
          stopTimer()
          wakes.delete(wake)
          resolve()
        }
        const wake = (): void => {
          if (isEnough()) done()
        }
        const stopTimer = clock.after(delayMs, done)
        wakes.set(wake, openRootReply(sessionID)?.sessionID ?? sessionID)
      })
    }

    /** Shows the open reply as aborting. Does nothing if it is already, or if there is none. */
    function markAborting(): void {
      const reply = openReply()
      if (!reply || reply.aborting) return
      engine.apply([{ type: 'abort-requested', sessionID, reason, at: clock.now() }])
    }

    /**
     * Settles the open reply by the outcome: as aborted with its open sub-agents, as lost if the stop was not
     * confirmed, or as removed. Reports the prompts that could not be withdrawn as parked, even without an open reply.
     */
    function settleReply(aborted: Aborted): void {
      const { type } = aborted
      markAborting()
      const parked = type === 'stopped' ? (aborted.parked ?? []) : []
      inbox.reportParked(parked)
      const reply = openReply()
      if (!reply) return
      const at = clock.now()
      if (type === 'gone') return engine.apply([{ type: 'session-removed', sessionID, at, by: 'rest' }])
      if (type === 'not-stopped')
        return engine.apply([{ type: 'settle', sessionID, at, by: 'lost', reason: 'not-stopped' }])
      // Background sub-agents don't end with the reply that started them.
      const below = openChildIDs(reply).map((id): SettleEvent => ({ type: 'settle', sessionID: id, at, by: 'grace' }))
      engine.apply([...below, { type: 'settle', sessionID, at, by: 'grace', parkedPromptIDs: parked }])
    }

    /** The session's open reply, or a sub-agent's part of it. Undefined if none is open. */
    function openReply(): Reply | undefined {
      const root = openRootReply(sessionID)
      const reply = root && findReply(root, sessionID)
      return reply?.phase === 'settled' ? undefined : reply
    }

    /**
     * Makes the error the abort's last one, and reports it unless it is `gone`. Returns it as a `ReplyError`, which is
     * `unreachable` for any other error.
     */
    function recordError(error: unknown): ReplyError {
      lastError =
        error instanceof ReplyError
          ? error
          : new ReplyError('unreachable', `Session ${sessionID} could not be aborted.`, { cause: error })
      if (lastError.type !== 'gone') onError(lastError)
      return lastError
    }
  }

  /** The open reply that contains the session, as its root or as a sub-agent. Undefined if there is none. */
  function openRootReply(sessionID: string): Reply | undefined {
    return engine.openReplies().find((reply) => findReply(reply, sessionID) !== undefined)
  }
}

/** The ids of the reply's session and of all sub-agents below it. Empty without a reply. */
function sessionIDsOf(reply: Reply | undefined): readonly string[] {
  return reply ? [reply.sessionID, ...reply.children.flatMap((child) => sessionIDsOf(child.reply))] : []
}
