import type { Capabilities, Source } from '../../source/port.ts'

/** What the server can do. A reconnect may find another version. */
export interface ServerInfo {
  /** As of the last connection. */
  current(): Capabilities
  /** Asks the server. Never rejects. */
  learn(): Promise<Capabilities>
}

/** Before the first connection only what every server can do is assumed, and the longest silence of any. */
const unknown: Capabilities = {
  silenceMs: 75_000,
  canRead: true,
  takesMessageIDs: false,
  takesPromptsWhileBusy: true,
  listsEverywhere: false,
}

export function createServerInfo(source: Pick<Source, 'learn'>): ServerInfo {
  let current = unknown
  return {
    current: () => current,
    learn: async () => {
      current = await source.learn()
      return current
    },
  }
}
