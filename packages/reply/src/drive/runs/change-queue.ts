import type { Change } from '../../change.ts'
import type { Reduction } from '../../reduce/reduce.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import { diff } from '../../track/diff.ts'

export interface ChangeQueue {
  /**
   * Queues the step's changes, for the calls of `take` that wait and for later ones. Merges them into the queued ones
   * where it can.
   */
  push(step: Reduction): void
  /** Ends the queue. Queued changes can still be taken. */
  end(): void
  /** Drops what is queued and ends the queue. */
  close(): void
  /**
   * Waits for the next change and resolves with it, or with undefined at the end. Several calls may wait at once, and
   * each gets a different change.
   */
  take(): Promise<Change | undefined>
}

/** How many changes are queued one by one. Above it, a single diff replaces them. */
const maxQueued = 1024

/**
 * Creates the queue of the changes that one reader has not read yet. It begins with a diff from an empty reply to
 * `reply`, or empty without one. Bounded without loss: merges consecutive deltas of a part, replaces an older payload
 * with a newer one, and gives a reader that falls far behind a diff to the newest reply.
 */
export function createChangeQueue(sessionID: string, reply: Reply | undefined): ChangeQueue {
  /** The reply as of the end of the queue. */
  let known = emptyReply(sessionID)
  let newest = reply ?? known
  let queued: Change[] = []
  let nextIndex = 0
  /** Whether the changes from `known` to `newest` are not queued, and follow as a diff. */
  let needsDiff = newest !== known
  let isEnded = false
  let wakes: (() => void)[] = []
  return { push, end, close, take }

  /**
   * Queues the step's changes and wakes the waiting calls of `take`. Once too many are queued, only remembers the
   * newest reply for a diff.
   */
  function push(step: Reduction): void {
    newest = step.reply
    if (!needsDiff) {
      for (const change of step.changes) addOrMerge(change)
      known = newest
    }
    wakeReaders()
  }

  /** Lets all waiting calls of `take` look again. */
  function wakeReaders(): void {
    const woken = wakes
    wakes = []
    for (const wake of woken) wake()
  }

  /**
   * Queues a change, merged into the last one if possible. If more than `maxQueued` are queued then, later changes
   * become one diff.
   */
  function addOrMerge(change: Change): void {
    const last = queued.length - 1
    const before = last >= nextIndex ? queued[last] : undefined
    const merged = before && mergeChanges(before, change)
    if (merged) queued[last] = merged
    else queued.push(change)
    if (queued.length - nextIndex <= maxQueued) return
    // From here on the reader gets a diff, based on what it has received so far.
    needsDiff = true
  }

  /** Ends the queue. Queued changes can still be taken, and waiting calls of `take` resolve. */
  function end(): void {
    isEnded = true
    wakeReaders()
  }

  /** Drops what is queued and ends the queue. */
  function close(): void {
    queued = []
    nextIndex = 0
    needsDiff = false
    end()
  }

  /**
   * Waits for the next change and removes it from the queue. Behind the queued changes, gives those of the diff to the
   * newest reply if there were too many. Resolves with undefined at the end.
   */
  async function take(): Promise<Change | undefined> {
    for (;;) {
      const change = queued[nextIndex]
      if (change) {
        nextIndex += 1
        if (nextIndex === queued.length) {
          queued = []
          nextIndex = 0
        }
        return change
      }
      if (needsDiff) {
        needsDiff = false
        queued = [...diff(known, newest)]
        known = newest
        continue
      }
      if (isEnded) return undefined
      await new Promise<void>((resolve) => wakes.push(resolve))
    }
  }
}

/**
 * Merges two consecutive changes of the same thing: deltas of a part, progress of a tool within one status, and newer
 * states of a message, an ask, a sub-agent's part, the usage or the todos. Returns undefined if both must be delivered.
 */
function mergeChanges(before: Change, change: Change): Change | undefined {
  if (before.type === 'partChanged' && change.type === 'partChanged') {
    if (before.part.id !== change.part.id || before.part.messageID !== change.part.messageID) return undefined
    if (before.delta === undefined || change.delta === undefined) return undefined
    return { ...change, delta: before.delta + change.delta }
  }
  if (before.type === 'toolProgressed' && change.type === 'toolProgressed') {
    if (before.part.id !== change.part.id || change.changed === 'status') return undefined
    return { ...change, changed: before.changed }
  }
  if (before.type === 'messageUpdated' && change.type === 'messageUpdated') {
    return before.message.id === change.message.id ? change : undefined
  }
  if ((before.type === 'permissionAsked' || before.type === 'askChanged') && change.type === 'askChanged') {
    if (before.ask.requestID !== change.ask.requestID) return undefined
    if (before.type === 'askChanged') return change
    return change.ask.type === 'permission' ? { type: 'permissionAsked', ask: change.ask } : undefined
  }
  if (before.type === 'childChanged' && change.type === 'childChanged') {
    if (before.child.reply.sessionID !== change.child.reply.sessionID) return undefined
    const merged = mergeChanges(before.change, change.change)
    return merged && merged.type !== 'childChanged' ? { ...change, change: merged } : undefined
  }
  if (before.type !== change.type) return undefined
  return change.type === 'usageChanged' || change.type === 'todosChanged' ? change : undefined
}
