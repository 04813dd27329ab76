import type { Change, ChangeOf, ChangeType } from './change.ts'
import type { Reply } from './reply.ts'

/**
 * The argument of an observer's method: the change's own fields, the reply after the whole event, and the wire event if
 * there was one.
 */
export type Observation<C extends Change = Change> = C & {
  /** The reply after the whole event: later changes of the same event are already in it. */
  readonly reply: Reply
  /**
   * The event as the source sent it. If several were merged, the last one. Absent if the change didn't come over the
   * wire.
   */
  readonly raw?: unknown
}

/**
 * One optional method per change type. Implement the ones you need, for example `{ partChanged: ({ delta }) => … }`.
 * Plain objects and class instances both work.
 *
 * Methods are called in the order of the changes and are not awaited. If one throws or rejects, the error goes to
 * `onError` and the other observers continue.
 */
export interface ReplyObserver {
  /** The run began. Always the first change, exactly once. */
  readonly replyStarted?: Observe<'replyStarted'>
  /** The phase changed from `before` to `phase`, see `Phase`. */
  readonly phaseChanged?: Observe<'phaseChanged'>
  /**
   * An assistant message appeared or its own fields changed: model, times, finish, error. Its parts have changes of
   * their own.
   */
  readonly messageUpdated?: Observe<'messageUpdated'>
  /** The server removed a message, after `partRemoved` for each of its parts. */
  readonly messageRemoved?: Observe<'messageRemoved'>
  /** A part appeared at `index`, its position among all parts of the reply. Its text may still be empty. */
  readonly partAdded?: Observe<'partAdded'>
  /**
   * A part's content changed. `delta` is only set if the new text equals the old text plus `delta`. Without it, read
   * `part.text` again. Fires for each delta of the stream, so throttle slow work.
   */
  readonly partChanged?: Observe<'partChanged'>
  /**
   * A part closed: its text is complete. Fires at every close, even if nothing differs from the last change, so that
   * a throttled observer can flush.
   */
  readonly partFinalized?: Observe<'partFinalized'>
  /**
   * A part was taken out of the reply: `removed` by the server, `abandoned` because its step was retried, or `reverted`
   * by an undo. `index` is where it was.
   */
  readonly partRemoved?: Observe<'partRemoved'>
  /**
   * A tool call's status advanced, or its title, input, output, files, error or metadata changed (`changed` says which).
   * Also fires for the first status.
   */
  readonly toolProgressed?: Observe<'toolProgressed'>
  /** A step of the model ended. `cost` (in US dollars) and `tokens` are those of this step alone. */
  readonly stepFinished?: Observe<'stepFinished'>
  /** The checklist was written. `todos` is the whole list, which may be empty. */
  readonly todosChanged?: Observe<'todosChanged'>
  /** Tokens, cost or context limit of the reply changed. `usage` holds the totals so far. */
  readonly usageChanged?: Observe<'usageChanged'>
  /** A question waits for an answer. A sub-agent's question is also reported in `childChanged`. */
  readonly questionAsked?: Observe<'questionAsked'>
  /**
   * A question was answered, here or by another client. `answers` has one list per question. `askedAt` (in ms since the
   * epoch) is absent if the ask itself was missed.
   */
  readonly questionReplied?: Observe<'questionReplied'>
  /** A question was rejected, here or by another client. `askedAt` as in `questionReplied`. */
  readonly questionRejected?: Observe<'questionRejected'>
  /** A permission waits for an answer. Its `call` may follow in `askChanged`. */
  readonly permissionAsked?: Observe<'permissionAsked'>
  /**
   * A permission was answered, here or by another client: `answer` is `once`, `always` or `reject`. `askedAt` as in
   * `questionReplied`.
   */
  readonly permissionReplied?: Observe<'permissionReplied'>
  /**
   * A pending ask changed: the input of its call became known or changed, or the server sent the same request with
   * other content. Anything shown for it before is out of date.
   */
  readonly askChanged?: Observe<'askChanged'>
  /**
   * The ask closed without an answer and can't be answered any more: the reply ended, or the server dropped the ask.
   */
  readonly askWithdrawn?: Observe<'askWithdrawn'>
  /**
   * The provider failed, and the server retries at `nextAt` (in ms since the epoch). `message` is the provider's error.
   */
  readonly sessionRetried?: Observe<'sessionRetried'>
  /**
   * The session reported an error. `text` is "Name: message". An error doesn't always end the reply: wait for
   * `replySettled`.
   */
  readonly sessionErrored?: Observe<'sessionErrored'>
  /** The server compacts the context, or finished doing so. */
  readonly compactionChanged?: Observe<'compactionChanged'>
  /** A sub-agent started. Changes of `child.reply` follow in `childChanged`. */
  readonly childStarted?: Observe<'childStarted'>
  /**
   * Something changed inside a sub-agent's reply. `child` is that sub-agent, at any depth, and `change` is the change
   * of its own reply.
   */
  readonly childChanged?: Observe<'childChanged'>
  /** A sub-agent's reply settled. */
  readonly childSettled?: Observe<'childSettled'>
  /** The event stream was lost, or it is back and the missed events were read. */
  readonly connectionChanged?: Observe<'connectionChanged'>
  /** No event arrived for `stalledAfterMs` although the run should continue, or events arrive again. */
  readonly stalledChanged?: Observe<'stalledChanged'>
  /** The reply ended with this outcome. Fires exactly once. Only `replyAmended` may follow. */
  readonly replySettled?: Observe<'replySettled'>
  /** Late events changed the data of a settled reply. The outcome stays. */
  readonly replyAmended?: Observe<'replyAmended'>
}

/** A method that receives one type of change. Its return value is ignored, but a rejected promise is reported. */
export type Observe<T extends ChangeType> = (observation: Observation<ChangeOf<T>>) => unknown

/** Creates an observer that passes every change to one function, for example to render the newest reply. */
export function observerOf(show: (observation: Observation) => void): ReplyObserver {
  const types: Readonly<Record<ChangeType, true>> = {
    replyStarted: true,
    phaseChanged: true,
    messageUpdated: true,
    messageRemoved: true,
    partAdded: true,
    partChanged: true,
    partFinalized: true,
    partRemoved: true,
    toolProgressed: true,
    stepFinished: true,
    todosChanged: true,
    usageChanged: true,
    questionAsked: true,
    questionReplied: true,
    questionRejected: true,
    permissionAsked: true,
    permissionReplied: true,
    askChanged: true,
    askWithdrawn: true,
    sessionRetried: true,
    sessionErrored: true,
    compactionChanged: true,
    childStarted: true,
    childChanged: true,
    childSettled: true,
    connectionChanged: true,
    stalledChanged: true,
    replySettled: true,
    replyAmended: true,
  }
  return Object.fromEntries(Object.keys(types).map((type) => [type, show]))
}
