import { systemClock } from '@reply/core'
import type { Chat, InboundFile } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createListening,
  createNotes,
  downloadFile,
  PortError,
  pacerOf,
  sinkOptionsOf,
} from '@reply/sink/channel'
import { type CheckedChannel, createRecent, type DownloadLimits, tooLargeError } from '@reply/sink/internal'
import { chatLink } from '../chat-link.ts'
import { CloudError, toCloudPortError, WhatsAppError } from '../error.ts'
import { cloudLimits, maxWebhookBytes } from '../limits.ts'
import { renderWhatsApp } from '../render.ts'
import { createCloudClient, defaultApiUrl, readResponse } from './api.ts'
import { createCloudChannel } from './channel.ts'
import type { CloudConfig } from './config.ts'
import { type CloudFact, toCloudFact, toDisplayNumber, toMediaPlace, withheldRef } from './inbound.ts'
import { createCloudPort } from './port.ts'
import { sharedReports } from './reports.ts'

/** How many chats to keep the newest message of. Typing marks that message as read. */
const mostChats = 1000

/** Reads the number with one call, and returns it. Rejects with `unauthorized` if Meta rejects the token. */
export async function checkCloud(config: CloudConfig, host: Pick<ChannelHost, 'secret'>): Promise<CheckedChannel> {
  const number = await createGraph(config, { ...host, clock: systemClock }).readNumber()
  return { account: number ?? config.phoneNumberId }
}

/** Connects a number on the Cloud API to a bridge. It has no groups, no mentions and no edits. */
export function connectCloud(config: CloudConfig, host: ChannelHost): BridgeConnection {
  const { clock, onInbound, onError, share } = host
  const graph = createGraph(config, host)
  const { token, apiUrl } = graph
  const { phoneNumberId } = config
  const client = createCloudClient({ token, phoneNumberId, apiUrl })
  const reports = sharedReports(client)
  reports.observeFailures((status) => {
    for (const chat of chatsOf({ type: 'status', status })) host.onUndelivered?.(chat, status.ref)
  })
  const newest = createRecent<string>(mostChats)
  const appSecret = host.secret(config.appSecret)
  const verifyToken = host.secret(config.verifyToken)
  const createChannel = () =>
    createCloudChannel(
      {
        client,
        appSecret,
        verifyToken,
        onError,
        clock,
        onlyFiles: true,
        onInbound: (inbound, id) => {
          if (inbound.type === 'text') newest.set(inbound.chat.id, inbound.messageRef.id)
          return onInbound(inbound, id)
        },
      },
      // The host has reported why it failed.
      share &&
        (async (fact) =>
          await share(chatsOf(fact), fact).then(
            () => true,
            () => false,
          )),
    )
  const sinks = createChannel()
  /** Undefined while stopped. Meta's requests then get a 503, so Meta redelivers them. */
  let channel: ReturnType<typeof createChannel> | undefined
  const notes = createNotes({
    client,
    clock,
    writerOf: ({ id }) => ({
      port: createCloudPort({ client, to: id, replyTo: newest.get(id), clock }),
      render: renderWhatsApp,
    }),
  })
  /** The number that people write to. Undefined until it is known. */
  let number: string | undefined
  const listening = createListening({
    check: async () => {
      const found = await graph.readNumber().catch((error: unknown) => {
        if (error instanceof WhatsAppError) throw error
      })
      number = found ?? number
    },
    begin: () => {
      channel = createChannel()
    },
    end: async () => {
      const stopped = channel
      channel = undefined
      await stopped?.stop()
    },
  })
  return {
    ...notes,
    ...listening,
    budgets: pacerOf(client, clock).sharedBudgets(cloudLimits),
    listens: 'anywhere',
    posts: 'anywhere',
    sinkFor: (at, options) => sinks.sinkFor(at, sinkOptionsOf(config, host, options)),
    linkTo: () => chatLink(number),
    download: graph.download,
    learn,
    webhook: {
      refuse: (head) => (channel ? channel.refuse(head) : { status: 503 }),
      take: async (request) => (channel ? await channel.webhook(request) : { status: 503 }),
      maxBytes: maxWebhookBytes,
    },
  }

  /** Records a status or the time of a message that another process received. */
  function learn(value: unknown): void {
    const fact = toCloudFact(value)
    if (!fact) return onError(new WhatsAppError('malformed', "Skipped a fact of another process that can't be read."))
    if (fact.type === 'status') return reports.recordStatus(fact.status)
    for (const person of fact.people) reports.openChat(person, fact.at)
    const [chat] = fact.people
    if (chat !== undefined && fact.textID !== undefined) newest.set(chat, fact.textID)
  }
}

