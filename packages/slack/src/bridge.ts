import type { Clock } from '@reply/core'
import {
  type BridgeChannel,
  type BridgeConnection,
  type ChannelHost,
  callPlatform,
  createNotes,
  loadClient,
  sinkOptionsOf,
  systemClock,
} from '@reply/sink/channel'
import type { SlackApi, SlackSocket } from './api.ts'
import { saysOf } from './call.ts'
import { slackChannel } from './channel.ts'
import { type SlackConfig, slackConfig } from './config.ts'
import { SlackError } from './error.ts'
import { toPortError } from './failure.ts'
import { download } from './inbound/download.ts'
import { accountOf } from './inbound/file.ts'
import { unauthorized } from './inbound/socket.ts'
import { createSlackPort } from './port.ts'
import { renderSlack } from './render.ts'

/** Slack as a channel of a bridge. Needs the package `@slack/web-api`, and for Socket Mode `@slack/socket-mode`. */
export const bridgeChannel: BridgeChannel<SlackConfig> = {
  type: 'slack',
  schema: slackConfig,
  check: async (config, host) => ({ account: accountOf(await me(await connect(config, host), systemClock)) }),
  create: async (config, host) => {
    const api = await connect(config, host)
    const socket = config.events === 'http' ? undefined : await socketFor(config, host)
    return connectionOf(config, host, { api, socket })
  },
}

/** The channel repeats what is safe to repeat, so the client must not. */
async function connect({ token, apiUrl }: SlackConfig, host: Pick<ChannelHost, 'secret'>): Promise<SlackApi> {
  const { LogLevel, WebClient } = await loadClient('@slack/web-api', () => import('@slack/web-api'))
  return new WebClient(host.secret(token), {
    ...(apiUrl !== undefined && { slackApiUrl: withSlash(apiUrl) }),
    ...{ logLevel: LogLevel.ERROR, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true },
  })
}

async function socketFor({ appToken, apiUrl }: SlackConfig, host: ChannelHost): Promise<SlackSocket> {
  const { LogLevel, SocketModeClient } = await loadClient('@slack/socket-mode', () => import('@slack/socket-mode'))
  const ignore = (): void => {}
  const names = { getLevel: () => LogLevel.ERROR, setLevel: ignore, setName: ignore }
  return new SocketModeClient({
    appToken: appToken ? host.secret(appToken) : '',
    autoReconnectEnabled: false,
    clientOptions: { ...(apiUrl !== undefined && { slackApiUrl: withSlash(apiUrl) }), retryConfig: { retries: 0 } },
    // Its failures reach `onError`.
    logger: { ...names, debug: ignore, info: ignore, warn: ignore, error: ignore },
  })
}

interface Clients {
  readonly api: SlackApi
  readonly socket: SlackSocket | undefined
}

function connectionOf(config: SlackConfig, host: ChannelHost, { api, socket }: Clients): BridgeConnection {
  const { clock, onInbound, onError } = host
  const { token, signingSecret, apiUrl, events = 'socket' } = config
  const channel = slackChannel({
    ...{ api, events, socket, onInbound, onError, clock },
    ...{ onlyFiles: true, hearsAll: true, acknowledges: 'handled', commands: 'all' },
    ...(signingSecret && { signingSecret: host.secret(signingSecret) }),
  })
  const notes = createNotes({
    client: api,
    clock,
    writerOf: ({ id, thread }) => ({
      port: createSlackPort({ api, channelId: id, threadTs: thread, clock }),
      render: renderSlack,
    }),
  })
  return {
    ...notes,
    start: async () => {
      // The socket reports all other failures, and connects again.
      await me(api, clock).catch((error: unknown) => {
        if (error instanceof SlackError) throw error
      })
      channel.start()
    },
    stop: channel.stop,
    sinkFor: (at, options) => channel.sinkFor(at, sinkOptionsOf(config, host, options)),
    download: async (file, limits) =>
      await download(file, { ...limits, api, token: host.secret(token), apiUrl, clock }),
    ...(events === 'http' && { webhook: channel.webhook }),
  }
}

async function me(api: SlackApi, clock: Clock): Promise<unknown> {
  try {
    return await callPlatform(() => api.apiCall('auth.test'), {
      what: 'auth.test',
      clock,
      toPortError: toPortError.client,
    })
  } catch (error) {
    const word = saysOf(error)
    if (word === undefined || !unauthorized.has(word)) throw error
    const cure = "Use the Bot User OAuth Token (xoxb-…) on the app's page OAuth & Permissions."
    throw new SlackError('unauthorized', `Slack rejected the bot's token (${word}). ${cure}`)
  }
}

function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}
