import type { BridgeChannel } from '@reply/sink/channel'
import * as z from 'zod'
import { baileysConfig } from './baileys/config.ts'
import { checkBaileys, connectBaileys, loadBaileys } from './baileys/connection.ts'
import { cloudConfig } from './cloud/config.ts'
import { checkCloud, connectCloud } from './cloud/connection.ts'

/** The config of a WhatsApp number, by `api`. */
export const whatsappConfig = z.discriminatedUnion('api', [cloudConfig, baileysConfig])

/** The config of a WhatsApp number. */
export type WhatsAppConfig = z.infer<typeof whatsappConfig>

/** WhatsApp as a channel of a bridge: the Cloud API, or a linked device, which needs the package `baileys`. */
export const bridgeChannel: BridgeChannel<WhatsAppConfig> = {
  type: 'whatsapp',
  schema: whatsappConfig,
  check: async (config, host) =>
    config.api === 'cloud' ? await checkCloud(config, host) : await checkBaileys(config, await loadBaileys()),
  create: async (config, host) =>
    config.api === 'cloud' ? connectCloud(config, host) : connectBaileys(config, host, await loadBaileys()),
}
