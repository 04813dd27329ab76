import { sinkFields } from '@reply/sink/channel'
import * as z from 'zod'

/** A device linked to a number, in a bridge's config. */
export const baileysConfig = z.strictObject({
  type: z.literal('whatsapp').describe('A WhatsApp number.'),
  api: z.literal('baileys').describe('A device linked to a phone, by the package baileys.'),
  auth: z.string().min(1).describe('The folder that keeps the login. It is as secret as a password.'),
  number: z
    .string()
    .regex(/^\d{5,20}$/)
    .describe("The account's number, to link the device with: digits only, with the country code."),
  ...sinkFields,
})

/** The config of a linked device. */
export type BaileysConfig = z.infer<typeof baileysConfig>
