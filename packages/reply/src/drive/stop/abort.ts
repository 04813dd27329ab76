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
  /** The post of a prompt. The abort waits for it, because an abort that overtakes it would leave its run going. */
  readonly after?: Promise<unknown> | undefined
}

/** The outcome of an abort. `error` tells why the server could not be stopped. */
export type Aborted =
  /** `parked`: ids of prompts that the session keeps until its next prompt. Undefined if they could not be listed. */
  | { readonly type: 'stopped'; readonly parked?: readonly string[] | undefined }
  | { readonly type: 'not-stopped'; readonly error?: ReplyError | undefined }
  | { readonly type: 'gone'; readonly error: ReplyError }

export interface Aborting {
  /**
   * Ends all work in a session and below it, even if its reply isn't known. Concurrent calls for one session share one
   * abort. Never rejects.
   */
  abort(sessionID: string, request?: AbortRequest): Promise<Aborted>
}

const maxTries = 5

/** The limits for listing pending asks before the abort is sent, and for the whole abort, in ms. */
const listMs = 5000
const wholeMs = 30_000

/** How often a session without a reply is polled, in ms. */
const lookMs = 100

/**
 * Ends a run on the server. At once, no ask of its tree can be answered any more, and the known asks are rejected: an
 * abort leaves permissions pending, and approving one later would still run the command. Then walks the tree, rejects
 * its pending asks, aborts the run and checks again, and repeats that while anything is running. The reply settles as
 * `aborted` only if the server was seen idle, otherwise as `lost` with the reason `not-stopped`.
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
  const underWay = new Map<string, Promise<Aborted>>()
  const wakes = new Map<() => void, string>()
  engine.onSessionChanged((sessionID) => {
    for (const [wake, id] of wakes) if (id === sessionID) wake()
  })
  return { abort }

  function abort(sessionID: string, request: AbortRequest = {}): Promise<Aborted> {
    const before = underWay.get(sessionID)
    if (before) return before
    const aborted = start(sessionID, request).finally(() => underWay.delete(sessionID))
    underWay.set(sessionID, aborted)
    return aborted
  }

  async function start(sessionID: string, { reason = 'requested', after }: AbortRequest): Promise<Aborted> {
    const stop = stopping.begin([sessionID, ...idsOf(known())])
    let tree: Tree | undefined
    let isOver = false
    let lastError: ReplyError | undefined
    mark()
    // Some agents must receive the abort before the asks that it ends.
    const mustReject = info.current().abortsAsks !== true
    const rejections = (mustReject ? (known()?.asks ?? []) : []).filter((ask) => ask.status === 'pending').map(reject)
    const aborted = (await within(clock, wholeMs, tryAll())) ?? { type: 'not-stopped', error: lastError }
    isOver = true
    stop.end(aborted.type !== 'not-stopped')
    finish(aborted)
    return aborted

    async function tryAll(): Promise<Aborted> {
      let busy: readonly string[] = []
      await within(clock, listMs, Promise.all(rejections))
      await after?.catch(() => {})
      for (let attempt = 1; attempt <= maxTries && !isOver; attempt++) {
        mark()
        try {
          const place = await find(sessionID)
          const found = tree ?? createTree(source, place, parentOf, stop.cover)
          tree = found
          // First, because a rejection ends the run and a queued prompt would begin.
          await within(clock, listMs, inbox.clear(place, found.found()).catch(report))
          if (mustReject) await within(clock, listMs, clear(place, found).catch(report))
          await Promise.all([source.abort(place), ...busy.map(async (id) => await end({ ...place, sessionID: id }))])
          await resting(place, found)
          const isClear = await within(clock, listMs, clear(place, found))
          busy = await atWork(place, found)
          const isIdle = busy.length === 0 && (info.current().canRead || isAtRest())
          if (isClear && isIdle && (hasBegun() || attempt === maxTries))
            return { type: 'stopped', parked: await within(clock, listMs, inbox.clear(place, found.found())) }
        } catch (error) {
          const reported = report(error)
          if (reported.type === 'gone') return { type: 'gone', error: reported }
          if (reported.type === 'closed') break
          await pauseUntil(() => false)
        }
      }
      return { type: 'not-stopped', error: lastError }
    }

    /** Ends a sub-agent's run. If its session was deleted, the run has ended. */
    async function end(place: SessionRef): Promise<void> {
      await source.abort(place).catch((error: unknown) => {
        if (!(error instanceof ReplyError && error.type === 'gone')) throw error
      })
    }

    /**
     * Rejects all asks that the server lists as pending in the tree, because the stream may not have reported the
     * newest. Returns whether all were rejected.
     */
    async function clear({ directory }: SessionRef, tree: Tree): Promise<boolean> {
      tree.add(idsOf(known()))
      const [{ asks: listed, isWhole }] = await Promise.all([source.asks(directory), tree.walk()])
      const isListed = (ask: Ask): boolean => listed.some((other) => other.requestID === ask.requestID)
      // If the server can't list all, adds those that the stream reported.
      const streamed = isWhole ? [] : (known()?.asks ?? []).filter((ask) => ask.status === 'pending' && !isListed(ask))
      const asks = [...listed, ...streamed]
      const held = await Promise.all(asks.map((ask) => tree.holds(ask.sessionID)))
      const rejected = await Promise.all(asks.filter((_, index) => held[index]).map(reject))
      return rejected.every((isRejected) => isRejected)
    }

    async function reject(ask: Ask): Promise<boolean> {
      stop.close(ask.requestID)
      try {
        await source.reject(ask)
        return true
      } catch (error) {
        // Rejecting one permission also rejects the session's others.
        if (error instanceof ReplyError && error.type === 'gone') return true
        report(error)
        return false
      }
    }

    /** The tree's sessions that are not idle. */
    async function atWork({ directory }: SessionRef, tree: Tree): Promise<readonly string[]> {
      const ids = [...(await source.working(directory)).keys()]
      const held = await Promise.all(ids.map((id) => tree.holds(id)))
      return ids.filter((_, index) => held[index])
    }

    /** Waits until the run is idle according to the stream, or until `graceMs` have passed. */
    async function resting(place: SessionRef, tree: Tree): Promise<void> {
      if (known()) return await pauseUntil(isAtRest)
      for (let waitedMs = 0; waitedMs < graceMs && !isOver; waitedMs += lookMs) {
        if ((await atWork(place, tree)).length === 0) return
        await pauseUntil(() => false, lookMs)
      }
    }

    function isAtRest(): boolean {
      const reply = known()
      if (!reply) return true
      // A reply of background sub-agents alone has no idle of its own.
      const isIdle = isOnlyOfBackgroundChildren(reply) || (engine.idleOf(sessionID) === 'reported' && isAtEnd(reply))
      return isIdle && !isAnyChildRunning(reply)
    }

    /** Whether the posted prompt has started. A server that was just started may take seconds. */
    function hasBegun(): boolean {
      const reply = known()
      return reply?.phase !== 'waiting' || reply.promptIDs.length > 0
    }

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
        wakes.set(wake, rootOf(sessionID)?.sessionID ?? sessionID)
      })
    }

    function mark(): void {
      const reply = known()
      if (!reply || reply.aborting) return
      engine.apply([{ type: 'abort-requested', sessionID, reason, at: clock.now() }])
    }

    /**
     * Parks the prompts that could not be withdrawn and settles the reply: as removed, as lost if the stop was not
     * confirmed, or as aborted. After a confirmed stop, background sub-agents are settled too, because they don't end
     * with the reply that started them.
     */
    function finish(aborted: Aborted): void {
      const { type } = aborted
      mark()
      const parked = type === 'stopped' ? (aborted.parked ?? []) : []
      inbox.park(parked)
      const reply = known()
      if (!reply) return
      const at = clock.now()
      if (type === 'gone') return engine.apply([{ type: 'session-removed', sessionID, at, by: 'rest' }])
      if (type === 'not-stopped')
        return engine.apply([{ type: 'settle', sessionID, at, by: 'lost', reason: 'not-stopped' }])
      const below = openChildIDs(reply).map((id): SettleEvent => ({ type: 'settle', sessionID: id, at, by: 'grace' }))
      engine.apply([...below, { type: 'settle', sessionID, at, by: 'grace', parkedPromptIDs: parked }])
    }

    /** The session's open reply, as reported by the stream. */
    function known(): Reply | undefined {
      const root = rootOf(sessionID)
      const reply = root && findReply(root, sessionID)
      return reply?.phase === 'settled' ? undefined : reply
    }

    function report(error: unknown): ReplyError {
      lastError =
        error instanceof ReplyError
          ? error
          : new ReplyError('unreachable', `Session ${sessionID} could not be aborted.`, { cause: error })
      if (lastError.type !== 'gone') onError(lastError)
      return lastError
    }
  }

  function rootOf(sessionID: string): Reply | undefined {
    return engine.openReplies().find((reply) => findReply(reply, sessionID) !== undefined)
  }
}

function idsOf(reply: Reply | undefined): readonly string[] {
  return reply ? [reply.sessionID, ...reply.children.flatMap((child) => idsOf(child.reply))] : []
}
