import type { Capabilities, Source } from '../../source/port.ts'

/** What the server can do. A reconnect may find another version. */
export interface ServerInfo {
  /** As of the last connection. */
  current(): Capabilities
  /** Asks the server. Never rejects. Undefined if it was asked again in the meantime: only the newest answer counts. */
  learn(): Promise<Capabilities | undefined>
}

/** Before the first connection only what every server can do is assumed, and the longest silence of any. */
const unknown: Capabilities = {
  silenceMs: 75_000,
  canRead: true,
  takesPromptsWhileBusy: true,
  queuesPrompts: false,
  showsNotes: true,
  listsEverywhere: false,
}

export function createServerInfo(source: Pick<Source, 'learn'>): ServerInfo {
  let current = unknown
  let asked = 0
  return {
    current: () => current,
    learn: async () => {
      asked += 1
      const mine = asked
      const found = await source.learn()
      if (mine !== asked) return undefined
      current = found
      return found
    },
  }
}
