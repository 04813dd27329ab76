import type { Inbound } from '@reply/sink'
import { createInboundReceiver } from '@reply/sink/channel'
import { clip, type InboundOptions, wallTime } from '@reply/sink/internal'
import { toBaileysPortError, WhatsAppError } from '../error.ts'
import { baileysLimits, textLength } from '../limits.ts'
import { asWritten } from '../render.ts'
import { type BaileysEvents, type BaileysSource, quotableIn } from './api.ts'
import { type BaileysReceived, isWrapped, placed, toFailed, toReceived, type Unwrap } from './inbound.ts'
import { connectionOf } from './socket.ts'

export interface BaileysReceiverOptions extends InboundOptions {
  readonly source: BaileysSource
  readonly maxAgeMs: number
  readonly normalizeMessageContent: Unwrap | undefined
}

/**
 * Handlers for a socket's events. They pass each message on once and in order, a chat never waiting for another, and
 * never throw.
 */
export interface BaileysReceiver {
  upsert(payload: BaileysEvents['messages.upsert'], own: readonly string[]): void
  update(payload: BaileysEvents['messages.update']): void
  /** Resolves when all received messages are handled, at most `handleMs` each. */
  rest(): Promise<void>
}

const unwrapped: Unwrap = (content) => content ?? undefined

/** Unused in practice: linked devices have no buttons. */
const pressMs = 86_400_000

export function createBaileysReceiver(options: BaileysReceiverOptions): BaileysReceiver {
  const { source, onError, clock, maxAgeMs } = options
  const unwrapping = createUnwrap(options)
  const receiver = createInboundReceiver({
    ...options,
    client: source,
    account: 'baileys',
    toPortError: toBaileysPortError,
    Failure: WhatsAppError,
    pressMs,
    limitsOf: () => baileysLimits,
  })
  const connection = connectionOf(source)
  let last = Promise.resolve()
  return { upsert, update, rest }

  async function rest(): Promise<void> {
    await last
    await receiver.settled()
  }

  function upsert({ messages, type }: BaileysEvents['messages.upsert'], own: readonly string[]): void {
    for (const message of messages)
      last = last.then(async () => await take(message, own, type === 'append').catch(skip))
  }

  /** The host's `normalizeMessageContent` may throw; the messages after this one are still handled. */
  function skip(cause: unknown): void {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(new WhatsAppError('malformed', `Skipped a message that can't be read: ${words}`, { cause }))
  }

  /** Messages from while the socket was away come late, as `append` like the account's own. */
  async function take(message: unknown, own: readonly string[], isLate: boolean): Promise<void> {
    const unwrap = isWrapped(message) ? await unwrapping() : unwrapped
    const one = toReceived(message, { own, unwrap })
    if (!one) return onError(new WhatsAppError('malformed', "Skipped a message that can't be read."))
    const { id, received } = one
    const isStale = wallTime(clock) - (received?.messageRef.postedAt ?? 0) > maxAgeMs
    if (received && isLate && isStale) {
      const what = `Skipped a message in chat ${received.jid}, written while the socket was away`
      return onError(new WhatsAppError('stale', `${what}: it is older than ${maxAgeMs} ms.`))
    }
    // Two accounts may get the same message of a group.
    await begun((made) =>
      receiver.receive(`${own[0] ?? ''}/${id}`, async () => {
        const inbound = received && (await inboundOf(received))
        made()
        return inbound
      }),
    )
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
      const content = { text: clip(asWritten(text), textLength), linkPreview: null }
      return await connection.socket().sendMessage(chat.id, content, { quoted: quotableIn(chat.id, quoted) })
    }
    return { ...received, answer: receiver.answerFor(received, { send: say, isMessage: true }) }
  }
}

/** Resolves when the handler has its message: what comes later is handed over after it, but doesn't wait for its end. */
async function begun(receive: (made: () => void) => Promise<unknown> | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const handled = receive(resolve)
    void Promise.resolve(handled).then(() => resolve(), reject)
  })
}

/** Baileys' function, imported on first use: hosts of the Cloud API don't have the package. Never rejects. */
function createUnwrap({
  normalizeMessageContent: given,
  onError,
}: Pick<BaileysReceiverOptions, 'normalizeMessageContent' | 'onError'>): () => Promise<Unwrap> {
  let imported: Promise<Unwrap> | undefined
  return async () => {
    if (given) return given
    imported ??= load()
    return await imported
  }

  async function load(): Promise<Unwrap> {
    try {
      const { normalizeMessageContent } = await import('baileys')
      return normalizeMessageContent
    } catch (cause) {
      const what = "Baileys can't be imported, so messages in wrappers, such as disappearing ones, are skipped."
      onError(new WhatsAppError('malformed', `${what} Pass normalizeMessageContent to the channel.`, { cause }))
      return (content) => content ?? undefined
    }
  }
}
