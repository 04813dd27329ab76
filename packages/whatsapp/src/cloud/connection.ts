import type { Clock } from '@reply/core'
import type { InboundFile } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createNotes,
  downloadFile,
  PortError,
  sinkOptionsOf,
} from '@reply/sink/channel'
import {
  type CheckedChannel,
  createRecent,
  type DownloadLimits,
  jsonOf,
  systemClock,
  tooLargeError,
} from '@reply/sink/internal'
import type { CloudConfig } from '../config.ts'
import { CloudError, toCloudPortError, WhatsAppError } from '../error.ts'
import { maxWebhookBytes } from '../limits.ts'
import { renderWhatsApp } from '../render.ts'
import { createCloudClient } from './api.ts'
import { whatsappChannel } from './channel.ts'
import { toMediaPlace, toNumber, toRefusal } from './inbound.ts'
import { createCloudPort } from './port.ts'

/** How many chats to know the newest message of, which typing refers to. */
const mostChats = 1000

/** Reads the number by one call. */
export async function checkCloud(config: CloudConfig, host: Pick<ChannelHost, 'secret'>): Promise<CheckedChannel> {
  return { account: await account(config, graphOf(config, { ...host, clock: systemClock })) }
}

/** The Cloud API as a channel of a bridge. It has no groups, no mentions and no edits. */
export function connectCloud(config: CloudConfig, host: ChannelHost): BridgeConnection {
  const { clock, onInbound, onError } = host
  const graph = graphOf(config, host)
  const { token, apiUrl } = graph
  const { phoneNumberId } = config
  const client = createCloudClient({ token, phoneNumberId, apiUrl })
  const newest = createRecent<string>(mostChats)
  const appSecret = host.secret(config.appSecret)
  const verifyToken = host.secret(config.verifyToken)
  const open = () =>
    whatsappChannel({
      client,
      appSecret,
      verifyToken,
      onError,
      clock,
      onlyFiles: true,
      onInbound: (inbound) => {
        if (inbound.type === 'text') newest.set(inbound.chat.id, inbound.messageRef.id)
        return onInbound(inbound)
      },
    })
  const sinks = open()
  /** Undefined while stopped: Meta then sends its requests again. */
  let channel: ReturnType<typeof open> | undefined
  const notes = createNotes({
    client,
    clock,
    writerOf: ({ id }) => ({
      port: createCloudPort({ client, to: id, replyTo: newest.get(id), clock }),
      render: renderWhatsApp,
    }),
  })
  return {
    ...notes,
    start: async () => {
      // Requests come from Meta, whether or not it can be reached now.
      await account(config, graph).catch((error: unknown) => {
        if (error instanceof WhatsAppError) throw error
      })
      channel ??= open()
    },
    stop: async () => {
      const stopped = channel
      channel = undefined
      await stopped?.stop()
    },
    sinkFor: (at, options) => sinks.sinkFor(at, sinkOptionsOf(config, host, options)),
    download: async (file, limits) => await downloadMedia(file, { ...limits, ...graph }),
    webhook: {
      refuse: (head) => (channel ? channel.refuse(head) : { status: 503 }),
      take: async (request) => (channel ? await channel.webhook(request) : { status: 503 }),
      maxBytes: maxWebhookBytes,
    },
  }
}

function graphOf(
  { token, apiUrl = 'https://graph.facebook.com/v23.0' }: CloudConfig,
  { secret, clock }: Pick<ChannelHost, 'secret' | 'clock'>,
): GraphOptions {
  return { token: secret(token), apiUrl: apiUrl.replace(/\/+$/, ''), clock }
}

async function account({ phoneNumberId }: CloudConfig, graph: GraphOptions): Promise<string> {
  try {
    return await numberOf(phoneNumberId, graph)
  } catch (error) {
    const refusal = error instanceof PortError && error.cause instanceof CloudError ? error.cause : undefined
    if (refusal?.status !== 401 && refusal?.code !== 190) throw error
    const cure = "Use a system user's token, which does not expire."
    throw new WhatsAppError('unauthorized', `Meta rejected the token (${refusal.code ?? refusal.status}). ${cure}`)
  }
}

/** What reading from the Graph API needs. */
interface GraphOptions {
  readonly token: string
  /** With the version, without a slash at the end. */
  readonly apiUrl: string
  readonly clock: Clock
}

/** The number that people write to. Rejects with a `PortError`. */
async function numberOf(phoneNumberId: string, options: GraphOptions): Promise<string> {
  return toNumber(await read(`${phoneNumberId}?fields=display_phone_number`, 'the number', options)) ?? phoneNumberId
}

/**
 * Reads a file: its address first, which works for five minutes.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media
 */
async function downloadMedia(
  { ref, name }: InboundFile,
  { maxBytes, signal, ...options }: GraphOptions & DownloadLimits,
): Promise<Uint8Array> {
  const what = `file ${name}`
  const place = toMediaPlace(await read(encodeURIComponent(ref), what, options))
  if (!place) throw new PortError('refused', `${what}: the Cloud API gives no address for it.`)
  if ((place.file_size ?? 0) > maxBytes) throw tooLargeError(what, maxBytes)
  const { token, apiUrl, clock } = options
  const { protocol, hostname, origin } = new URL(place.url)
  const isMetas = protocol === 'https:' && /(?:^|\.)(?:fbsbx|facebook|whatsapp)\.(?:com|net)$/.test(hostname)
  // The token must not reach any other host.
  if (!isMetas && origin !== new URL(apiUrl).origin) throw new PortError('refused', `${what}: it is not kept by Meta.`)
  const headers = { authorization: `Bearer ${token}` }
  return await downloadFile({ url: place.url, headers, maxBytes, signal, what, platform: 'WhatsApp', clock })
}

async function read(path: string, what: string, { token, apiUrl, clock }: GraphOptions): Promise<unknown> {
  return await callPlatform(
    async (signal) => {
      const headers = { authorization: `Bearer ${token}` }
      // A redirect may lead to another host, which must not get the token.
      const response = await fetch(`${apiUrl}/${path}`, { headers, redirect: 'manual', signal })
      const answer = jsonOf(new Uint8Array(await response.arrayBuffer()))
      if (response.ok) return answer
      const { status } = response
      const { message = `HTTP ${status}`, code } = toRefusal(answer) ?? {}
      throw new CloudError(message, { status, code })
    },
    { what, clock, toPortError: toCloudPortError },
  )
}
