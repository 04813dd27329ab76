export type { SeenMessage, Stage, StageFault } from './testing/contract/stage.ts'
export { type Clause, type ClauseName, type ContractOptions, portContract } from './testing/contract.ts'
export { createFake, type Fake, type FakeMessage, fakeRender } from './testing/fake.ts'
export { type FakeFault, type FakeOptions, fakeLimits } from './testing/fake-options.ts'
