import type { UsedTokens } from '@reply/web'
import type { SharedState } from '../state/state.ts'

/** Keeps in the state which links have allowed something, for all members. A link is forgotten after `linkMs`, when it has ended. */
export function createUsedLinks(state: Pick<SharedState, 'read' | 'commitWithoutLease'>, linkMs: number): UsedTokens {
  const keyOf = (tokenID: string): string => `used-link/${tokenID}`
  return {
    askOf: async (tokenID) => await state.read(keyOf(tokenID)),
    take: async (tokenID, askID) => {
      const key = keyOf(tokenID)
      const use = { type: 'put-if-absent', key, value: askID, expiresInMs: linkMs } as const
      return (await state.commitWithoutLease([use])) || (await state.read(key)) === askID
    },
  }
}
