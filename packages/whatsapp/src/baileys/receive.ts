import type { Clock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { createInboundReceiver } from '@reply/sink/channel'
import { WhatsAppError } from '../error.ts'
import { asWritten, clipped } from '../render.ts'
import type { BaileysEvents, BaileysSource } from './api.ts'
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

/** Unused in practice: linked devices have no buttons. */
const pressMs = 86_400_000

export function createBaileysReceiver(options: BaileysReceiverOptions): BaileysReceiver {
  const { source, onError, clock } = options
  const { receive, answering } = createInboundReceiver({
    ...{ ...options, client: source, toPortError: toBaileysPortError, Failure: WhatsAppError, pressMs },
    limitsOf: () => baileysLimits,
  })
  const connection = connectionOf(source)
  let last = Promise.resolve()
  return { upsert, update, rest: async () => await last }

  /** Skips `append`: older messages, or the account's own. */
  function upsert({ messages, type }: BaileysEvents['messages.upsert'], own: readonly string[]): void {
    if (type !== 'notify') return
    for (const message of messages) {
      const one = toReceived(message, own)
      if (one)
        last = last.then(async () => await receive(one.id, async () => one.received && (await inboundOf(one.received))))
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
    const say = async (text: string): Promise<unknown> => {
      const content = { text: clipped(asWritten(text), textLength), linkPreview: null }
      return await connection.socket().sendMessage(chat.id, content, { quoted: quotableIn(chat.id, quoted) })
    }
    return { ...received, answer: answering(received, { say, isMessage: true }) }
  }
}
