export { escapeInvisible, pause, safeOnError, systemClock, wallTime } from '@reply/core'
export { isAskToken } from './asks/token.ts'
export { backOffMs } from './back-off.ts'
export type { Claim, Held } from './deliver/chat-calls.ts'
export type { Priority } from './deliver/operation.ts'
export { type ChatPace, createPacer, type Pacer, pacerOf } from './deliver/pace.ts'
export { type TurnLimits, waitForPause, waitForTurn } from './deliver/wait-for-turn.ts'
export { type Resolvable, withResolvers } from './deliver/with-resolvers.ts'
export { ChannelError, type ChannelErrorType } from './error.ts'
export type {
  BridgeChannel,
  BridgeCommand,
  BridgeConnection,
  BridgeSinkOptions,
  ChannelHost,
  CheckedChannel,
  ConnectionWebhook,
  DownloadLimits,
  KnownChat,
  Note,
} from './inbound/bridge-channel.ts'
export { loadClient, type SinkFields, sinkOptionsOf } from './inbound/bridge-options.ts'
export { type ChannelOptions, type InboundOptions, inboundOptionsOf } from './inbound/channel-options.ts'
export { type SecretSource, secretSource, sinkFields } from './inbound/config.ts'
export { downloadFile, type FileRequest, tooLong } from './inbound/download.ts'
export { createHearing, type Hearing, type HearingWatch } from './inbound/hearing.ts'
export type { Answering, Inbound, InboundFile } from './inbound/inbound.ts'
export { jsonOf, utf8Of } from './inbound/json.ts'
export { NotTakenError } from './inbound/not-taken.ts'
export { createNotes, type NotesOptions, type NoteWriter } from './inbound/notes.ts'
export { createOpenTasks, type OpenTasks } from './inbound/open-tasks.ts'
export { type BoundPlace, placeOf, type SinkPlace } from './inbound/place.ts'
export {
  type AnswerRoute,
  createInboundReceiver,
  type InboundPlace,
  type InboundReceiver,
  type InboundReceiverOptions,
  type Received,
} from './inbound/receive.ts'
export { type SecretRule, secretFault, tokenFault } from './inbound/secret.ts'
export { type SendAnswerOptions, sendAnswer } from './inbound/send-answer.ts'
export {
  createWebhook,
  type Webhook,
  type WebhookAnswer,
  type WebhookHead,
  type WebhookOptions,
  type WebhookRequest,
  webhookRoutes,
} from './inbound/webhook.ts'
export type { LedgerStore } from './ledger/ledger.ts'
export { type LedgerKey, ledgerKeyOf, messageRefsOf, withLeftStatus } from './ledger/refs.ts'
export { textOf } from './markdown/character-references.ts'
export { type Dialect, type ItemPlace, renderMarkdown } from './markdown/dialect.ts'
export { addressOf, isMisleading, isOpenable, mayMislead } from './markdown/link-text.ts'
export { knownTokens, lex, type Token } from './markdown/markdown.ts'
export { type Table, tableText } from './markdown/table.ts'
export type { Actor } from './port/actor.ts'
export { cachedRender, lazyPlain } from './port/cached-render.ts'
export { type CallOptions, callPlatform, callTimeoutMs, lookUpByProbe } from './port/call.ts'
export { type Hold, whileHeld } from './port/held.ts'
export { type Budget, type ButtonLimits, type Limits, requireLength } from './port/limits.ts'
export {
  createToPortError,
  networkCodeOf,
  type Refusal,
  type ToPortError,
  typeOfNetworkError,
  typeOfStatus,
} from './port/network.ts'
export type {
  AppendStream,
  Attachment,
  Bubble,
  Button,
  ChannelPort,
  Chat,
  ChatKind,
  EditOptions,
  Form,
  FormQuestion,
  LookedUp,
  LookUpOptions,
  MessageRef,
  NativeStream,
  PostOptions,
  PostReport,
  PostReports,
  PreviewStream,
  Render,
  Rendered,
  StreamPiece,
  Task,
  TypingOptions,
} from './port/port.ts'
export { type LimitScope, PortError, type PortErrorOptions, type PortErrorType, unlessGone } from './port/port-error.ts'
export { keepSecret, quotable, SafeError, safeError, withoutSecrets } from './port/secrets.ts'
export { wellFormed, withoutHalf } from './port/well-formed.ts'
export { createRecent, type Recent } from './recent.ts'
export { retryText } from './view/activity.ts'
export { clip, literal, oneLine } from './view/format.ts'
export { amount, contextPercent, counted, dollars, duration, elapsed } from './view/numbers.ts'
export { type StatusFacts, type StatusOptions, statusFacts } from './view/status.ts'
export { type ToolEnd, toolEndOf, toolLabel } from './view/tool.ts'
