import type { Inbound } from '@reply/sink'
import { BridgeError, isTakenOver, toError } from '../error.ts'
import { rowName } from '../failed/failure-rows.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import type { BridgeServices } from '../runs/services.ts'
import { toQueuedPrompt } from '../state/decode.ts'
import { begun, type QueuedPrompt, wasSentBefore } from '../state/queued-prompt.ts'
import { isTried, withoutLastTry } from '../state/tried.ts'
import { StoreError, type Write } from '../store/store.ts'
import { chatMessageOf, texts } from '../texts.ts'
import { createPlaceLines } from './place-lines.ts'

type InboundText = Extract<Inbound, { type: 'text' }>

/** Handles an entry, and removes it from the inbox. */
export type HandleEntry = (entry: QueuedPrompt, text: InboundText) => Promise<void>

/**
 * Messages that were received and not handled yet. Any member may have stored them. Those of a place are handled one after the
 * other.
 */
export interface Inbox {
  /** Returns the write that removes an entry. It conflicts if the inbox lacks it. */
  dequeue(entry: QueuedPrompt): Write
  /** Returns the write that replaces an entry, which keeps its position. It conflicts if the inbox lacks it. */
  replace(entry: QueuedPrompt): Write
  /**
   * Keeps a message in memory that this process is about to store, so that it is handled with its own `answer`. Returns a
   * function that forgets it. Call that if it was not stored.
   */
  expect(entry: QueuedPrompt, text: InboundText): () => void
  /**
   * Reads the stored entries of the place with a key, by default of all places, and begins to handle each that is not being handled.
   * Does not wait until they are handled. Rejects like `State.queue`.
   */
  drain(key?: string): Promise<void>
  /** Returns when the oldest entry was received that is not handled yet, in ms since the epoch. Undefined if there is none. */
  oldestAt(): number | undefined
  /** Resolves when no entry is being handled. */
  idle(): Promise<void>
  /** Whether `undoTries` was called, so that no entry is begun any more. */
  isEnded(): boolean
  /** Returns the write with which an entry that was stored after `undoTries` counts as not begun. */
  leave(entry: QueuedPrompt): Write
  /**
   * Returns groups of writes that undo the tries of entries that this process leaves to the next one, see `Tries.giveBack`. No
   * entry is begun from then on.
   */
  undoTries(): readonly (readonly Write[])[]
}

/** The prefix of the names of the queues. */
export const inboxPrefix = 'inbox/'
/**
 * How long an entry of a channel that the config lacks waits for a process whose config has it, in ms: the others may be restarted
 * one after the other to add a channel. One that is older is handled, and so dropped: the channel was removed.
 */
const otherConfigMs = 3_600_000
/** How long an urgent entry, such as `/stop`, waits for those before it, in ms. */
const urgentMs = 500

/** Returns the name of the queue with the entries of a place. */
function queueOf(place: ChatPlace): string {
  return `${inboxPrefix}${placeKey(place)}`
}

/** Returns the write that adds an entry to the inbox. It conflicts if the inbox has it. */
export function enqueueInbox(entry: QueuedPrompt): Write {
  return { type: 'enqueue', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }
}

/** An entry that this process found in the store. */
interface Known {
  /** As the store has it. */
  readonly entry: QueuedPrompt
  /** `found`: the store does not count this process. `counted`: it does. `begun`: this process handles it, or has. */
  readonly phase: 'found' | 'counted' | 'begun'
}

/**
 * Handles stored messages, those of a place in the order in which they were sent as far as the platform tells it, and otherwise
 * in that of the queue.
 */
