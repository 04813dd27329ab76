import type { Clock } from '@reply/core'
import { type BridgeConnection, type ChannelHost, callPlatform, createNotes, sinkOptionsOf } from '@reply/sink/channel'
import type { SinkFields } from '@reply/sink/internal'
import type { SlackApi, SlackBridgeApi } from './api.ts'
import { saysOf } from './call.ts'
import { type SlackChannel, type SlackChannelOptions, slackChannel } from './channel.ts'
import { SlackError } from './error.ts'
import { toPortError } from './failure.ts'
import { download } from './inbound/download.ts'
import { unauthorized } from './inbound/socket.ts'
import { createSlackPort } from './port.ts'
import { renderSlack } from './render.ts'

/** An app of the program's own, and how its replies are shown. */
export interface SlackConnectionOptions
  extends SinkFields,
    Pick<SlackChannelOptions, 'events' | 'socket' | 'signingSecret'> {
  /** `new WebClient(token)`, or Bolt's `app.client`. */
  readonly api: SlackBridgeApi
}

/** An app as a bridge uses it. */
export interface SlackConnection extends BridgeConnection, Pick<SlackChannel, 'handleEvent'> {}

/** Connects an app of the program's own with a bridge, as one of its `connections`. Makes no call before `start`. */
export function slackConnection(options: SlackConnectionOptions, host: ChannelHost): SlackConnection {
  const { clock, onInbound, onError, onHearing } = host
  const { api, events, socket, signingSecret, ...fields } = options
  const channel = slackChannel({
    ...{ api, events, socket, signingSecret, onInbound, onError, onHearing, clock },
    ...{ onlyFiles: true, hearsAll: true, acknowledges: 'handled', commands: 'all' },
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
    sinkFor: (at, more) => channel.sinkFor(at, sinkOptionsOf(fields, host, more)),
    download: async (file, limits) =>
      await download(file, { ...limits, api, token: api.token ?? '', apiUrl: api.slackApiUrl, clock }),
    handleEvent: channel.handleEvent,
    ...(events === 'http' && { webhook: { refuse: channel.refuse, take: channel.webhook } }),
  }
}

/** The app's own account. Rejects with a `SlackError` if Slack refuses its token. */
export async function me(api: SlackApi, clock: Clock): Promise<unknown> {
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
