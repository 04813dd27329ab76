import type { BridgeChannel, NoticeChannel } from '@reply/sink/channel'
import { BridgeError, messageOf } from '../error.ts'

/** Loads a channel by the `type` of its entry in the config. Rejects with `BridgeError` of type `channel`. */
export type LoadChannel = (type: string) => Promise<BridgeChannel | NoticeChannel>

/**
 * Imports `bridgeChannel`, or for a channel that only notifies `noticeChannel`, from `@reply/<type>/bridge`. Rejects with a
 * `BridgeError` if there is no such package or export.
 */
export async function loadChannel(type: string): Promise<BridgeChannel | NoticeChannel> {
  const name = `@reply/${type}`
  let loaded: { readonly bridgeChannel?: BridgeChannel; readonly noticeChannel?: NoticeChannel }
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
  const channel = loaded.bridgeChannel ?? loaded.noticeChannel
  if (channel) return channel
  throw new BridgeError(
    'channel',
    `${name} can't be used in a bridge: it has no export "bridgeChannel" or "noticeChannel".`,
  )
}

/** Whether a channel only notifies. */
export function isNoticeChannel(channel: BridgeChannel | NoticeChannel): channel is NoticeChannel {
  return 'isNoticeChannel' in channel
}
