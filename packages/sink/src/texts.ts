import type { FailureCause, LostReason, Outcome, Todo } from '@reply/core'
import { counted, elapsed, lossTexts, type NoText, type StopReason, stopTexts } from '@reply/core/show'

/**
 * All text that the sink posts besides the agent's own. Hosts can replace any of it, such as for another language. Notices,
 * notes, endings and labels that are empty are not posted; buttons and the texts of asks must not be empty.
 */
export interface Texts {
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
  /** After the name of a tool call whose command exited with that code, which is not 0. */
  toolExited: (code: number) => string
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
  /** How an aborted or timed-out reply ended. */
  endings: Readonly<Record<Extract<Outcome, 'aborted' | 'timed-out'>, string>>
  /** A reply stopped before its end: a person rejected an ask, or the agent did not go on. */
  stopped: (why: StopReason) => string
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
  noText: (facts: NoText) => string
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

const by = (name: string | undefined): string => (name === undefined ? '' : ` · ${name}`)

/** The default texts, in English. */
export const texts: Texts = {
  thinking: 'Thinking',
  writing: 'Writing',
  working: 'Working',
  waiting: 'Starting',
  compacting: (tokens) => (tokens === undefined ? 'Compacting the context' : `Compacting ${tokens} tokens`),
  step: (count) => `step ${count}`,
  context: (percent) => `context ${percent}%`,
  stalled: 'no progress for a while',
  lostConnection: 'connection lost, reconnecting …',
  retrying: ({ message, wait, attempt }) => {
    const when = wait === undefined ? 'retrying' : `retrying in ${wait}`
    return `${message || 'the model failed'}: ${when}${attempt === undefined ? '' : ` (attempt ${attempt})`}`
  },
  subAgent: (agent, description) => `${agent ?? 'sub-agent'}${description ? `(${description})` : ''}`,
  toolPrefix: '🔧 ',
  toolFailed: (error) => (error === '' ? 'failed' : `failed: ${error}`),
  toolExited: (code) => `exit ${code}`,
  toolDenied: ({ by, reason }) => (by === 'rule' ? 'denied by a rule' : reason ? `rejected: ${reason}` : 'rejected'),
  heartbeat: (activity = 'nothing new from the agent yet', elapsed) => `Still working: ${activity} (${elapsed})`,
  compacted: ({ tokens, duration }) =>
    ['Context compacted', tokens && `${tokens} tokens`, duration].filter(Boolean).join(' · '),
  contextWarning: ({ percent, tokens, limit }) =>
    `The context is ${percent}% full (${tokens} of ${limit} tokens): consider compacting it.`,
  contextUrgent: ({ percent, tokens, limit }) =>
    `The context is ${percent}% full (${tokens} of ${limit} tokens): it will be compacted soon.`,
  todos: 'To do',
  todo: ({ content, status }) => {
    if (status === 'completed') return `✅ ${content}`
    if (status === 'cancelled') return `✖️ ${content}`
    return status === 'in_progress' ? `▶️ ${content}` : `▫️ ${content}`
  },
  done: (elapsed) => `Done in ${elapsed}.`,
  endings: {
    aborted: 'Aborted.',
    'timed-out': 'Timed out: aborted after too long without progress.',
  },
  stopped: (why) => `Stopped: ${stopTexts[why]}. Send another message to continue.`,
  lost: lossTexts,
  failed: (reason) => `Failed: ${reason}`,
  arrived: 'What arrived is above.',
  cures: {
    credentials:
      'The provider rejected the API key. Renew it where the agent runs (for OpenCode with "opencode auth login").',
    context: 'The context is full. Compact the session or start a new one.',
    output: 'The answer exceeded the output limit. Ask for less at a time.',
    model: 'The model is not available. Choose another one ("opencode models" lists those of OpenCode).',
    rate: 'The provider is limiting the request rate. Wait, then try again.',
    provider: 'The provider failed. Try again later.',
    again: 'Trying again may help.',
  },
  cutOff: "It was cut off at the model's output limit.",
  noText: ({ tools, thought, agents }) => {
    if (tools > 0) return `Done, without text: ${counted(tools, 'tool call')} ran.`
    if (agents > 0) return 'Done, without text: sub-agents ran.'
    return thought ? 'No answer: the model only reasoned. Try again.' : 'No answer. Try again.'
  },
  continued: '(continued)',
  correction: 'Corrected:',
  removed: '…',
  fileFollows: (name, lines) => `… ${lines} lines: all of them follow in ${name}`,
  file: (name, lines) => `📄 ${name}, ${lines} lines`,
  permission: (title) => `Allow this? ${title}`,
  allowOnce: 'Allow once',
  allowAlways: 'Always',
  allowedAlways: 'Always, for everyone who uses this server',
  reject: 'Reject',
  other: 'Or answer in your own words.',
  pickSeveral: 'Pick one or more.',
  pickDone: 'Done',
  fillIn: 'Answer …',
  replyWith: ({ options, multiple, custom }) => {
    if (options === 0) return 'Reply with your answer.'
    const how = multiple ? 'the numbers, as in 1, 3' : 'a number'
    return `Reply with ${how}${custom ? ', or in your own words' : ''}.`
  },
  replyPermission: (always) =>
    `Reply 1 to allow it once${always ? ', 2 to allow it always' : ''}, or 3 to reject it. You can also write "reject" and a reason.`,
  replyReject: 'Reply 3 to reject it.',
  alwaysAllows: (what) => {
    const reach = 'for everyone who uses this server, until it is revoked.'
    if (what.type === 'same') return `"Always" also allows this command again, ${reach}`
    if (what.type === 'patterns') return `"Always" also allows calls that fit ${what.text}, ${reach}`
    return `"Always" chooses ${what.text}, ${reach}`
  },
  alwaysCovers: '"Always" also allows calls that fit these, for everyone who uses this server, until it is revoked',
  patterns: 'Patterns',
  metadata: 'Metadata',
  goesOn: (label, isMidLine) => `${label} (${isMidLine ? 'same line, continued' : 'continued'})`.trim(),
  inFile: (name) => `The file above, ${name}, is part of this request. Read it before you answer.`,
  superseded: 'This request is no longer valid.',
  answered: (answer, name) => `✅ ${answer}${by(name)}`,
  refused: (name) => `🚫 Rejected${by(name)}`,
  withdrawn: 'No longer needed.',
  notAnOption: (given, options, custom) =>
    `"${given}" is not an option. Options: ${options.join(', ')}.${custom ? ` If it is your own answer, quote it: "${given}".` : ''}`,
  oneOnly: 'Only one answer is allowed here.',
  alreadyResolved: 'This was already resolved.',
  notWaiting: 'Nothing is known to wait for this answer. If the message keeps its buttons, try again in a moment.',
  notForYou: 'You are not allowed to answer this.',
  anonymous: 'Answer as yourself, not as a channel or an anonymous administrator.',
  notItsMessage: 'This button counts only on the message that asked. Answer there, or below the newest copy of it.',
  notHere: 'This was asked in another chat. Answer it there.',
  notShownYet: 'You answered before all of this was shown. Read it, then answer again.',
  whichOne: 'Several requests are waiting for an answer. Press a button, or reply to the one you mean.',
  pressOrReply: 'In a shared chat, press a button, or reply to the request.',
  alwaysNotOffered: '"Always" is not offered here. Reply 1 to allow it once, or 3 to reject it.',
  subagentActs: 'What the sub-agent then does is asked only where its own rules say so.',
  alwaysTooWide: (what) => {
    if (what.pattern === undefined) return `"Always" is not offered, because ${what.program} can run anything.`
    const why =
      what.pattern === '*' ? `it would allow every call of ${what.permission}` : `${what.pattern} has no limit`
    return `"Always" is not offered, because ${why}.`
  },
  notAllowedHere:
    'This cannot be allowed here: the chat is shared, and the bot has no list of people who may answer. You can only reject it.',
  rejectOnly: 'This cannot be allowed here. You can only reject it.',
  waitingForInput: 'Waiting for details of what it would run. Until then, you can only reject it.',
  notAllShown: 'This could not be shown in full here, so you can only reject it. To allow it, answer in the terminal.',
  elapsed,
}
