import type { Capabilities, Source } from '../source/port.ts'

/** The server's capabilities. They may change with a reconnect. */
export interface ServerInfo {
  /** The capabilities as of the last connection. */
  current(): Capabilities
  /**
   * Asks the server and stores the result. Never rejects. Resolves with undefined, and stores nothing, if a newer call
   * has begun.
   */
  learn(): Promise<Capabilities | undefined>
}

/** Assumed before the first connection: what every server can do, and the longest silence of any. */
const unknown: Capabilities = {
  silenceMs: 75_000,
  canRead: true,
  takesPromptsWhileBusy: true,
  queuesPrompts: false,
  showsNotes: true,
  listsEverywhere: false,
}

/**
 * Creates the capabilities of a source. Until `learn` resolves, they are what every server can do, with the longest
 * silence of any.
 */
export function createServerInfo(source: Pick<Source, 'learn'>): ServerInfo {
  let current = unknown
  let calls = 0
  return {
    current: () => current,
    learn: async () => {
      calls += 1
      const call = calls
      const found = await source.learn()
      if (call !== calls) return undefined
      current = found
      return found
    },
  }
}
