import { secretSource, sinkFields } from '@reply/sink/channel'
import * as z from 'zod'

/** A bot in a bridge's config. */
export const discordConfig = z
  .strictObject({
    type: z.literal('discord').describe('A Discord bot.'),
    token: secretSource.describe("The bot's token, from the page Bot of Discord's developer portal."),
    updates: z
      .enum(['gateway', 'http'])
      .optional()
      .describe('Where events come from: the gateway, or requests, which bring no messages. Default: gateway.'),
    publicKey: z
      .string()
      .regex(/^[\da-f]{64}$/i)
      .optional()
      .describe('With updates "http": the public key of the application, 64 hexadecimal digits.'),
    apiUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('The address of the REST API. Default: https://discord.com/api.'),
    ...sinkFields,
  })
  .refine(({ updates, publicKey }) => updates !== 'http' || publicKey !== undefined, {
    path: ['publicKey'],
    message: 'Requests from Discord need a publicKey: without one, anyone could post to the URL.',
  })

/** The same as a type. */
export type DiscordConfig = z.infer<typeof discordConfig>
