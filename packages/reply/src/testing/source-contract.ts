import { asking } from './source/asking.ts'
import { type Clause, clausesOf, type SourceContractOptions } from './source/contract.ts'
import { managing } from './source/managing.ts'
import { prompting } from './source/prompting.ts'
import { connecting, reading } from './source/reading.ts'
import type { SourceStage } from './source/stage.ts'

const demands = [...connecting, ...reading, ...prompting, ...asking, ...managing] as const

/** The name of a clause, used to skip it. */
export type SourceClauseName = (typeof demands)[number]['name']

/**
 * Returns the contract that every source must pass, as clauses for your test runner. Throws for a skip without a
 * reason, or with an unknown clause name.
 */
export function sourceContract(options: SourceContractOptions<SourceStage, SourceClauseName>): readonly Clause[] {
  return clausesOf(demands, options)
}
