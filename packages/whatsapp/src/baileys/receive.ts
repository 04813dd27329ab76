import type { Clock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { answerOnce, createInboundReceiver, PortError, pacerOf, waitForTurn } from '@reply/sink/channel'
import { WhatsAppError } from '../error.ts'
import { asWritten, clipped } from '../render.ts'
import type { BaileysEvents, BaileysSource } from './api.ts'
import { callSocket } from './call.ts'
import { connectionOf, quotableIn } from './connection.ts'
import { toBaileysPortError } from './failure.ts'
import { type BaileysReceived, placed, toFailed, toReceived } from './inbound.ts'
import { baileysLimits, textLength } from './limits.ts'

export interface BaileysReceiverOptions {
  readonly source: BaileysSource
  readonly onInbound: (inbound: Inbound) => unknown
  readonly onError: (error: WhatsAppError) => void
  readonly clock: Clock
  readonly handleMs: number
}

/** Handlers for a socket's events. They pass each message on once, in order, and never throw. */
export interface BaileysReceiver {
  upsert(payload: BaileysEvents['messages.upsert'], own: readonly string[]): void
  update(payload: BaileysEvents['messages.update']): void
  /** Resolves when all received messages are handled, at most `handleMs` each. */
  rest(): Promise<void>
}

/** Call timeout of an answer, in ms. */
const timeoutMs = 60_000

/** Unused in practice: linked devices have no buttons. */
const pressMs = 86_400_000

export function createBaileysReceiver(options: BaileysReceiverOptions): BaileysReceiver {
  const { source, onInbound, onError, clock, handleMs } = options
  const receive = createInboundReceiver({ onInbound, onFailure, clock, handleMs, pressMs })
  const connection = connectionOf(source)
  let last = Promise.resolve()
  return { upsert, update, rest: async () => await last }

  /** Skips `append`: older messages, or the account's own. */
  function upsert({ messages, type }: BaileysEvents['messages.upsert'], own: readonly string[]): void {
    if (type !== 'notify') return
    for (const message of messages) {
      const one = toReceived(message, own)
      if (one) last = last.then(async () => await receive(one.id, one.received && (await inboundOf(one.received))))
      else onError(new WhatsAppError('malformed', "Skipped a message that can't be read."))
    }
  }

  function update(updates: BaileysEvents['messages.update']): void {
    for (const one of updates) {
      const failed = toFailed(one)
      if (!failed) continue
      const { jid, id, reason } = failed
      const message = `Message ${id} in chat ${jid} was refused after it was sent: ${reason || 'no reason given'}`
      onError(new WhatsAppError('delivery', message, { messageRef: { id } }))
    }
  }

  async function inboundOf(given: BaileysReceived): Promise<Inbound> {
    const { quoted, ...received } = await placed(given, connection.identities)
    connection.remember(received.messageRef.id, quoted, clock.now())
    const { chat } = received
    /** Waits for its turn: the chat has one rate budget. */
    const say = async (text: string | undefined): Promise<void> => {
      if (!text) return
      const quoting = { quoted: quotableIn(chat.id, quoted) }
      const content = { text: clipped(asWritten(text), textLength), linkPreview: null }
      const pace = pacerOf(source, clock).chat(chat, baileysLimits)
      const about = { what: `answering a text in chat ${chat.id}`, timeoutMs, clock }
      try {
        await waitForTurn(pace, clock, () =>
          callSocket(async () => await connection.socket().sendMessage(chat.id, content, quoting), about),
        )
      } catch (error) {
        // The account's sinks share the budget, so they must wait too.
        if (error instanceof PortError && error.retryAfterMs !== undefined) pace.freeze(error.retryAfterMs, error.scope)
        throw error
      }
    }
    const fail = (error: unknown): void => {
      const cause = toBaileysPortError(error, `answering a text in chat ${chat.id}`)
      onError(new WhatsAppError('answer', cause.message, { cause }))
    }
    return { ...received, answer: answerOnce(say, fail) }
  }

  function onFailure({ type, chat }: Inbound, cause: unknown): void {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(new WhatsAppError('inbound', `A ${type} in chat ${chat.id} failed: ${words}`, { cause }))
  }
}
