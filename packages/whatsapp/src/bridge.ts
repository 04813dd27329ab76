import type { BridgeChannel } from '@reply/sink/channel'
import { checkCloud, connectCloud } from './cloud/bridge.ts'
import { type CloudConfig, cloudConfig } from './config.ts'

/** WhatsApp's Cloud API as a channel of a bridge. It needs no other package. */
export const bridgeChannel: BridgeChannel<CloudConfig> = {
  type: 'whatsapp',
  schema: cloudConfig,
  check: checkCloud,
  create: async (config, host) => connectCloud(config, host),
}
