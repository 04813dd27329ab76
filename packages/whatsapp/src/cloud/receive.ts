import type { Clock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { answerOnce, createInboundReceiver, pacerOf, waitForTurn } from '@reply/sink/channel'
import { WhatsAppError } from '../error.ts'
import { asWritten, clipped } from '../render.ts'
import type { CloudClient } from './api.ts'
import { cureOf, toCloudPortError } from './failure.ts'
import type { CloudEvent, CloudReceived } from './inbound.ts'
import { cloudLimits, textLength } from './limits.ts'
import { recipientOf } from './port.ts'

export interface CloudReceiverOptions {
  readonly client: CloudClient
  readonly onInbound: (inbound: Inbound) => unknown
  readonly onError: (error: WhatsAppError) => void
  readonly clock: Clock
  readonly handleMs: number
  readonly maxAgeMs: number
  readonly timeoutMs: number
}

/**
 * Passes a webhook's events to the host, in order and once. Resolves when the host is done or `handleMs` is over. Never
 * rejects.
 */
export type ReceiveCloud = (events: readonly CloudEvent[]) => Promise<void>

/** A press is an ordinary message, without a deadline for its answer. */
const pressMs = 86_400_000

export function createCloudReceiver(options: CloudReceiverOptions): ReceiveCloud {
  const { onInbound, onError, clock, handleMs, maxAgeMs } = options
  const receive = createInboundReceiver({ onInbound, onFailure, clock, handleMs, pressMs })
  return async (events) => {
    for (const event of events) await take(event)
  }

  async function take(event: CloudEvent): Promise<void> {
    switch (event.type) {
      case 'message': {
        const ageMs = clock.now() - event.at
        if (!event.received || ageMs <= maxAgeMs)
          return await receive(event.id, event.received && inboundOf(event.received, options))
        return onError(
          new WhatsAppError(
            'stale',
            `Skipped a message from ${event.received.actor.id} that arrived ${ageMs} ms late.`,
          ),
        )
      }
      case 'failed': {
        const { id, to, code, text } = event
        const what =
          id === undefined
            ? 'The Cloud API reports'
            : `Message ${id} to ${to ?? 'an unknown number'} was not delivered:`
        const message = [`${what} ${code} ${text}`, cureOf(code)].filter(Boolean).join('. ')
        return onError(new WhatsAppError('delivery', message, id === undefined ? {} : { messageRef: { id } }))
      }
      case 'malformed':
        return onError(new WhatsAppError('malformed', "Skipped webhook content that can't be read."))
      default:
        return event satisfies never
    }
  }

  function onFailure({ type, chat }: Inbound, cause: unknown): void {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(new WhatsAppError('inbound', `A ${type} in chat ${chat.id} failed: ${words}`, { cause }))
  }
}

function inboundOf(received: CloudReceived, options: CloudReceiverOptions): Inbound {
  const { chat, type } = received
  if (received.type === 'text')
    return { ...received, answer: answerOnce((text) => say(received.messageRef.id, text), fail) }
  const { said, ...press } = received
  return { ...press, answer: answerOnce((text) => say(said, text), fail) }

  /** Waits for its turn: the chat has one rate budget. */
  async function say(messageId: string, text: string | undefined): Promise<void> {
    if (!text) return
    const { client, clock, timeoutMs } = options
    const body = clipped(asWritten(text), textLength)
    const message = { ...recipientOf(chat.id), context: { message_id: messageId }, type: 'text', text: { body } }
    const pace = pacerOf(client, clock).chat(chat, cloudLimits)
    try {
      await waitForTurn(pace, clock, async () => {
        const abort = new AbortController()
        const stop = clock.after(timeoutMs, () => abort.abort())
        await client.messages(message, abort.signal).finally(stop)
      })
    } catch (error) {
      const { type: kind, retryAfterMs, scope } = toCloudPortError(error, 'answer')
      // The chat's sinks share the budget, so they must wait too.
      if (kind === 'rate-limited' && retryAfterMs !== undefined) pace.freeze(retryAfterMs, scope)
      throw error
    }
  }

  function fail(error: unknown): void {
    const cause = toCloudPortError(error, `answering a ${type} in chat ${chat.id}`)
    options.onError(new WhatsAppError('answer', cause.message, { cause }))
  }
}
