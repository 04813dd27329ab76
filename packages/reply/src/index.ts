export { type AlwaysOffer, type AlwaysReach, alwaysOffer, alwaysReach, startsSubagent } from './ask/always.ts'
export {
  type PermissionWords,
  type ReadPermissionAnswer,
  type ReadQuestionAnswer,
  readPermissionAnswer,
  readQuestionAnswer,
} from './ask/answer.ts'
export { type AskDetail, askDetails, askTitle } from './ask/details.ts'
export { isEqualAsk } from './ask/equal.ts'
export { isTodoTool } from './ask/tool-name.ts'
export type {
  Ask,
  AskCall,
  AskStatus,
  PermissionAsk,
  PermissionReply,
  Question,
  QuestionAsk,
  QuestionOption,
} from './ask.ts'
export type { Change, ChangeOf, ChangeType, OwnChange } from './change.ts'
export { type Clock, pause, type SteadyClock, steadyClock, systemClock, wallTime } from './clock.ts'
export { createDispatcher, type Dispatcher } from './dispatch.ts'
export { type Answer, checkAnswers } from './drive/asks/check-answers.ts'
export type { Client } from './drive/client.ts'
export { connect } from './drive/connect.ts'
export type { WatchOptions, WatchTarget } from './drive/connection/watch.ts'
export type { ConnectOptions } from './drive/options.ts'
export type { PostedPrompt, Resumed } from './drive/runs/posted-prompt.ts'
export type { ReplyStream } from './drive/runs/reply-stream.ts'
export type { ResumeOptions, RunOptions } from './drive/runs/run-options.ts'
export type { StopTarget } from './drive/runs/stop/stop-target.ts'
export { type OnError, ReplyError, type ReplyErrorType, safeOnError } from './error.ts'
export type { ReplyEvent, SessionScopedEvent, SnapshotEvent } from './event.ts'
export { type Observation, observerOf, type ReplyObserver } from './observer.ts'
export type {
  AgentPart,
  CompactionPart,
  FilePart,
  Part,
  PartStatus,
  PatchPart,
  ReasoningPart,
  ReplyFailure,
  RetryPart,
  SnapshotPart,
  StepFinishPart,
  StepStartPart,
  SubtaskPart,
  TextPart,
  Tokens,
  ToolPart,
  ToolState,
  ToolStatus,
  UnknownPart,
} from './part.ts'
export { createEventReader, type EventReaderOptions } from './recording/event-reader.ts'
export { type Recorder, type RecordOptions, record } from './recording/record.ts'
export { type ReplayOptions, replay } from './recording/replay.ts'
export { type Reduction, reduce } from './reduce/reduce.ts'
export { emptyReply } from './reduce/shape.ts'
export type {
  Child,
  Compaction,
  LostReason,
  Message,
  Model,
  Outcome,
  Phase,
  Prompt,
  PromptPart,
  Reply,
  Retry,
  SummaryStep,
  Todo,
  Usage,
} from './reply.ts'
export {
  answerOf,
  causeOf,
  currentActivity,
  type FailureCause,
  isShownText,
  outputOf,
  ownTodosOf,
  partsOf,
  pendingAsks,
  reasoningOf,
  subjectOf,
  textOf,
  toolsOf,
  totalUsage,
} from './select.ts'
export type { SessionRef } from './session-ref.ts'
export type {
  CommandInput,
  InputPart,
  OutputFormat,
  PromptDelivery,
  PromptFile,
  PromptInput,
  SessionInput,
} from './source/input.ts'
export { createDecoder, type Decoder, type DecoderOptions } from './source/opencode1/decode.ts'
export { runsUnasked } from './source/runs-unasked.ts'
export type { CommandInfo, SavedRule } from './source/server-data.ts'
export { escapeDeceptive } from './text/escape-deceptive.ts'
export { escapeInvisible } from './text/escape-invisible.ts'
export { diff } from './track/diff.ts'
export { emptyTrack, type Tracked, type TrackLimits, type TrackState } from './track/state.ts'
export { repliesOf, track, unknownSessions } from './track/track.ts'
export type { EventReader } from './wire/reader.ts'
