export type { BridgeStage, SharedAccount } from './testing/contract/bridge-stage.ts'
export type { InboundFault, InboundStage } from './testing/contract/inbound.ts'
export type { SeenMessage, Stage, StageFault } from './testing/contract/stage.ts'
export {
  bridgeChannelContract,
  type ChannelContractOptions,
  inboundContract,
  portContract,
} from './testing/contract.ts'
export { createFake, type Fake, fakeRender } from './testing/fake.ts'
export type { FakeFault, FakeOptions } from './testing/fake-options.ts'
