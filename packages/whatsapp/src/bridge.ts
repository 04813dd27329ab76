import type { BridgeChannel } from '@reply/sink/channel'
import { checkBaileys, connectBaileys } from './baileys/bridge.ts'
import { loadBaileys } from './baileys/library.ts'
import { checkCloud, connectCloud } from './cloud/bridge.ts'
import { type WhatsAppConfig, whatsappConfig } from './config.ts'

/** WhatsApp as a channel of a bridge: the Cloud API, or a linked device, which needs the package `baileys`. */
export const bridgeChannel: BridgeChannel<WhatsAppConfig> = {
  type: 'whatsapp',
  schema: whatsappConfig,
  check: async (config, host) =>
    config.api === 'cloud' ? await checkCloud(config, host) : await checkBaileys(config, await loadBaileys()),
  create: async (config, host) =>
    config.api === 'cloud' ? connectCloud(config, host) : await connectBaileys(config, host, await loadBaileys()),
}
