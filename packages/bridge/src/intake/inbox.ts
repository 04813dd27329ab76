import type { Inbound } from '@reply/sink'
import { isTakenOver, toError } from '../error.ts'
import { rowName } from '../failed/failure-rows.ts'
import { placeKey } from '../place.ts'
import type { BridgeServices } from '../runs/services.ts'
import { toQueuedPrompt } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { withoutLastTry } from '../state/tried.ts'
import { StoreError, type Write } from '../store/store.ts'
import { chatMessageOf, texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'

type InboundText = Extract<Inbound, { type: 'text' }>

/** Messages that were received and not handled yet. Those of a place are handled in order. */
export interface Inbox {
  /** Returns the write that adds an entry. It conflicts if the inbox has it. */
  enqueue(entry: QueuedPrompt): Write
  /** Returns the write that removes an entry. It conflicts if the inbox lacks it. */
  dequeue(entry: QueuedPrompt): Write
  /** Returns the write that replaces an entry, which keeps its position. It conflicts if the inbox lacks it. */
  replace(entry: QueuedPrompt): Write
  /** Handles an entry in the background, after those before it. An urgent one waits for them only for a short time. */
  handleInOrder(entry: QueuedPrompt, text: InboundText, isUrgent?: boolean): void
  /** Starts to handle the entries of an earlier process. Does not wait until they are handled. */
  restoreEntries(): Promise<void>
  /** Resolves when no entry is being handled. */
  idle(): Promise<void>
  /** Returns groups of writes that undo the tries of entries that this process leaves to the next one, see `Tries.giveBack`. */
  undoTries(): readonly (readonly Write[])[]
}

const prefix = 'inbox/'
/** How long an urgent entry, such as `/stop`, waits for those before it, in ms. */
const urgentMs = 500

/**
 * Stores received messages, and handles those of a place in order. `handle` must remove the entry that it handles from the
 * inbox. `putAside` must do so with an entry that an earlier process left, if handling it ended the process each time.
 */
export function createInbox(
  {
    state,
    channels,
    tries,
    clock,
    onError,
  }: Pick<BridgeServices, 'state' | 'channels' | 'tries' | 'clock' | 'onError'>,
  handle: (entry: QueuedPrompt, text: InboundText) => Promise<void>,
  putAside: (entry: QueuedPrompt, row: { readonly key: string; readonly id: string }) => Promise<void>,
): Inbox {
  /** By place: resolves when its last entry is handled. */
  const lastHandled = new Map<string, Promise<void>>()
  /** By their names: the entries that this process received or began to handle, until they left the inbox. */
  const unfinished = new Map<string, QueuedPrompt>()
  const queueOf = (entry: QueuedPrompt): string => `${prefix}${placeKey(entry)}`
  const rowOf = (entry: QueuedPrompt) => ({ key: queueOf(entry), id: entry.id })
  return {
    enqueue: (entry) => ({ type: 'enqueue', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }),
    dequeue: (entry) => ({ type: 'dequeue', queue: queueOf(entry), id: entry.id }),
    replace,
    handleInOrder,
    restoreEntries,
    idle: async () => void (await Promise.all(lastHandled.values())),
    undoTries: () => [...unfinished.values()].map((entry) => [replace(withoutLastTry(entry))]),
  }

  /** Returns the write that replaces an entry. From then on, `undoTries` starts from that entry. */
  function replace(entry: QueuedPrompt): Write {
    const name = rowName(rowOf(entry))
    if (unfinished.has(name)) unfinished.set(name, entry)
    return { type: 'replace', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }
  }

  /** Handles a received entry in the background. It is not counted as a try: that would need a commit more. */
  function handleInOrder(entry: QueuedPrompt, text: InboundText, isUrgent = false): void {
    unfinished.set(rowName(rowOf(entry)), entry)
    runInOrder(entry, isUrgent, async () => await handleSafely(entry, text, async () => await handle(entry, text)))
  }

  /**
   * Runs a task for an entry in the background, after those before it in its place. An urgent one waits for them for at most
   * `urgentMs`, but later entries still wait for all of them.
   */
  function runInOrder(entry: QueuedPrompt, isUrgent: boolean, task: () => Promise<void>): void {
    const key = placeKey(entry)
    const before = lastHandled.get(key) ?? Promise.resolve()
    const turn = isUrgent ? waitAtMost(before, urgentMs, clock) : before
    const handled = Promise.all([before, turn.then(task)]).then(() => {})
    lastHandled.set(key, handled)
    void handled.then(() => {
      if (lastHandled.get(key) === handled) lastHandled.delete(key)
    })
  }

  /**
   * Calls `task`, which handles an entry. If that fails, removes the entry, reports the error, and answers the person. Retries
   * while the state can't be used. Leaves the entry to the next process if the bridge stops meanwhile or was taken over. Never
   * rejects, because an entry that can't be handled must not block those behind it.
   */
  async function handleSafely(entry: QueuedPrompt, text: InboundText, task: () => Promise<void>): Promise<void> {
    try {
      // Retried while the state can't be used, because that is not the fault of the message.
      await state.withRetries(task)
      unfinished.delete(rowName(rowOf(entry)))
    } catch (cause) {
      if (isTakenOver(cause) || cause instanceof StoreError) return
      onError(toError(cause))
      const removal = [{ type: 'dequeue', queue: queueOf(entry), id: entry.id }] as const
      // Removed before the answer, because a message that was reported as failed must not run after a restart.
      const isRemoved = await state.withRetries(() => state.commit(removal)).catch(onError)
      if (isRemoved === undefined) return
      unfinished.delete(rowName(rowOf(entry)))
      await text.answer(texts.failed(chatMessageOf(cause)))
    }
  }

  /** Starts to handle the entries of an earlier process. Does not wait until they are handled. */
  async function restoreEntries(): Promise<void> {
    for (const name of await state.queues(prefix)) {
      for (const { value } of await state.queue(name)) {
        const entry = toQueuedPrompt(value)
        runInOrder(entry, false, async () => await handleAgain(entry))
      }
    }
  }

  /** Handles an entry of an earlier process once the store has that try, or puts the entry aside. Never rejects. */
  async function handleAgain(stored: QueuedPrompt): Promise<void> {
    const row = rowOf(stored)
    const entry = tries.next(rowName(row), stored)
    const text = restoredMessage(stored)
    if (!entry) return await handleSafely(stored, text, async () => await putAside(stored, row))
    const handleCounted = async (): Promise<void> => {
      unfinished.set(rowName(row), entry)
      await handleSafely(entry, text, async () => await handle(entry, text))
    }
    // Rejects only while the bridge stops or was taken over.
    await tries.make(rowName(row), entry, [replace(entry)], handleCounted).catch(() => {})
  }

  /**
   * Returns the message of a stored entry. Its `answer` posts a new message as a reply, because the platform's own way to
   * respond has expired. It posts nothing without a text, and never rejects.
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
}
