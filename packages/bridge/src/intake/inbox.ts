import type { Inbound } from '@reply/sink'
import { isTakenOver } from '../error.ts'
import { placeKey } from '../place.ts'
import type { BridgeContext } from '../runs/context.ts'
import { toQueuedPrompt } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { StoreError, type Write } from '../store/store.ts'
import { chatMessageOf, texts } from '../texts.ts'
import { atMost } from '../timers.ts'

type Text = Extract<Inbound, { type: 'text' }>

/** What was heard and is not handled yet, in order for each place. */
export interface Inbox {
  enqueue(entry: QueuedPrompt): Write
  dequeue(entry: QueuedPrompt): Write
  replace(entry: QueuedPrompt): Write
  /** Handles an entry when those before it are; one that is urgent waits for them only for a short time. */
  kick(entry: QueuedPrompt, text: Text, isUrgent?: boolean): void
  /** Handles what an earlier process left. */
  restore(): Promise<void>
  rest(): Promise<void>
}

export interface InboxOptions {
  readonly context: Pick<BridgeContext, 'state' | 'channels' | 'clock' | 'onError'>
  /** Handles an entry and takes it from the inbox. */
  readonly handle: (entry: QueuedPrompt, text: Text) => Promise<void>
}

const prefix = 'inbox/'
/** How long a stop waits for the messages before it, in ms. */
const urgentMs = 500

export function createInbox({ context, handle }: InboxOptions): Inbox {
  const { state, channels, clock, onError } = context
  /** The last entry of each place that is being handled. */
  const lanes = new Map<string, Promise<void>>()
  const queueOf = (entry: QueuedPrompt): string => `${prefix}${placeKey(entry)}`
  return {
    enqueue: (entry) => ({ type: 'enqueue', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }),
    dequeue: (entry) => ({ type: 'dequeue', queue: queueOf(entry), id: entry.id }),
    replace: (entry) => ({ type: 'replace', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }),
    kick,
    restore,
    rest: async () => void (await Promise.all(lanes.values())),
  }

  function kick(entry: QueuedPrompt, text: Text, isUrgent = false): void {
    const key = placeKey(entry)
    const before = lanes.get(key) ?? Promise.resolve()
    const turn = isUrgent ? atMost(before, urgentMs, clock) : before
    const lane = Promise.all([before, turn.then(async () => await handleSafely(entry, text))]).then(() => {})
    lanes.set(key, lane)
    void lane.then(() => {
      if (lanes.get(key) === lane) lanes.delete(key)
    })
  }

  /** One that can't be handled must not hold up those behind it. */
  async function handleSafely(entry: QueuedPrompt, text: Text): Promise<void> {
    try {
      // A state that can't be read or written is not the message's fault.
      await state.persist(() => handle(entry, text))
    } catch (cause) {
      if (isTakenOver(cause) || cause instanceof StoreError) return
      onError(cause instanceof Error ? cause : new Error(String(cause)))
      const taken = [{ type: 'dequeue', queue: queueOf(entry), id: entry.id }] as const
      // First, as what is told to have failed must not run after a restart.
      const isTaken = await state.persist(() => state.commit(taken)).catch(onError)
      if (isTaken !== undefined) await text.answer(texts.failed(chatMessageOf(cause)))
    }
  }

  async function restore(): Promise<void> {
    for (const name of await state.queues(prefix)) {
      for (const { value } of await state.queue(name)) {
        const entry = { ...toQueuedPrompt(value), isTried: true as const }
        kick(entry, heardAgain(entry))
      }
    }
  }

  /** The message as it was heard. The answer is a new message, as the platform's own way is gone. */
  function heardAgain(entry: QueuedPrompt): Text {
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
      answer: async (said) => {
        if (said) await channels.notify(entry, { text: said, replyTo: messageRef })
      },
    }
  }
}
