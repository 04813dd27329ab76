import { type SourceContractOptions as AnyOptions, type Clause, clausesOf } from '@reply/core/testing'
import { commitClauses } from './contract/commits.ts'
import { durabilityClauses } from './contract/durability.ts'
import { faultClauses } from './contract/faults.ts'
import { leaseClauses } from './contract/leases.ts'
import { memberClauses } from './contract/members.ts'
import { queueClauses } from './contract/queues.ts'
import type { StoreStage } from './contract/stage.ts'
import { valueClauses } from './contract/values.ts'

const demands = [
  ...valueClauses,
  ...queueClauses,
  ...commitClauses,
  ...leaseClauses,
  ...memberClauses,
  ...durabilityClauses,
  ...faultClauses,
] as const

/** The name of a clause, also used to skip it. */
export type StoreClauseName = (typeof demands)[number]['name']

/** The store to test, and the clauses to skip. `setup` creates an empty state. */
export interface StoreContractOptions extends AnyOptions<StoreStage, StoreClauseName> {}

/** Returns the contract that every store must pass. Throws for a skip without a reason, or of an unknown clause. */
export function storeContract(options: StoreContractOptions): readonly Clause[] {
  return clausesOf(demands, options)
}
