export { systemClock, visible } from '@reply/core'
export { type AskInput, type AskPress, type AskText, type Taken, takeAsk } from './asks.ts'
export type { AskState, Break, Card, CardType, Shown } from './card.ts'
export type { Carry, Container } from './carry.ts'
export { type Policy, toPolicy } from './config.ts'
export type { SeenMessage, Stage, StageFault } from './contract/stage.ts'
export { type Clause, type ClauseName, type ContractOptions, portContract } from './contract.ts'
export { type Dialect, type ItemPlace, renderMarkdown } from './dialect.ts'
export { SinkError, type SinkErrorType, telling } from './error.ts'
export { type FakeFault, type FakeOptions, fakeLimits } from './fake/options.ts'
export { createFake, type Fake, type FakeMessage, fakeRender } from './fake.ts'
export type { Guard } from './guard.ts'
export { heal } from './heal.ts'
export { type AnswerOptions, answerWith, type Running } from './inbound/answer.ts'
export { answerOnce, createHear, type Hear, type HearOptions } from './inbound/hear.ts'
export type { Actor, Answering, Inbound } from './inbound/inbound.ts'
export { type BoundPlace, placeOf, type SinkPlace } from './inbound/place.ts'
export { type SecretRule, secretFault, tokenFault } from './inbound/secret.ts'
export { inTurn } from './inbound/turn.ts'
export {
  createWebhook,
  type Webhook,
  type WebhookAnswer,
  type WebhookHead,
  type WebhookOptions,
  type WebhookRequest,
} from './inbound/webhook.ts'
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
export { known, lex, type Token } from './markdown.ts'
export { type Offer, type OfferFacts, offerOf } from './offer.ts'
export { type ChatPace, createPacer, type Pacer, pacerOf } from './pace.ts'
export {
  type AppendStream,
  type Attachment,
  type Bubble,
  type Button,
  type ChannelPort,
  type Chat,
  type ChatKind,
  type EditOptions,
  type Form,
  type FormQuestion,
  type MessageRef,
  type NativeStream,
  PortError,
  type PortErrorOptions,
  type PortErrorType,
  type PostOptions,
  type PreviewStream,
  type Render,
  type Rendered,
  type StreamPiece,
  type Task,
  type TypingOptions,
} from './port.ts'
export {
  type Delivery,
  deliveryOf,
  type Operation,
  type Priority,
  type ReconcileOptions,
  reconcile,
} from './reconcile.ts'
export { lazyPlain, remembering } from './remembering.ts'
export { createSink, type Sink, type SinkOptions } from './sink.ts'
export { type Slice, type SplitOptions, split } from './split.ts'
export { type Table, tableText } from './table.ts'
export type { Found, MayAnswer, TakenAsk } from './take.ts'
export { type Mode, type View, type ViewOptions, view } from './view.ts'
export { type Words, words } from './words.ts'
