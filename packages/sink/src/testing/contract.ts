import { type SourceContractOptions as AnyOptions, type Clause, clausesOf } from '@reply/core/testing'
import { asking, typed } from './contract/asks.ts'
import { bridging } from './contract/bridge.ts'
import type { BridgeStage } from './contract/bridge-stage.ts'
import { dividing } from './contract/budgets.ts'
import { faults } from './contract/faults.ts'
import { files } from './contract/files.ts'
import { type InboundStage, inbound } from './contract/inbound.ts'
import { sharing } from './contract/sharing.ts'
import type { Stage } from './contract/stage.ts'
import { verbs } from './contract/verbs.ts'
import { whole } from './contract/whole.ts'

const bridgeDemands = [...bridging, ...sharing, ...dividing] as const

const demands = [...verbs, ...files, ...faults, ...whole, ...typed, ...asking] as const

/** The name of a clause of `portContract`, also used to skip it. */
export type ClauseName = (typeof demands)[number]['name']

/** The name of a clause of `inboundContract`, also used to skip it. */
export type InboundClauseName = (typeof inbound)[number]['name']

/** The name of a clause of `bridgeChannelContract`, also used to skip it. */
export type BridgeClauseName = (typeof bridgeDemands)[number]['name']

/** The channel to test and the clauses to skip. `setup` starts its fake platform. */
export interface BridgeContractOptions extends AnyOptions<BridgeStage, BridgeClauseName> {}

/** The port to test and the clauses to skip. `setup` creates the port on its fake platform, with an empty chat. */
export interface ChannelContractOptions extends AnyOptions<Stage, ClauseName> {}

/** The channel to test and the clauses to skip. `setup` creates the channel on its fake platform. */
export interface InboundContractOptions extends AnyOptions<InboundStage, InboundClauseName> {}

/** Returns the clauses that every port must pass. Throws for a skip without a reason or with an unknown name. */
export function portContract(options: ChannelContractOptions): readonly Clause[] {
  return clausesOf(demands, options)
}

/** Returns the clauses about a channel's answers to people. Throws as `portContract` does. */
export function inboundContract(options: InboundContractOptions): readonly Clause[] {
  return clausesOf(inbound, options)
}

/** Returns the clauses that every channel for a bridge must pass. Throws as `portContract` does. */
export function bridgeChannelContract(options: BridgeContractOptions): readonly Clause[] {
  return clausesOf(bridgeDemands, options)
}
