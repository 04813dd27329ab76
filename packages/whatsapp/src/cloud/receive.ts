import type { AnswerInbound, Inbound } from '@reply/sink'
import { createInboundReceiver } from '@reply/sink/channel'
import { clip, type InboundOptions, type InboundPlace, wallTime } from '@reply/sink/internal'
import { cureOf, toCloudPortError, WhatsAppError } from '../error.ts'
import { cloudLimits, textLength } from '../limits.ts'
import { asWritten } from '../render.ts'
import type { CloudClient } from './api.ts'
import { reportsOf } from './api.ts'
import type { CloudEvent, CloudReceived } from './inbound.ts'
import { recipientOf } from './port.ts'

export interface CloudReceiverOptions extends InboundOptions {
  readonly client: CloudClient
  readonly maxAgeMs: number
}

/**
 * Passes a webhook's events to the host, once and in order, a chat never waiting for another. Resolves when the
 * host is done or `handleMs` is over, with false if it did not take all of them. Never rejects.
 */
export type ReceiveCloud = (events: readonly CloudEvent[]) => Promise<boolean>

/** Time after a person's message in which WhatsApp takes messages for them. */
const windowMs = 86_400_000

function saysOf(what: string, { code, text }: { readonly code: number; readonly text: string }): string {
  return [`${what} ${code} ${text}`, cureOf(code)].filter(Boolean).join('. ')
}

/** A press is an ordinary message, without a deadline for its answer. */
const pressMs = 86_400_000

export function createCloudReceiver(options: CloudReceiverOptions): ReceiveCloud {
  const { client, onError, clock, maxAgeMs } = options
  const reports = reportsOf(client)
  reports.listen()
  const { receive, answerFor: answering } = createInboundReceiver({
    ...options,
    account: `whatsapp/${client.phoneNumberId}`,
    toPortError: toCloudPortError,
    Failure: WhatsAppError,
    pressMs,
    limitsOf: () => cloudLimits,
  })
  return async (events) => {
    return (await Promise.all(events.map(take))).every(Boolean)
  }

  async function take(event: CloudEvent): Promise<boolean> {
    if (event.type !== 'message') {
      if (event.type === 'status') reports.status(event.status)
      report(event)
      return true
    }
    const { id, at, people, received } = event
    const ageMs = wallTime(clock) - at
    // Also a picture or a sticker opens the chat.
    if (ageMs < windowMs) for (const person of people) reports.heard(person, at)
    if (received && ageMs > maxAgeMs) {
      const what = `Skipped a message from ${received.actor.id} that arrived ${ageMs} ms late.`
      onError(new WhatsAppError('stale', what))
      return true
    }
    return (await receive(id, () => received && inboundOf(received))) !== 'not-taken'
  }

  function report(event: Exclude<CloudEvent, { readonly type: 'message' }>): void {
    switch (event.type) {
      case 'failed':
        return onError(new WhatsAppError('delivery', saysOf('The Cloud API reports', event)))
      case 'status': {
        const { failure, ref, people } = event.status
        if (!failure) return
        const what = `Message ${ref.id} to ${people[0] ?? 'an unknown number'} was not delivered:`
        return onError(new WhatsAppError('delivery', saysOf(what, failure), { messageRef: { id: ref.id } }))
      }
      case 'malformed':
        return onError(new WhatsAppError('malformed', "Skipped webhook content that can't be read."))
      default:
        return event satisfies never
    }
  }

  /** A press is a message as well, so its answer is a message that replies to it. */
  function inboundOf(received: CloudReceived): Inbound {
    if (received.type === 'text') return { ...received, answer: replying(received, received.messageRef.id) }
    const { said, ...press } = received
    return { ...press, answer: replying(press, said) }
  }

  function replying(about: InboundPlace, message_id: string): AnswerInbound {
    const say = async (text: string, signal: AbortSignal): Promise<unknown> => {
      const body = clip(asWritten(text), textLength)
      const message = {
        ...recipientOf(about.chat.id),
        context: { message_id },
        type: 'text',
        text: { body, preview_url: false },
      }
      return await client.messages(message, signal)
    }
    return answering(about, { send: say, isMessage: true })
  }
}
