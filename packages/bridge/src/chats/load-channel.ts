import type { BridgeChannel } from '@reply/sink/channel'
import { BridgeError, messageOf } from '../error.ts'

/** Loads a channel by the `type` of its entry in the config. Rejects with `BridgeError` of type `channel`. */
export type LoadChannel = (type: string) => Promise<BridgeChannel>

/**
 * Imports `bridgeChannel` from `@reply/<type>/bridge`. Rejects with a `BridgeError` if there is no such package or export.
 */
export async function loadChannel(type: string): Promise<BridgeChannel> {
  const name = `@reply/${type}`
  let loaded: { readonly bridgeChannel?: BridgeChannel }
  try {
    loaded = await import(`${name}/bridge`)
  } catch (cause) {
    throw new BridgeError(
      'channel',
      `${name} could not be loaded: ${messageOf(cause)}. Install it, or correct the type.`,
      {
        cause,
      },
    )
  }
  if (loaded.bridgeChannel) return loaded.bridgeChannel
  throw new BridgeError('channel', `${name} can't be used in a bridge: it has no export "bridgeChannel".`)
}
