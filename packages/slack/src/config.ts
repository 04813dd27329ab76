import { systemClock } from '@reply/core'
import { type BridgeChannel, type ChannelHost, secretSource, sinkFields } from '@reply/sink/channel'
import { loadClient } from '@reply/sink/internal'
import * as z from 'zod'
import type { SlackBridgeApi, SlackSocket } from './api.ts'
import { fetchAccount, slackConnection } from './connection.ts'
import { accountNameOf } from './inbound.ts'
import { guardFrames, toSocketError } from './socket.ts'

/** An app in a bridge's config. */
export const slackConfig = z
  .strictObject({
    type: z.literal('slack').describe('A Slack app.'),
    token: secretSource.describe("The bot user's token: xoxb-…, from the page OAuth & Permissions."),
    events: z
      .enum(['socket', 'http'])
      .optional()
      .describe('Where events come from: Socket Mode, or requests to a URL that you enter in Slack. Default: socket.'),
    appToken: secretSource
      .optional()
      .describe('With events "socket": the app-level token with connections:write, xapp-….'),
    signingSecret: secretSource.optional().describe('With events "http": the Signing Secret on the app\'s page.'),
    apiUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('The address of the Web API. Default: https://slack.com/api/.'),
    ...sinkFields,
  })
  .refine(({ events, appToken }) => events === 'http' || appToken !== undefined, {
    path: ['appToken'],
    message: 'Socket Mode needs an appToken: an app-level token with connections:write.',
  })
  .refine(({ events, signingSecret }) => events !== 'http' || signingSecret !== undefined, {
    path: ['signingSecret'],
    message: 'Requests from Slack need a signingSecret. Without one, anyone could post to the URL.',
  })

/** The config of a Slack app. */
export type SlackConfig = z.infer<typeof slackConfig>

/** Slack as a channel of a bridge. Needs the package `@slack/web-api`, and for Socket Mode `@slack/socket-mode`. */
export const bridgeChannel: BridgeChannel<SlackConfig> = {
  type: 'slack',
  schema: slackConfig,
  check: async (config, host) => {
    const account = accountNameOf(await fetchAccount(await createApi(config, host), systemClock))
    if (config.events !== 'http') await checkSocket(config, host)
    return { account }
  },
  create: async (config, host) => {
    const { events = 'socket', signingSecret, policy, texts } = config
    const api = await createApi(config, host)
    const socket = events === 'http' ? undefined : await createSocketClient(config, host)
    const secret = signingSecret && { signingSecret: host.secret(signingSecret) }
    return slackConnection({ api, events, socket, policy, texts, ...secret }, host)
  },
}

/**
 * Creates a client without retries of its own, because the channel retries idempotent calls itself. Rejects if its package
 * is not installed.
 */
async function createApi({ token, apiUrl }: SlackConfig, host: Pick<ChannelHost, 'secret'>): Promise<SlackBridgeApi> {
  const { LogLevel, WebClient } = await loadClient('@slack/web-api', () => import('@slack/web-api'))
  return new WebClient(host.secret(token), {
    ...(apiUrl !== undefined && { slackApiUrl: withSlash(apiUrl) }),
    logLevel: LogLevel.ERROR,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
  })
}

/**
 * Checks the app's token by requesting a socket's address, without opening it. Rejects with a `SlackError`. Does nothing
 * without an `appToken`.
 */
async function checkSocket({ appToken, apiUrl }: SlackConfig, host: Pick<ChannelHost, 'secret'>): Promise<void> {
  if (!appToken) return
  const api = await createApi({ type: 'slack', token: appToken, apiUrl }, host)
  try {
    await api.apiCall('apps.connections.open')
  } catch (error) {
    throw toSocketError(error)
  }
}

/** Creates a client that is not connected, and that reports frames it can't read. */
async function createSocketClient({ appToken, apiUrl }: SlackConfig, host: ChannelHost): Promise<SlackSocket> {
  const { LogLevel, SocketModeClient } = await loadClient('@slack/socket-mode', () => import('@slack/socket-mode'))
  const ignore = (): void => {}
  const names = { getLevel: () => LogLevel.ERROR, setLevel: ignore, setName: ignore }
  const client = new SocketModeClient({
    appToken: appToken ? host.secret(appToken) : '',
    autoReconnectEnabled: false,
    clientOptions: { ...(apiUrl !== undefined && { slackApiUrl: withSlash(apiUrl) }), retryConfig: { retries: 0 } },
    // Failures are reported to `onError`.
    logger: { ...names, debug: ignore, info: ignore, warn: ignore, error: ignore },
  })
  guardFrames(client, host.onError)
  return client
}

/** Returns the URL with a slash at its end. */
function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}
