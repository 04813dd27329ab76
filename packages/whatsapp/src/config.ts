import { type BridgeChannel, secretSource, sinkFields } from '@reply/sink/channel'
import * as z from 'zod'
import { checkBaileys, connectBaileys, loadBaileys } from './baileys/connection.ts'
import { checkCloud, connectCloud } from './cloud/connection.ts'

const type = z.literal('whatsapp').describe('A WhatsApp number.')

/** A number on Meta's Cloud API, in a bridge's config. */
export const cloudConfig = z.strictObject({
  type,
  api: z.literal('cloud').describe("Meta's Cloud API, which sends requests to a URL that you enter."),
  token: secretSource.describe("A system user's token with whatsapp_business_messaging."),
  phoneNumberId: z.string().min(1).describe("Meta's id of the number, not the number."),
  appSecret: secretSource.describe("The app secret from the app's basic settings. Meta signs its requests with it."),
  verifyToken: secretSource.describe("Any unguessable text: the Verify token entered in the webhook's settings."),
  apiUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('The address of the Cloud API, with its version. Default: https://graph.facebook.com/v23.0.'),
  ...sinkFields,
})

/** A device linked to a number, in a bridge's config. */
export const baileysConfig = z.strictObject({
  type,
  api: z.literal('baileys').describe('A device linked to a phone, by the package baileys.'),
  auth: z.string().min(1).describe('The folder that keeps the login. It is as secret as a password.'),
  number: z
    .string()
    .regex(/^\d{5,20}$/)
    .describe("The account's number, to link the device with: digits only, with the country code."),
  ...sinkFields,
})

/** The config of a WhatsApp number, by `api`. */
export const whatsappConfig = z.discriminatedUnion('api', [cloudConfig, baileysConfig])

/** The config of a WhatsApp number. */
export type WhatsAppConfig = z.infer<typeof whatsappConfig>

/** The config of a linked device. */
export type BaileysConfig = z.infer<typeof baileysConfig>

/** The config of a number on the Cloud API. */
export type CloudConfig = z.infer<typeof cloudConfig>

/** WhatsApp as a channel of a bridge: the Cloud API, or a linked device, which needs the package `baileys`. */
export const bridgeChannel: BridgeChannel<WhatsAppConfig> = {
  type: 'whatsapp',
  schema: whatsappConfig,
  check: async (config, host) =>
    config.api === 'cloud' ? await checkCloud(config, host) : await checkBaileys(config, await loadBaileys()),
  create: async (config, host) =>
    config.api === 'cloud' ? connectCloud(config, host) : await connectBaileys(config, host, await loadBaileys()),
}
