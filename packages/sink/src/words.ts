import type { FailureCause, LostReason, Outcome, Todo } from '@reply/core'

/**
 * All text that the sink posts besides the agent's own. Hosts can replace any of it, such as for another language. Notices,
 * notes, endings and labels that are empty are not posted; buttons and the text of asks need words.
 */
export interface Words {
  /** Status: the model reasons. */
  thinking: string
  /** Status: the model writes text. */
  writing: string
  /** Status: a run is at work, with nothing more specific to show. */
  working: string
  /** Status in a terminal: the prompt was sent, and nothing has come yet. Chats show `working`. */
  waiting: string
  /** Status: the server compacts the context. `tokens` is its size in short: `195.3k`; undefined if unknown. */
  compacting: (tokens: string | undefined) => string
  /** Status: which call of the model this is, from 2. */
  step: (count: number) => string
  /** Status: how full the context is, from 60 percent on. */
  context: (percent: number) => string
  /** Status: nothing has come for the driver's `stalledAfterMs`. */
  stalled: string
  /** Status: the driver lost the event stream and connects again. */
  lostConnection: string
  /**
   * Status: the provider failed with `message` (one line, may be empty), and the server tries again. `wait`: how long
   * until then; undefined if it is now, or unknown. `attempt` counts from 1.
   */
  retrying: (retry: { message: string; wait: string | undefined; attempt: number | undefined }) => string
  /** Status: a sub-agent, before what it does. `description` has at most 40 units. Either may be unknown. */
  subAgent: (agent: string | undefined, description: string | undefined) => string
  /** Before the name of a tool call in a notice, as Markdown. */
  toolPrefix: string
  /** After the name of a failed tool call. `error` is one line, and may be empty. */
  toolFailed: (error: string) => string
  /** After the name of a tool call that a person or a rule of the server rejected. `reason`: the person's, in one line. */
  toolDenied: (facts: { by: 'person' | 'rule'; reason: string | undefined }) => string
  /**
   * A message after `Policy.heartbeatMs` of silence, in a chat whose messages can't be edited. `activity` is one of the
   * status words or a tool call, and undefined if nothing is known of what the agent does.
   */
  heartbeat: (activity: string | undefined, elapsed: string) => string
  /**
   * A message: the context was compacted. `tokens` is its size before, in short: `195.3k`; undefined if unknown.
   * `duration` is undefined below a second.
   */
  compacted: (facts: { tokens: string | undefined; duration: string | undefined }) => string
  /** A note below an answer whose context is 60 to 79 percent full. `tokens` and `limit` in short: `134k`, `200k`. */
  contextWarning: (facts: { percent: number; tokens: string; limit: string }) => string
  /** A note below an answer whose context is 80 percent full or more. Its facts as in `contextWarning`. */
  contextUrgent: (facts: { percent: number; tokens: string; limit: string }) => string
  /** The title of the checklist. */
  todos: string
  /** One line of the checklist, as Markdown. The item's `content` is already escaped. */
  todo: (todo: Todo) => string
  /** The message that notifies at the end of a reply which took longer than `Policy.notifyAfterMs`. */
  done: (elapsed: string) => string
  /** How a stopped, aborted or timed-out reply ended. */
  endings: Readonly<Record<Exclude<Outcome, 'completed' | 'failed' | 'lost'>, string>>
  /** How a reply ended that is lost, by the reason. */
  lost: Readonly<Record<LostReason, string>>
  /** A reply failed. `reason` is one line and ends like a sentence. */
  failed: (reason: string) => string
  /** Added to `lost` if some text was shown. */
  arrived: string
  /** What to do about a failure, added to `failed`: by its cause, or `again` for others that may pass. */
  cures: Readonly<Record<FailureCause | 'again', string>>
  /** Below an answer that ended at the model's output limit. */
  cutOff: string
  /**
   * Takes the place of an answer without text, unless the context was compacted. `tools` and `agents` are numbers of calls
   * and sub-agents; `thought`: there was reasoning.
   */
  noText: (facts: { tools: number; thought: boolean; agents: number }) => string
  /** Above the part of an answer that continues below other messages. */
  continued: string
  /** Above an answer that is posted once more, as the first post is wrong and can't be edited. */
  correction: string
  /** The text of a message that is no longer wanted, where it can't be removed. Empty: the default. */
  removed: string
  /** The caption of a file with that many lines. */
  file: (name: string, lines: number) => string
  /** Below the beginning of code that will be posted as a file, with that many lines so far. */
  fileFollows: (name: string, lines: number) => string
  /** The first line of a permission. `title` is one line: what and where, such as `edit: src/a.ts`. */
  permission: (title: string) => string
  /** A button, and how an answered permission reads. */
  allowOnce: string
  /** A button. */
  allowAlways: string
  /** How a permission reads that was allowed by "always". It names the reach. */
  allowedAlways: string
  /** The button that rejects a permission. */
  reject: string
  /** Below a question's buttons, if it takes free text. */
  other: string
  /** Below the buttons of a question that takes several options, and in answer to `pickDone` without any. */
  pickSeveral: string
  /** The button that ends the choice of several options. */
  pickDone: string
  /** The button that opens a form. */
  fillIn: string
  /**
   * How to answer a question by text: after it where there are no buttons, and in answer to a text that doesn't fit.
   * `options` is their number.
   */
  replyWith: (facts: { options: number; multiple: boolean; custom: boolean }) => string
  /**
   * How to answer a permission by text: below it where there are no buttons, and in answer to a text that is unclear.
   * `always`: that answer is offered.
   */
  replyPermission: (always: boolean) => string
  /** How to reject by text, after a sentence that says why no more is possible. */
  replyReject: string
  /**
   * A sentence: what the answer "always" would allow besides this call, and for which people. As Markdown.
   *
   * - `same`: the same command again.
   * - `patterns`: later calls that fit them. They are code spans, joined by commas.
   * - `option`: what the agent calls an option of its own, in quotes.
   */
  alwaysAllows: (what: { type: 'same' } | { type: 'patterns' | 'option'; text: string }) => string
  /** The same as the heading of patterns that are too long for a sentence. */
  alwaysCovers: string
  /** Heading of what a permission asks for, if what it would run is unknown. */
  patterns: string
  /** Heading of what the tool reports about its call, if what it would run is unknown. */
  metadata: string
  /**
   * Heading of a permission's detail that continues in another message. `label` is empty if it has no heading.
   * `isMidLine`: the cut is within a line.
   */
  goesOn: (label: string, isMidLine: boolean) => string
  /** In a permission with a file: the request includes it. */
  inFile: (name: string) => string
  /** The end of a permission's messages, once another version of it took their place. */
  superseded: string
  /** The end of an answered ask. `by` is the person's name; undefined if another client answered. */
  answered: (answer: string, by: string | undefined) => string
  /** The end of a rejected ask. `by` as in `answered`. */
  refused: (by: string | undefined) => string
  /** The end of an ask that closed without an answer. */
  withdrawn: string
  /**
   * In answer to a text that is none of the question's options. `custom`: the question takes free text too, so the text is
   * a number, which counts as free text in quotes only.
   */
  notAnOption: (given: string, options: readonly string[], custom: boolean) => string
  /** In answer to several options where one may be picked. */
  oneOnly: string
  /** In answer to a press on a message that is not known to be one of the ask's. */
  notItsMessage: string
  /** In answer to a press or text for an ask that is closed. */
  alreadyResolved: string
  /** In answer to a press for an ask of no known reply: an old one, or one whose reply is still looked for after a restart. */
  notWaiting: string
  /** In answer to a person who may not answer. */
  notForYou: string
  /** In answer to an actor without an identity; see `Actor.isAnonymous`. */
  anonymous: string
  /** In answer to a press or text in another chat than the ask's. */
  notHere: string
  /** In answer to a text from before all of the ask was shown. */
  notShownYet: string
  /** In answer to a text that fits several asks. */
  whichOne: string
  /** In answer to a bare text in a shared chat, where it answers nothing. */
  pressOrReply: string
  /** In answer to "always" where the permission doesn't offer it, as there is nothing that it would cover. */
  alwaysNotOffered: string
  /** Below a permission to start a sub-agent: allowing it may allow more than is shown. */
  subagentActs: string
  /**
   * Why "always" is not offered: the pattern has no limit, such as `*`, which is every call of that `permission`; or it
   * would cover that program, which can run anything.
   */
  alwaysTooWide: (
    what: { permission: string; pattern: string; program?: undefined } | { program: string; pattern?: undefined },
  ) => string
  /** Why a permission can only be rejected: nothing says who may answer in this shared chat. */
  notAllowedHere: string
  /** The same in short, once the chat has read the long form. */
  rejectOnly: string
  /** Why a permission can only be rejected for now: what it would run is unknown. */
  waitingForInput: string
  /** Why a permission can only be rejected: the chat couldn't show all of it. */
  notAllShown: string
  /** A duration, given in ms. */
  elapsed: (ms: number) => string
}
