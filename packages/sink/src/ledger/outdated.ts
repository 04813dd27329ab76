import { requestOf } from './keys.ts'
import type { Entry, Ledger } from './ledger.ts'

/**
 * Ledgers without `outdated` don't say how much of an ask was shown, so this lists the asks that may be open in them.
 */
export function withOutdated(ledger: Ledger): Ledger {
  if (ledger.outdated) return ledger
  const isOpen = ({ type, card }: Entry): boolean => {
    const state = ledger.asks[requestOf(card) ?? '']
    return type === 'ask' && state !== undefined && state.by === undefined && state.answers.length === 0
  }
  return { ...ledger, outdated: [...new Set(ledger.entries.filter(isOpen).map(({ card }) => card))] }
}
