import { createSink, type Policy, type Sink } from '@reply/sink'
import type { ChannelSinkOptions } from '@reply/sink/channel'
import { pacerOf, systemClock } from '@reply/sink/internal'
import { renderWhatsApp } from '../render.ts'
import type { CloudClient } from './api.ts'
import { createCloudPort } from './port.ts'

/** Options of `whatsappSink`. */
export interface WhatsAppSinkOptions extends ChannelSinkOptions {
  /** `createCloudClient({ token, phoneNumberId })`. Sinks on one client share its rate limits. */
  readonly client: CloudClient
  /** The person to write to: a number with its country code, or a business-scoped user id. */
  readonly to: string
  /** The prompt's `wamid`: the reply quotes it, and typing is shown. */
  readonly replyTo?: string | undefined
  /**
   * Default: tool notices at most every 60 s, a heartbeat after 3 min, code of more than 2,000 UTF-16 units as a file.
   */
  readonly policy?: Partial<Policy> | undefined
}

/** Each message notifies, and the limit is one in 6 s, so progress notices are rare. */
export const cloudPolicy: Partial<Policy> = { toolThrottleMs: 60_000, heartbeatMs: 180_000, documentLength: 2000 }

/** Shows replies to one person through the Cloud API. Throws `SinkError` of type `invalid` for an unusable policy. */
export function whatsappSink(options: WhatsAppSinkOptions): Sink {
  const { client, to, replyTo, policy, texts, timeoutMs, clock = systemClock } = options
  return createSink({
    ...options,
    port: createCloudPort({ client, to, replyTo, timeoutMs, clock, listLabel: texts?.fillIn }),
    render: renderWhatsApp,
    chat: { id: to, kind: 'private' },
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(client, clock),
    policy: { ...cloudPolicy, ...policy },
  })
}
