import { type NoticeChannel, noticeFields, secretSource } from '@reply/sink/channel'
import * as z from 'zod'
import { createNtfyClient, defaultServer, topicPattern } from './client.ts'

const topicText = z
  .string()
  .regex(topicPattern, 'Write 1 to 64 letters, digits, "-" and "_".')
  .describe('The topic itself. Only for a server of your own with a `token`: elsewhere the topic is a secret.')

/** A topic of an ntfy server in a bridge's config. */
export const ntfyConfig = z
  .strictObject({
    type: z.literal('ntfy').describe('A topic of an ntfy server, which phones subscribe to.'),
    server: z
      .url({ protocol: /^https?$/, error: 'Write an address such as "https://ntfy.example".' })
      .refine((url) => URL.canParse(url) && new URL(url).username === '', 'Write the address without credentials.')
      .optional()
      .describe(`The address of the server. Default: ${defaultServer}.`),
    topic: z
      .union([secretSource, topicText], 'Write { "env": "NAME" } or { "file": "path" }.')
      .describe(
        'The topic. On a server that needs no token, everyone who knows it can read the notices and send their own, so it is a secret.',
      ),
    token: secretSource.optional().describe('An access token of the server that may write to the topic.'),
    ...noticeFields,
  })
  .refine(({ topic, server, token }) => typeof topic !== 'string' || (server !== undefined && token !== undefined), {
    path: ['topic'],
    message:
      'Without a server of your own and a token, the topic is a secret. Write { "env": "NAME" } or { "file": "path" }.',
  })

/** The config of a topic. */
export type NtfyConfig = z.infer<typeof ntfyConfig>

/** ntfy as a channel for notices. */
export const noticeChannel: NoticeChannel<NtfyConfig> = {
  isNoticeChannel: true,
  type: 'ntfy',
  schema: ntfyConfig,
  check: async (config, host) => ({ account: await clientOf(config, host).check() }),
  create: async (config, host) => clientOf(config, host),
}

/** Creates the client of an entry. Throws `NtfyError` of type `invalid` for a topic or token that can't be used. */
function clientOf(
  { server = defaultServer, topic, token }: NtfyConfig,
  host: Pick<Parameters<typeof noticeChannel.create>[1], 'secret'> &
    Partial<Parameters<typeof noticeChannel.create>[1]>,
): ReturnType<typeof createNtfyClient> {
  return createNtfyClient({
    server,
    topic: typeof topic === 'string' ? topic : host.secret(topic),
    token: token && host.secret(token),
    clock: host.clock,
  })
}
