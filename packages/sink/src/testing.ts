export type { Clause } from '@reply/core/testing'
export type { BridgeSaid, BridgeStage } from './testing/contract/bridge-stage.ts'
export type { InboundFault, InboundHost, InboundStage } from './testing/contract/inbound.ts'
export type { SeenMessage, Stage, StageFault } from './testing/contract/stage.ts'
export {
  type BridgeClauseName,
  type BridgeContractOptions,
  bridgeChannelContract,
  type ClauseName,
  type ContractOptions,
  type InboundClauseName,
  type InboundContractOptions,
  inboundContract,
  portContract,
} from './testing/contract.ts'
export { createFake, type Fake, type FakeMessage, fakeRender } from './testing/fake.ts'
export { type FakeFault, type FakeOptions, fakeLimits } from './testing/fake-options.ts'