/** Returns the chats that a fact may be about: their id is the person's number or business-scoped id. */
function chatsOf(fact: CloudFact): readonly Chat[] {
  const { people } = fact.type === 'status' ? fact.status : fact
  return people.map((id) => ({ id, kind: 'private' }))
}

/** Reads from Meta's Graph API, for everything that `CloudClient` has no call for. */
interface Graph {
  readonly token: string
  /** With the version, without a slash at the end. */
  readonly apiUrl: string
  /** The number that people write to. Undefined if Meta doesn't tell. Throws `unauthorized` if Meta rejects the token, else a `PortError`. */
  readNumber(): Promise<string | undefined>
  /** Reads a file that a person sent. Rejects with a `PortError`. */
  download(file: InboundFile, limits: DownloadLimits): Promise<Uint8Array>
}

/** Creates the reads of the Graph API that a connection needs. */
function createGraph(
  { token: source, phoneNumberId, apiUrl: address = defaultApiUrl }: CloudConfig,
  { secret, clock }: Pick<ChannelHost, 'secret' | 'clock'>,
): Graph {
  const token = secret(source)
  const apiUrl = address.replace(/\/+$/, '')
  return { token, apiUrl, readNumber, download }

  /** Returns the number as people see it. Rejects with `unauthorized` if Meta rejects the token. */
  async function readNumber(): Promise<string | undefined> {
    try {
      const answer = await read(`${phoneNumberId}?fields=display_phone_number`, 'the number')
      return toDisplayNumber(answer)
    } catch (error) {
      const refusal = error instanceof PortError && error.cause instanceof CloudError ? error.cause : undefined
      if (refusal?.status !== 401 && refusal?.code !== 190) throw error
      const cure = "Use a system user's token, which does not expire."
      throw new WhatsAppError('unauthorized', `Meta rejected the token (${refusal.code ?? refusal.status}). ${cure}`)
    }
  }

  /**
   * Reads a file, and its address before that, which works for five minutes. Rejects with `too-long` above `maxBytes`, and
   * with `refused` for addresses that aren't Meta's, and for files that it doesn't provide. https://developers.facebook.com/documentation/business-
   * messaging/whatsapp/business-phone-numbers/media
   */
  async function download({ ref, name }: InboundFile, { maxBytes, signal }: DownloadLimits): Promise<Uint8Array> {
    const what = `file ${name}`
    if (ref === withheldRef)
      throw new PortError('refused', `${what}: WhatsApp doesn't give it to businesses. Send it as a document.`)
    const place = toMediaPlace(await read(encodeURIComponent(ref), what))
    if (!place) throw new PortError('refused', `${what}: the Cloud API gives no address for it.`)
    if ((place.file_size ?? 0) > maxBytes) throw tooLargeError(what, maxBytes, place.file_size)
    const { protocol, hostname, origin } = new URL(place.url)
    const isMetas = protocol === 'https:' && /(?:^|\.)(?:fbsbx|facebook|whatsapp)\.(?:com|net)$/.test(hostname)
    // The token must not reach any other host.
    if (!isMetas && origin !== new URL(apiUrl).origin)
      throw new PortError('refused', `${what}: its address is not one of Meta's.`)
    const headers = { authorization: `Bearer ${token}` }
    return await downloadFile({ url: place.url, headers, maxBytes, signal, what, platform: 'WhatsApp', clock })
  }

  /**
   * Reads a path of the Graph API, and resolves with its JSON. `what` names the call in errors. Rejects with a `PortError`.
   */
  async function read(path: string, what: string): Promise<unknown> {
    return await callPlatform(
      async (signal) => {
        const headers = { authorization: `Bearer ${token}` }
        // A redirect may lead to another host, which must not get the token.
        return await readResponse(await fetch(`${apiUrl}/${path}`, { headers, redirect: 'manual', signal }))
      },
      { what, clock, toPortError: toCloudPortError },
    )
  }
}
