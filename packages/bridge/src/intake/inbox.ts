import type { Inbound } from '@reply/sink'
import { isTakenOver, toError } from '../error.ts'
import { placeKey } from '../place.ts'
import type { BridgeServices } from '../runs/services.ts'
import { toQueuedPrompt } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
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
}

const prefix = 'inbox/'
/** How long an urgent entry, such as `/stop`, waits for those before it, in ms. */
const urgentMs = 500

/**
 * Stores received messages, and handles those of a place in order. `handle` must remove the entry that it handles from the
 * inbox.
 */
export function createInbox(
  { state, channels, clock, onError }: Pick<BridgeServices, 'state' | 'channels' | 'clock' | 'onError'>,
  handle: (entry: QueuedPrompt, text: InboundText) => Promise<void>,
): Inbox {
  /** By place: resolves when its last entry is handled. */
  const lastHandled = new Map<string, Promise<void>>()
  const queueOf = (entry: QueuedPrompt): string => `${prefix}${placeKey(entry)}`
  return {
    enqueue: (entry) => ({ type: 'enqueue', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }),
    dequeue: (entry) => ({ type: 'dequeue', queue: queueOf(entry), id: entry.id }),
    replace: (entry) => ({ type: 'replace', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }),
    handleInOrder,
    restoreEntries,
    idle: async () => void (await Promise.all(lastHandled.values())),
  }

  /**
   * Handles an entry in the background, after those before it in its place. An urgent one waits for them for at most
   * `urgentMs`, but later entries still wait for all of them.
   */
  function handleInOrder(entry: QueuedPrompt, text: InboundText, isUrgent = false): void {
    const key = placeKey(entry)
    const before = lastHandled.get(key) ?? Promise.resolve()
    const turn = isUrgent ? waitAtMost(before, urgentMs, clock) : before
    const handled = Promise.all([before, turn.then(async () => await handleSafely(entry, text))]).then(() => {})
    lastHandled.set(key, handled)
    void handled.then(() => {
      if (lastHandled.get(key) === handled) lastHandled.delete(key)
    })
  }

  /**
   * Handles an entry. If that fails, removes it, reports the error, and answers the person. Retries while the state can't be
   * used. Leaves the entry to the next process if the bridge stops meanwhile or was taken over. Never rejects, because an entry
   * that can't be handled must not block those behind it.
   */
  async function handleSafely(entry: QueuedPrompt, text: InboundText): Promise<void> {
    try {
      // Retried while the state can't be used, because that is not the fault of the message.
      await state.withRetries(() => handle(entry, text))
    } catch (cause) {
      if (isTakenOver(cause) || cause instanceof StoreError) return
      onError(toError(cause))
      const removal = [{ type: 'dequeue', queue: queueOf(entry), id: entry.id }] as const
      // Removed before the answer, because a message that was reported as failed must not run after a restart.
      const isRemoved = await state.withRetries(() => state.commit(removal)).catch(onError)
      if (isRemoved !== undefined) await text.answer(texts.failed(chatMessageOf(cause)))
    }
  }

  /** Starts to handle the entries of an earlier process, and marks each as tried. Does not wait until they are handled. */
  async function restoreEntries(): Promise<void> {
    for (const name of await state.queues(prefix)) {
      for (const { value } of await state.queue(name)) {
        const entry = { ...toQueuedPrompt(value), isTried: true as const }
        handleInOrder(entry, restoredMessage(entry))
      }
    }
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
