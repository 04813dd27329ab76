export { alwaysOffer, alwaysReach } from './ask/always.ts'
export { readPermissionAnswer, readQuestionAnswer } from './ask/answer.ts'
export { type AskDetail, askDetails, askTitle } from './ask/details.ts'
export { isEqualAsk } from './ask/equal.ts'
export { isTodoTool } from './ask/tool-name.ts'
export type { Ask, PermissionAsk, Question, QuestionAsk } from './ask.ts'
export type { Change, ChangeType } from './change.ts'
export type { Client } from './client/client.ts'
export { connect } from './client/connect.ts'
export type { StopTarget } from './client/stop-target.ts'
export { type Clock, systemClock } from './clock.ts'
export { createDispatcher, type Dispatcher } from './dispatch.ts'
export { type Answer, checkAnswers } from './drive/asks/check-answers.ts'
export type { WatchTarget } from './drive/connection/watch.ts'
export type { ConnectOptions } from './drive/options.ts'
export type { PostedPrompt } from './drive/runs/posted-prompt.ts'
export type { ReplyStream } from './drive/runs/reply-stream.ts'
export type { RunOptions } from './drive/runs/run-options.ts'
export { type OnError, ReplyError, type ReplyErrorType } from './error.ts'
export type { ReplyEvent } from './event.ts'
export type { FileChange } from './file-change.ts'
export { type Observation, observerOf, type ReplyObserver } from './observer.ts'
export type { Part, ReasoningPart, ReplyFailure, ReplyFile, TextPart, ToolPart } from './part.ts'
export { createEventReader } from './recording/event-reader.ts'
export { record } from './recording/record.ts'
export { replay } from './recording/replay.ts'
export { type Reduction, reduce } from './reduce/reduce.ts'
export { emptyReply } from './reduce/shape.ts'
export type { Child, LostReason, Message, Outcome, Reply, Todo, Usage } from './reply.ts'
export {
  answerOf,
  causeOf,
  currentActivity,
  type FailureCause,
  filesOf,
  isShownText,
  outputOf,
  ownTodosOf,
  partsOf,
  pendingAsks,
  promptOf,
  reasoningOf,
  subjectOf,
  textOf,
  toolsOf,
  totalUsage,
} from './select.ts'
export type { CommandInput, PromptFile, PromptInput } from './source/input.ts'
export { createDecoder } from './source/opencode1/decode.ts'
export { escapeDeceptive } from './text/escape-deceptive.ts'
export { escapeInvisible } from './text/escape-invisible.ts'
export { diff } from './track/diff.ts'
export { emptyTrack, type TrackState } from './track/state.ts'
export { repliesOf, track, unknownSessions } from './track/track.ts'
