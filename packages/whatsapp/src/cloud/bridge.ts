import { type BridgeConnection, type ChannelHost, createNotes, PortError, sinkOptionsOf } from '@reply/sink/channel'
import { type CheckedChannel, createRecent, systemClock } from '@reply/sink/internal'
import type { CloudConfig } from '../config.ts'
import { WhatsAppError } from '../error.ts'
import { renderWhatsApp } from '../render.ts'
import { CloudError } from './api.ts'
import { whatsappChannel } from './channel.ts'
import { createCloudClient } from './client.ts'
import { downloadMedia, type GraphOptions, numberOf } from './graph.ts'
import { maxWebhookBytes } from './limits.ts'
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
  const [appSecret, verifyToken] = [host.secret(config.appSecret), host.secret(config.verifyToken)]
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
