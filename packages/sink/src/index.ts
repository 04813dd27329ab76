export { systemClock, visible } from '@reply/core'
export type { Found, MayAnswer, TakenAsk } from './asks/answering.ts'
export { type AskInput, type AskPress, type AskText, type Taken, takeAsk } from './asks/asks.ts'
export { type Offer, type OfferFacts, offerOf } from './asks/offer.ts'
export { type Policy, toPolicy } from './config.ts'
export { inTurn } from './deliver/call-pacing.ts'
export { type ChatPace, createPacer, type Pacer, pacerOf } from './deliver/pace.ts'
export {
  type Delivery,
  deliveryOf,
  type Operation,
  type Priority,
  type ReconcileOptions,
  reconcile,
} from './deliver/reconcile.ts'
export { SinkError, type SinkErrorType, telling } from './error.ts'
export { type AnswerOptions, answerWith, type Running } from './inbound/answer.ts'
export { answerOnce, createHear, type Hear, type HearOptions } from './inbound/hear.ts'
export type { Answering, Inbound } from './inbound/inbound.ts'
export { type BoundPlace, placeOf, type SinkPlace } from './inbound/place.ts'
export { type SecretRule, secretFault, tokenFault } from './inbound/secret.ts'
export {
  createWebhook,
  type Webhook,
  type WebhookAnswer,
  type WebhookHead,
  type WebhookOptions,
  type WebhookRequest,
} from './inbound/webhook.ts'
export { layout } from './layout/layout.ts'
export type { LayoutOptions, Slot } from './layout/slot.ts'
export type { AskState, Break, Card, CardType, Shown } from './ledger/card.ts'
export type { Guard } from './ledger/guard.ts'
export {
  type Entry,
  type EntryState,
  emptyLedger,
  type Ledger,
  type LedgerStore,
  memoryStore,
  type Piece,
  shownOf,
} from './ledger/ledger.ts'
export { heal } from './markdown/close-markdown.ts'
export { type Dialect, type ItemPlace, renderMarkdown } from './markdown/dialect.ts'
export { known, lex, type Token } from './markdown/markdown.ts'
export type { Carry, Container } from './markdown/reopen-blocks.ts'
export { type Slice, type SplitOptions, split } from './markdown/split.ts'
export { type Table, tableText } from './markdown/table.ts'
export type { Actor } from './port/actor.ts'
export { cachedRender, lazyPlain } from './port/cached-render.ts'
export type { Budget, ButtonLimits, Limits } from './port/limits.ts'
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
} from './port/port.ts'
export { createSink, type Sink, type SinkOptions } from './sink.ts'
export type { SeenMessage, Stage, StageFault } from './testing/contract/stage.ts'
export { type Clause, type ClauseName, type ContractOptions, portContract } from './testing/contract.ts'
export { createFake, type Fake, type FakeMessage, fakeRender } from './testing/fake.ts'
export { type FakeFault, type FakeOptions, fakeLimits } from './testing/fake-options.ts'
export { type Mode, type View, type ViewOptions, view } from './view/view.ts'
export { type Words, words } from './words.ts'
