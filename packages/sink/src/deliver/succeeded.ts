import type { Ledger } from '../ledger/ledger.ts'
import type { ChannelPort } from '../port/port.ts'
import type { Operation } from './operation.ts'
import type { Performed } from './perform.ts'
import { edited, emptied, posted, removed } from './transitions.ts'
import { lookedUp } from './unknown-post.ts'

export interface SuccessOptions {
  readonly at: number
  readonly port: Pick<ChannelPort, 'remove' | 'limits'>
}

/** The ledger after a call that the platform confirmed. Pure. */
export function succeeded(
  ledger: Ledger,
  operation: Operation,
  { ref, found = { type: 'unknown' } }: Performed,
  { at, port }: SuccessOptions,
): Ledger {
  switch (operation.type) {
    case 'post':
      return ref ? posted(ledger, operation, { ref, at, keyMs: port.limits.keyMs }) : ledger
    case 'edit':
      return edited(ledger, operation)
    case 'remove':
      return port.remove ? removed(ledger, operation.entry) : emptied(ledger, operation.entry)
    case 'look-up':
      return lookedUp(ledger, operation, found)
    case 'preview':
      return ledger
    default:
      return operation satisfies never
  }
}
