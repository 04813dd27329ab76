import { secretSource, sinkFields } from '@reply/sink/channel'
import * as z from 'zod'

/** A number on Meta's Cloud API, in a bridge's config. */
export const cloudConfig = z.strictObject({
  type: z.literal('whatsapp').describe('A WhatsApp number.'),
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

/** The config of a number on the Cloud API. */
export type CloudConfig = z.infer<typeof cloudConfig>
