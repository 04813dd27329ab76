import type { UsedTokens } from './source.ts'

/** More than are used before they end. */
const mostTokens = 100_000

/** Keeps used tokens in this process. */
export function createUsedTokens(): UsedTokens {
  const asks = new Map<string, string>()
  return {
    askOf: async (tokenID) => asks.get(tokenID),
    take: async (tokenID, askID) => {
      const known = asks.get(tokenID)
      if (known !== undefined) return known === askID
      asks.set(tokenID, askID)
      const [oldest] = asks.keys()
      if (asks.size > mostTokens && oldest !== undefined) asks.delete(oldest)
      return true
    },
  }
}
