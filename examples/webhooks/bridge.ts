// A bridge whose channels hear by requests, as a server of your own passes them on.
import { defaultConfigPath, openBridge } from '@reply/bridge'

/** Started once, with the first request that needs it. */
export const bridge = await openBridge({
  path: process.env.REPLY_CONFIG ?? defaultConfigPath('bridge', process.env),
  onError: ({ message }) => console.error(message),
  onNotice: (notice) => console.error(notice),
})
await bridge.start()