export function createInbox(options: {
  readonly services: Pick<BridgeServices, 'state' | 'channels' | 'tries' | 'clock' | 'onError'>
  readonly handle: HandleEntry
  /** Called when the turn of an entry comes that another member received. Returns how it is handled. */
  readonly admit: (entry: QueuedPrompt) => HandleEntry
  /** Called when an entry is found that another member received. */
  readonly onForwarded: (entry: QueuedPrompt) => void
  readonly isUrgent: (entry: QueuedPrompt) => boolean
  /** Removes an entry whose handling ended an earlier process each time. */
  readonly putAside: (entry: QueuedPrompt, row: { readonly key: string; readonly id: string }) => Promise<void>
}): Inbox {
  const { services, handle, admit, onForwarded, isUrgent, putAside } = options
  const { state, channels, tries, clock, onError } = services
  const lines = createPlaceLines({ isBefore: wasSentBefore, urgentMs, clock })
  /** By their names: messages that this process stores, or has stored and not handled. Repeats may arrive at the same time. */
  const expected = new Map<string, Set<InboundText>>()
  /** By their names: the entries that this process found, until they left the inbox. */
  const known = new Map<string, Known>()
  /** By queue: the read in progress, the names of the entries that left the inbox meanwhile, and the read after it. */
  const reads = new Map<string, { readonly done: Promise<void>; readonly left: Set<string>; next?: Promise<void> }>()
  /** The channels that the config lacks and whose entries wait. */
  const lacking = new Set<string>()
  let isEnded = false
  const rowOf = (entry: QueuedPrompt) => ({ key: queueOf(entry), id: entry.id })
  const nameOf = (entry: QueuedPrompt): string => rowName(rowOf(entry))
  const leave = (entry: QueuedPrompt): Write => replacement({ ...entry, isUnbegun: true })
  return { dequeue, replace, expect, drain, oldestAt, idle: lines.idle, isEnded: () => isEnded, leave, undoTries }

  /** Returns the write that removes an entry. */
  function dequeue(entry: QueuedPrompt): Write {
    return { type: 'dequeue', queue: queueOf(entry), id: entry.id }
  }

  /** Returns the write that replaces an entry. From then on, `undoTries` starts from that entry. */
  function replace(entry: QueuedPrompt): Write {
    const { phase } = known.get(nameOf(entry)) ?? {}
    if (phase) known.set(nameOf(entry), { entry, phase })
    return replacement(entry)
  }

  /** Returns the write that replaces an entry, and notes nothing. */
  function replacement(entry: QueuedPrompt): Write {
    return { type: 'replace', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }
  }

  /** Keeps the message until it was handled, or until the returned function is called. */
  function expect(entry: QueuedPrompt, text: InboundText): () => void {
    const name = nameOf(entry)
    const all = expected.get(name) ?? new Set()
    expected.set(name, all.add(text))
    return () => {
      all.delete(text)
      if (all.size === 0) expected.delete(name)
    }
  }

  /** Returns the least time of the entries that this process found. */
  function oldestAt(): number | undefined {
    let oldest: number | undefined
    for (const { entry } of known.values()) oldest = Math.min(entry.receivedAt, oldest ?? entry.receivedAt)
    return oldest
  }

  /** Reads the queues at the same time, because a store may read them together, and begins what is new. */
  async function drain(key?: string): Promise<void> {
    const queues = key === undefined ? await state.queues(inboxPrefix) : [`${inboxPrefix}${key}`]
    await Promise.all(queues.map(drainQueue))
  }

  /**
   * Reads a queue and begins what is new. A read in progress may miss what was stored since it began, so this waits for it and
   * reads once more.
   */
  async function drainQueue(queue: string): Promise<void> {
    const current = reads.get(queue)
    if (current) {
      current.next ??= current.done.catch(() => {}).then(async () => await drainQueue(queue))
      return await current.next
    }
    const left = new Set<string>()
    const done = beginNew(queue, left)
    reads.set(queue, { done, left })
    await done
  }

  /** Reads a queue, and begins the entries that are not known. `left` are those that were removed since the read began. */
  async function beginNew(queue: string, left: ReadonlySet<string>): Promise<void> {
    try {
      const stored = (await state.queue(queue)).map(({ value }) => toQueuedPrompt(value))
      if (!isEnded) begin(stored.filter((entry) => !known.has(nameOf(entry)) && !isForOtherConfig(entry)))
    } finally {
      reads.delete(queue)
      for (const name of left) known.delete(name)
    }
  }

  /** Whether an entry is left to a process whose config has its channel. Reports the first one of a channel. */
  function isForOtherConfig({ channel, receivedAt }: QueuedPrompt): boolean {
    if (channels.has(channel) || clock.now() - receivedAt >= otherConfigMs) return false
    if (!lacking.has(channel))
      onError(
        new BridgeError(
          'channel',
          `Messages of the channel "${channel}", which this config lacks, wait for a bridge that has it. Restart this one with the same config as the others.`,
        ),
      )
    lacking.add(channel)
    return true
  }

  /** Adds entries to the line of their place, with the way in which each is handled. */
  function begin(entries: readonly QueuedPrompt[]): void {
    const isCounted = countForwarded(entries.filter(({ isUnbegun }) => isUnbegun))
    for (const entry of entries) {
      const name = nameOf(entry)
      const [text] = expected.get(name) ?? []
      const isReceivedHere = text !== undefined && entry.tries === undefined && !entry.isUnbegun
      // What this process received is not counted as a try, because that would need a commit more.
      known.set(name, { entry, phase: isReceivedHere ? 'counted' : 'found' })
      if (entry.isUnbegun) onForwarded(entry)
      lines.add(placeKey(entry), {
        item: entry,
        isUrgent: isUrgent(entry) && !isTried(entry),
        run: async () => {
          if (isEnded) return
          if (entry.isUnbegun) await handleForwarded(entry, isCounted)
          else if (isReceivedHere) await handleSafely(entry, text, handle)
          else await handleAgain(entry)
        },
      })
    }
  }

  /**
   * Stores in one commit that this process begins to handle entries that none has begun. Returns a function that resolves with
   * whether that is stored for one of them: not if another one conflicts, for which each is then stored by itself.
   */
  function countForwarded(entries: readonly QueuedPrompt[]): (entry: QueuedPrompt) => Promise<boolean> {
    if (entries.length === 0) return async () => false
    const commit = async (some: readonly QueuedPrompt[]): Promise<boolean> => {
      const isDone = await state.withRetries(() => state.commit(some.map((entry) => replacement(begun(entry)))))
      if (isDone) for (const entry of some) known.set(nameOf(entry), { entry: begun(entry), phase: 'counted' })
      return isDone
    }
    const all = commit(entries)
    all.catch(() => {})
    return async (entry) => (await all) || (entries.length > 1 && (await commit([entry])))
  }

  /** Handles an entry that another member received, once the store counts this try. Leaves it to the next process if it can't. */
  async function handleForwarded(
    entry: QueuedPrompt,
    isCounted: (entry: QueuedPrompt) => Promise<boolean>,
  ): Promise<void> {
    const counted = await isCounted(entry).catch(() => undefined)
    if (counted === undefined) return
    if (!counted) return forget(entry)
    await handleSafely(begun(entry), restoredMessage(entry), admit(begun(entry)))
  }

  /**
   * Handles an entry. If that fails, removes the entry, reports the error, and answers the person. Retries while the state can't
   * be used. Leaves the entry to the next process if the bridge stops meanwhile or was taken over. Never rejects, because an
   * entry that can't be handled must not block those behind it.
   */
  async function handleSafely(
    entry: QueuedPrompt,
    text: InboundText,
    handleIt: HandleEntry,
    phase: Known['phase'] = 'begun',
  ): Promise<void> {
    if (isEnded) return
    known.set(nameOf(entry), { entry, phase })
    try {
      // Retried while the state can't be used, because that is not the fault of the message.
      await state.withRetries(() => handleIt(entry, text))
      forget(entry)
    } catch (cause) {
      if (isTakenOver(cause) || cause instanceof StoreError) return
      onError(toError(cause))
      const removal = [{ type: 'dequeue', queue: queueOf(entry), id: entry.id }] as const
      // Removed before the answer, because a message that was reported as failed must not run after a restart.
      const isRemoved = await state.withRetries(() => state.commit(removal)).catch(onError)
      if (isRemoved === undefined) return
      forget(entry)
      await text.answer(texts.failed(chatMessageOf(cause)))
    }
  }

  /** Forgets an entry that left the inbox. A read that began before that may still find it, so then once that read is over. */
  function forget(entry: QueuedPrompt): void {
    const name = nameOf(entry)
    expected.delete(name)
    const read = reads.get(queueOf(entry))
    if (read) read.left.add(name)
    else known.delete(name)
  }

  /** Handles an entry of an earlier process once the store has that try, or puts the entry aside. Never rejects. */
  async function handleAgain(stored: QueuedPrompt): Promise<void> {
    const row = rowOf(stored)
    const entry = tries.next(rowName(row), stored)
    const text = restoredMessage(stored)
    if (!entry) return await handleSafely(stored, text, async () => await putAside(stored, row), 'found')
    const handleCounted = async (): Promise<void> => await handleSafely(entry, text, handle)
    // Rejects only while the bridge stops or was taken over.
    await tries.make(rowName(row), [replacement(entry)], handleCounted).catch(() => {})
  }

  /**
   * Returns the message of a stored entry. Its `answer` posts a new message as a reply, because the platform's own way to
   * respond has expired, or only another member has it. It posts nothing without a text, and never rejects.
   */
  function restoredMessage(entry: QueuedPrompt): InboundText {
    const { chat, actor, text, messageRef, replyTo, isForwarded, isCommand, files } = entry
    return {
      type: 'text',
      chat,
      actor,
      text,
      messageRef,
      replyTo,
      isForwarded,
      isCommand,
      files,
      answer: async (answerText) => {
        if (answerText) await channels.tryPost(entry, { text: answerText, replyTo: messageRef })
      },
    }
  }

  /** Ends the inbox. One more process must not count for an entry that this one leaves, and one that waits was not begun. */
  function undoTries(): readonly (readonly Write[])[] {
    isEnded = true
    return [...known.values()].flatMap(({ entry, phase }) => {
      if (phase === 'found') return []
      return [[phase === 'begun' ? replacement(withoutLastTry(entry)) : leave(entry)]]
    })
  }
}
