import { type ContractOptions as AnyOptions, type Clause, clausesOf } from '@reply/core/testing'
import { asking, typed } from './contract/asks.ts'
import { bridging } from './contract/bridge.ts'
import type { BridgeStage } from './contract/bridge-stage.ts'
import { faults } from './contract/faults.ts'
import { type InboundStage, inbound } from './contract/inbound.ts'
import type { Stage } from './contract/stage.ts'
import { verbs } from './contract/verbs.ts'
import { whole } from './contract/whole.ts'

const demands = [...verbs, ...faults, ...whole, ...typed, ...asking] as const

/** The name of a clause, also used to skip it. */
export type ClauseName = (typeof demands)[number]['name']

/** The name of a clause about answers to people. */
export type InboundClauseName = (typeof inbound)[number]['name']

/** The name of a clause about a channel of a bridge. */
export type BridgeClauseName = (typeof bridging)[number]['name']

/** The channel to test, and what it can't do. `setup` starts its fake platform. */
export interface BridgeContractOptions extends AnyOptions<BridgeStage, BridgeClauseName> {}

/** The channel to test, and what it can't do. `setup` creates a port on its fake platform, with an empty chat. */
export interface ContractOptions extends AnyOptions<Stage, ClauseName> {}

/** The channel to test, and what it can't do. `setup` creates the channel on its fake platform. */
export interface InboundContractOptions extends AnyOptions<InboundStage, InboundClauseName> {}

/** The contract of every port. Throws for a skip without a reason, or with an unknown clause name. */
export function portContract(options: ContractOptions): readonly Clause[] {
  return clausesOf(demands, options)
}

/** The contract of every channel about answers to people. Throws as `portContract` does. */
export function inboundContract(options: InboundContractOptions): readonly Clause[] {
  return clausesOf(inbound, options)
}

/** The contract of every channel that a bridge can load. Throws as `portContract` does. */
export function bridgeChannelContract(options: BridgeContractOptions): readonly Clause[] {
  return clausesOf(bridging, options)
}
