export { type AskInput, type Taken, takeAsk } from './asks.ts'
export type { AskState, Break, Card, CardType, PostedCard, Shown } from './card.ts'
export type { Carry, Container } from './carry.ts'
export { type Policy, toPolicy } from './config.ts'
export type { SeenMessage, Stage, StageFault } from './contract/stage.ts'
export { type Clause, type ClauseName, type ContractOptions, portContract } from './contract.ts'
export type { TakenAsk } from './deliver.ts'
export { type Dialect, type ItemPlace, renderMarkdown } from './dialect.ts'
export { SinkError, type SinkErrorType } from './error.ts'
export {
  createFake,
  type Fake,
  type FakeFault,
  type FakeMessage,
  type FakeOptions,
  fakeLimits,
  fakeRender,
} from './fake.ts'
export { heal } from './heal.ts'
export { type LayoutOptions, layout, type Slot } from './layout.ts'
export {
  type Entry,
  type EntryState,
  emptyLedger,
  type Ledger,
  type LedgerStore,
  memoryStore,
  type Piece,
  shownOf,
} from './ledger.ts'
export type { Budget, ButtonLimits, Limits } from './limits.ts'
export { lex, type Token } from './markdown.ts'
export { type ChatPace, createPacer, type Pacer } from './pace.ts'
export {
  type Attachment,
  type Bubble,
  type Button,
  type ChannelPort,
  type Chat,
  type EditOptions,
  type MessageRef,
  type NativeStream,
  PortError,
  type PortErrorOptions,
  type PortErrorType,
  type PostOptions,
  type Render,
  type Rendered,
} from './port.ts'
export {
  type Delivery,
  deliveryOf,
  type Operation,
  type Priority,
  type ReconcileOptions,
  reconcile,
} from './reconcile.ts'
export { createSink, type Sink, type SinkOptions } from './sink.ts'
export { createSplitter, type Slice, type SplitOptions, split } from './split.ts'
export { type Table, tableText } from './table.ts'
export { type Mode, type View, type ViewOptions, view } from './view.ts'
export { type Words, words } from './words.ts'
