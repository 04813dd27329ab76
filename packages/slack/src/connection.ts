import type { Clock } from '@reply/core'
import type { Chat, InboundFile, MessageRef } from '@reply/sink'
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
import { type DownloadLimits, type SinkFields, tooLargeError } from '@reply/sink/internal'
import { errorCodeOf, type SlackApi, type SlackBridgeApi } from './api.ts'
import { type SlackChannel, type SlackChannelOptions, slackChannel } from './channel.ts'
import { SlackError, toPortError } from './error.ts'
import { downloadUrlOf, whyWithheld, workspaceOf } from './inbound.ts'
import { slackLimits } from './limits.ts'
import { createSlackPort } from './port.ts'
import { renderSlack } from './render.ts'
import { unauthorizedCodes } from './socket.ts'

/** Your own app, and how its replies are shown. */
export interface SlackConnectionOptions
  extends SinkFields,
    Pick<SlackChannelOptions, 'events' | 'socket' | 'signingSecret'> {
  /** `new WebClient(token)`, or Bolt's `app.client`. */
  readonly api: SlackBridgeApi
}

/** An app that a bridge can use. */
export interface SlackConnection extends BridgeConnection, Pick<SlackChannel, 'handleEvent'> {}

/** Connects your own app to a bridge: pass it in the bridge's `connections`. Makes no call before `start`. */
export function slackConnection(options: SlackConnectionOptions, host: ChannelHost): SlackConnection {
  const { clock, onInbound, onError, onInboundStatus } = host
  const { api, events, socket, signingSecret, ...fields } = options
  const channel = slackChannel({
    api,
    events,
    socket,
    signingSecret,
    onInbound,
    onError,
    onInboundStatus,
    clock,
    onlyFiles: true,
    receivesAll: true,
    acknowledges: 'handled',
    commands: 'all',
  })
  const notes = createNotes({
    client: api,
    clock,
    writerOf: ({ id, thread }) => ({
      port: createSlackPort({ api, channelId: id, threadTs: thread, clock }),
      render: renderSlack,
    }),
  })
  /** The address of the workspace. Undefined until it is known. */
  let workspace: string | undefined
  const listening = createListening({
    check: async () => {
      const account = await fetchAccount(api, clock).catch((error: unknown) => {
        if (error instanceof SlackError) throw error
      })
      workspace = workspaceOf(account) ?? workspace
    },
    begin: channel.start,
    end: channel.stop,
  })
  return {
    ...notes,
    ...listening,
    budgets: pacerOf(api, clock).sharedBudgets(slackLimits),
    // Slack sends each event to one of up to 10 sockets. https://docs.slack.dev/apis/events-api/using-socket-mode#connections
    listens: 'anywhere',
    posts: 'anywhere',
    // A reply in a thread is to the thread.
    hasNoReplies: true,
    sinkFor: (at, more) => channel.sinkFor(at, sinkOptionsOf(fields, host, more)),
    linkTo: (chat, message) => linkTo(chat, message, workspace),
    download: async (file, limits) =>
      await download(file, { ...limits, api, token: api.token ?? '', apiUrl: api.slackApiUrl, clock }),
    handleEvent: channel.handleEvent,
    ...(events === 'http' && { webhook: { refuse: channel.refuse, take: channel.webhook } }),
  }
}

/**
 * Returns the link that opens a message, with its thread, once the address of the workspace is known. Otherwise, and without a message,
 * it opens the channel. https://docs.slack.dev/reference/methods/chat.getPermalink and
 * https://docs.slack.dev/interactivity/deep-linking
 */
function linkTo({ id, thread }: Chat, message: MessageRef | undefined, workspace: string | undefined): string {
  if (!message || workspace === undefined) return `https://slack.com/app_redirect?channel=${encodeURIComponent(id)}`
  const link = new URL(`/archives/${encodeURIComponent(id)}/p${message.id.replace('.', '')}`, workspace)
  if (thread !== undefined && thread !== message.id) {
    link.searchParams.set('thread_ts', thread)
    link.searchParams.set('cid', id)
  }
  return link.href
}

/**
 * Resolves with the response of `auth.test`, which names the app's own account. Rejects with a `SlackError` if Slack refuses
 * its token, or else with a `PortError`.
 */
export async function fetchAccount(api: SlackApi, clock: Clock): Promise<unknown> {
  try {
    return await callPlatform(() => api.apiCall('auth.test'), {
      what: 'auth.test',
      clock,
      toPortError: toPortError.client,
    })
  } catch (error) {
    const code = errorCodeOf(error)
    if (code === undefined || !unauthorizedCodes.has(code)) throw error
    const cure = "Use the Bot User OAuth Token (xoxb-…) on the app's page OAuth & Permissions."
    throw new SlackError('unauthorized', `Slack rejected the bot's token (${code}). ${cure}`)
  }
}

interface SlackDownload extends DownloadLimits {
  readonly api: SlackApi
  readonly token: string
  /** Besides Slack's own hosts, the token is only sent to the host of this address. */
  readonly apiUrl: string | undefined
  readonly clock: Clock
}

const cure = "Does the app have the scope files:read, and is it in the file's channel?"

/**
 * Downloads a file with the bot's token. A `ref` that is an id is looked up first. Throws `too-long` above `maxBytes`, and
 * `refused` for a file that Slack doesn't provide.
 * https://docs.slack.dev/reference/objects/file-object
 */
async function download(file: InboundFile, options: SlackDownload): Promise<Uint8Array> {
  const { api, token, apiUrl, clock, maxBytes, signal } = options
  const what = `file ${file.name}`
  const reason = whyWithheld(file.ref)
  if (reason !== undefined) throw new PortError('refused', `${what}: ${reason}`)
  if ((file.size ?? 0) > maxBytes) throw tooLargeError(what, maxBytes, file.size)
  const url = URL.canParse(file.ref) ? file.ref : await lookUpUrl()
  if (!isTrusted(url, apiUrl))
    throw new PortError('refused', `${what}: it is not stored by Slack, so it can't be downloaded.`)
  const headers = { authorization: `Bearer ${token}` }
  return await downloadFile({ url, headers, maxBytes, signal, what, platform: 'Slack', cure, clock })

  /** Asks Slack for the file's address. Throws `refused` without one. */
  async function lookUpUrl(): Promise<string> {
    const call = { what, clock, toPortError: toPortError.client }
    const url = downloadUrlOf(await callPlatform(() => api.apiCall('files.info', { file: file.ref }), call))
    if (url === undefined) throw new PortError('refused', `${what}: Slack returned no address for it.`)
    return url
  }
}

/** Whether a URL may receive the token: it is at one of Slack's own hosts, with https, or at the origin of `apiUrl`. */
function isTrusted(url: string, apiUrl: string | undefined): boolean {
  const { protocol, hostname, origin } = new URL(url)
  if (apiUrl !== undefined && new URL(apiUrl).origin === origin) return true
  return protocol === 'https:' && /(?:^|\.)slack(?:-gov)?\.com$/.test(hostname)
}
