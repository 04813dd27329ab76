export { layout } from './layout/layout.ts'
export type { LayoutOptions, Slot } from './layout/slot.ts'
export type { AskState } from './ledger/card.ts'
export type {
  Access,
  Content,
  DoubtfulEntry,
  Entry,
  EntryFields,
  FailedEntry,
  GoneEntry,
  IntentEntry,
  ShownEntry,
} from './ledger/entry.ts'
export { emptyLedger, type Ledger } from './ledger/ledger.ts'
export type { SeenMessage, Stage, StageFault } from './testing/contract/stage.ts'
export { type Clause, type ClauseName, type ContractOptions, portContract } from './testing/contract.ts'
export { createFake, type Fake, type FakeMessage, fakeRender } from './testing/fake.ts'
export { type FakeFault, type FakeOptions, fakeLimits } from './testing/fake-options.ts'
export type { Mode } from './view/view.ts'
