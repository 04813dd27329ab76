import { type ContractOptions as AnyOptions, type Clause, clausesOf } from '@reply/core/testing'
import { asking } from './contract/asks.ts'
import { faults } from './contract/faults.ts'
import type { Stage } from './contract/stage.ts'
import { typed } from './contract/typed.ts'
import { verbs } from './contract/verbs.ts'
import { whole } from './contract/whole.ts'

const demands = [...verbs, ...faults, ...whole, ...typed, ...asking] as const

/** The name of a clause, also used to skip it. */
export type ClauseName = (typeof demands)[number]['name']

/** The channel to test, and what it can't do. `setup` creates a port on its fake platform, with an empty chat. */
export interface ContractOptions extends AnyOptions<Stage, ClauseName> {}

/** The contract of every channel. Throws for a skip without a reason, or with an unknown clause name. */
export function portContract(options: ContractOptions): readonly Clause[] {
  return clausesOf(demands, options)
}
