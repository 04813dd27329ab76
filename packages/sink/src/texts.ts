import type { Ask, FailureCause, LostReason, Outcome, Todo } from '@reply/core'
import {
  type ChangeCounts,
  changesLine,
  counted,
  dollars,
  elapsed,
  lossTexts,
  type NoText,
  type StopReason,
  stopTexts,
} from '@reply/core/show'

/** What the host sends the diff of a session for. */
export interface DiffControl {
  /** The data of a button, as in `Note.buttons`. The message with the button is one of the session's reply. */
  readonly data: string
  /** The command to name where the platform has no buttons, for example `/diff`. */
  readonly command: string
}

/**
 * All text that the sink posts besides the agent's own. You can replace any of it, for example to translate it. An empty
 * notice, note, ending or label is not posted. Buttons and the texts of asks must not be empty.
 */
export interface Texts {
  /** Status: the model is reasoning. */
  thinking: string
  /** Status: the model is writing text. */
  writing: string
  /** Status: the run is active, with nothing more specific to show. */
  working: string
  /** Status in a terminal: the prompt was sent, and no event has arrived yet. Chats show `working`. */
  waiting: string
  /** Status: the server is compacting the context. `tokens` is its size, for example `195.3k`. Undefined if unknown. */
  compacting: (tokens: string | undefined) => string
  /** Status: the number of the current call to the model. Shown from the second call on. */
  step: (count: number) => string
  /** Status: how full the context is, from 60 percent on. */
  context: (percent: number) => string
  /** Status: no event has arrived for the driver's `stalledAfterMs`. */
  stalled: string
  /** Status: the driver lost the event stream and is reconnecting. */
  lostConnection: string
  /**
   * Status: the provider failed with `message` (one line, may be empty), and the server retries. `wait` is the time until
   * the retry, undefined if it is now or unknown. `attempt` counts from 1.
   */
  retrying: (retry: { message: string; wait: string | undefined; attempt: number | undefined }) => string
  /** Status: a sub-agent, in front of its activity. `description` has at most 40 UTF-16 units. Either may be unknown. */
  subAgent: (agent: string | undefined, description: string | undefined) => string
  /** In a text that is still being written: here, words are missing. The whole text follows. */
  missing: string
  /** Before the name of a tool call in a notice, as Markdown. */
  toolPrefix: string
  /** After the name of a failed tool call. `error` is one line, and may be empty. */
  toolFailed: (error: string) => string
  /** After the name of a tool call whose command exited with this code. Never 0. */
  toolExited: (code: number) => string
  /** After the name of a tool call that a person or a rule of the server rejected. `reason` is the person's, in one line. */
  toolRejected: (facts: { by: 'person' | 'rule'; reason: string | undefined }) => string
  /**
   * A message after `Policy.heartbeatMs` of silence, in a chat whose messages can't be edited. `activity` is a
   * status text or a tool call. Undefined if the activity is unknown.
   */
  heartbeat: (activity: string | undefined, elapsed: string) => string
  /**
   * A message: the context was compacted. `tokens` is the size before, for example `195.3k`, undefined if unknown.
   * `duration` is undefined if it took less than a second.
   */
  compacted: (facts: { tokens: string | undefined; duration: string | undefined }) => string
  /**
   * A note below an answer whose context is 60 to 79 percent full. `tokens` and `limit` are short, for example `134k` and
   * `200k`.
   */
  contextWarning: (facts: { percent: number; tokens: string; limit: string }) => string
  /** A note below an answer whose context is at least 80 percent full. The same facts as for `contextWarning`. */
  contextUrgent: (facts: { percent: number; tokens: string; limit: string }) => string
  /** The title of the checklist. */
  todos: string
  /** One line of the checklist, as Markdown. The item's `content` is already escaped. */
  todo: (todo: Todo) => string
  /**
   * The message that notifies at the end of a reply which took longer than `Policy.notifyAfterMs`. `changes` is the text of
   * `changes`, empty if no file changed. `cost` is in US dollars, 0 if it is not known.
   */
  done: (elapsed: string, facts: { changes: string; cost: number }) => string
  /**
   * A line below an answer whose run changed files, for example `3 files · +41 −7`. The lines are those that are known.
   * `command` shows the whole diff. Undefined if a button does, or if nothing does.
   */
  changes: (counts: ChangeCounts, command: string | undefined) => string
  /** The button below that line, which sends the session's diff. */
  showDiff: string
  /** The link to the page with the whole reply, in the status line and below the answer. */
  openPage: string
  /** How an aborted or timed-out reply ended. */
  endings: Readonly<Record<Extract<Outcome, 'aborted' | 'timed-out'>, string>>
  /** The reply stopped early: a person rejected an ask, or the agent did not continue. */
  stopped: (why: StopReason) => string
  /** Below an answer that people of the chat stopped. Only with the policy `abortNotice: 'below'`. */
  stoppedHere: string
  /** How a lost reply ended, by reason. */
  lost: Readonly<Record<LostReason, string>>
  /** The reply failed. `reason` is one line and ends with a full stop. */
  failed: (reason: string) => string
  /** Added to `lost` if the chat shows some of the text. */
  arrived: string
  /** How to fix a failure, by its cause. Added to `failed`. `again` is for other failures that may pass. */
  cures: Readonly<Record<FailureCause | 'again', string>>
  /** Below an answer that ended at the model's output limit. */
  cutOff: string
  /**
   * Replaces an answer without text, unless the context was compacted. `tools` and `agents` count tool calls and
   * sub-agents. `thought` is true if the model reasoned.
   */
  noText: (facts: NoText) => string
  /** Above the part of an answer that continues below other messages. */
  continued: string
  /** Above an answer that is posted again, because the first post is wrong and can't be edited. */
  correction: string
  /** Replaces the text of a message that is obsolete and can't be removed. If empty, the default is used. */
  removed: string
  /** The caption of a file with this many lines. */
  file: (name: string, lines: number) => string
  /**
   * In place of a file that was not posted. `why` is a sentence that names the file. Undefined if the platform refused it without
   * one, or takes no files.
   */
  fileUnsent: (name: string, why: string | undefined) => string
  /**
   * At the end: the files beyond the `most` that a chat gets of one answer. `unnamed`: how many come after those in `names`, because
   * a message has no space for more names.
   */
  filesLeft: (names: readonly string[], most: number, unnamed: number) => string
  /** Below the beginning of code that will be posted as a file. `lines` is the number of lines so far. */
  fileFollows: (name: string, lines: number) => string
  /** The first line of a permission. `title` is one line, for example `edit: src/a.ts`. */
  permission: (title: string) => string
  /** The label of the button, and of a permission answered with it. */
  allowOnce: string
  /** The label of the button. */
  allowAlways: string
  /** Shown on a permission that was answered with "always". Says who it applies to. */
  allowedAlways: string
  /** The button that rejects a permission. */
  reject: string
  /** Below a question's buttons, if it accepts free text. */
  other: string
  /** Below the buttons of a multiple-choice question. Also the reply to `pickDone` with no option picked. */
  pickSeveral: string
  /** The button that submits the picked options. */
  pickDone: string
  /** The button that opens a form. */
  fillIn: string
  /**
   * How to answer a question by text. Shown below it where there are no buttons, and in reply to a text that doesn't fit.
   * `options` is the number of options.
   */
  replyWith: (facts: { options: number; multiple: boolean; custom: boolean }) => string
  /**
   * How to answer a permission by text. Shown below it where there are no buttons, and in reply to an unclear text.
   * `always` is true if that answer is offered.
   */
  replyPermission: (always: boolean) => string
  /** How to reject by text, after the reason why nothing else is possible. */
  replyReject: string
  /**
   * A sentence in Markdown: which other calls "always" would allow, and for which people.
   *
   * - `same`: the same command again.
   * - `patterns`: later calls that match them. `text` is code spans, joined by commas.
   * - `option`: an option that the agent defines. `text` is its name in quotes.
   */
  alwaysAllows: (what: { type: 'same' } | { type: 'patterns' | 'option'; text: string }) => string
  /** The same, as a heading above patterns that are too long for a sentence. */
  alwaysCovers: string
  /** Heading of a permission's patterns, shown if the tool's input is unknown. */
  patterns: string
  /** Heading of the tool's metadata about its call, shown if the tool's input is unknown. */
  metadata: string
  /**
   * Heading of a detail of a permission that continues from the message above. `label` is empty if it has no heading.
   * `isMidLine` is true if the cut is within a line.
   */
  goesOn: (label: string, isMidLine: boolean) => string
  /** In a permission with a file: says that the file is part of the request. */
  inFile: (name: string) => string
  /** At the end of a permission's messages, once a newer version has replaced them. */
  superseded: string
  /** At the end of an answered ask. `by` is the person's name, undefined if another client answered. */
  answered: (answer: string, by: string | undefined) => string
  /** At the end of a rejected ask. `by` as in `answered`. */
  refused: (by: string | undefined) => string
  /**
   * At the end of an ask that closed without an answer. A function is called whenever the messages are computed. `by`: the name of the
   * person who had answered or stopped it here, for example in an earlier process that did not hear of its end.
   */
  withdrawn: string | ((ask: Ask, by: string | undefined) => string)
  /**
   * Reply to a text that matches no option of the question. `custom` is true if the question also accepts free text. The
   * text is then a number, which only counts as free text in quotes.
   */
  notAnOption: (given: string, options: readonly string[], custom: boolean) => string
  /** Reply to several options where only one may be picked. */
  oneOnly: string
  /** Reply to a press on a message that is not known to belong to the ask. */
  notItsMessage: string
  /** Reply to a press or text for a closed ask. */
  alreadyResolved: string
  /** The same with how it ended. `by` is undefined if no one in this chat answered it. */
  alreadyResolvedAs: (end: string, by: string | undefined) => string
  /** Reply to a press for an unknown ask: an old one, or one whose reply has not been recovered yet after a restart. */
  notWaiting: string
  /** Reply to a person who may not answer. */
  notForYou: string
  /** Reply to an anonymous actor, see `Actor.isAnonymous`. */
  anonymous: string
  /** Reply to a press or text in a chat other than the ask's. */
  notHere: string
  /** Reply to a text that was written before all of the ask was shown. */
  notShownYet: string
  /** Reply to a text that fits several asks. */
  whichOne: string
  /** Reply to a text in a shared chat that replies to no message, and therefore answers nothing. */
  pressOrReply: string
  /** Reply to "always" if the permission doesn't offer it because it would cover no other calls. */
  alwaysNotOffered: string
  /** Below a permission to start a sub-agent, which may allow more than is shown. */
  subagentActs: string
  /**
   * Why "always" is not offered. Either the pattern is unlimited, for example `*`, which matches every call of this
   * `permission`, or it would cover this `program`, which can run anything.
   */
  alwaysTooWide: (
    what: { permission: string; pattern: string; program?: undefined } | { program: string; pattern?: undefined },
  ) => string
  /** Why a permission can only be rejected: the chat is shared, and the options don't say who may answer. */
  notAllowedHere: string
  /** A short form of `notAllowedHere`, used once the chat has shown the long form. */
  rejectOnly: string
  /** Why a permission can only be rejected for now: the tool's input is unknown. */
  waitingForInput: string
  /** Why a permission can only be rejected: the chat could not show all of it. */
  notAllShown: string
  /** Formats a duration given in ms. */
  elapsed: (ms: number) => string
}

/** Returns the person's name to append to a text. Empty without a name. */
const byline = (name: string | undefined): string => (name === undefined ? '' : ` · ${name}`)

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
  missing: '…',
  toolPrefix: '🔧 ',
  toolFailed: (error) => (error === '' ? 'failed' : `failed: ${error}`),
  toolExited: (code) => `exit ${code}`,
  toolRejected: ({ by, reason }) => (by === 'rule' ? 'denied by a rule' : reason ? `rejected: ${reason}` : 'rejected'),
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
  done: (elapsed, { changes, cost }) => {
    const facts = [elapsed, changes, cost > 0 && dollars(cost)]
    return `Done in ${facts.filter(Boolean).join(' · ')}.`
  },
  changes: (counts, command) => [changesLine(counts), command].filter(Boolean).join(' · '),
  showDiff: 'Diff',
  openPage: 'Open',
  endings: {
    aborted: 'Aborted.',
    'timed-out': 'Timed out: aborted after too long without progress.',
  },
  stoppedHere: '⏹️ Stopped.',
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
  fileUnsent: (name, why) => `📎 ${why ?? `The file ${name} can't be sent to this chat.`}`,
  filesLeft: (names, most, unnamed) => {
    const all = `📎 ${counted(names.length + unnamed, 'more file')}, not sent because a chat gets ${most} of one answer`
    if (names.length === 0) return all
    return `${all}: ${names.join(', ')}${unnamed > 0 ? ` … and ${unnamed} more` : ''}`
  },
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
  answered: (answer, name) => `✅ ${answer}${byline(name)}`,
  refused: (name) => `🚫 Rejected${byline(name)}`,
  withdrawn: 'No longer needed.',
  notAnOption: (given, options, custom) =>
    `"${given}" is not an option. Options: ${options.join(', ')}.${custom ? ` If it is your own answer, quote it: "${given}".` : ''}`,
  oneOnly: 'Only one answer is allowed here.',
  alreadyResolved: 'This was already resolved.',
  alreadyResolvedAs: (end, by) => `This was already resolved${by === undefined ? ' elsewhere' : ''}: ${end}`,
  notWaiting: 'No request is waiting for this answer. If the buttons stay, try again in a moment.',
  notForYou: 'You are not allowed to answer this.',
  anonymous: 'Answer as yourself, not as a channel or an anonymous administrator.',
  notItsMessage: 'This button only works on the original message. Answer there, or on its newest copy.',
  notHere: 'This was asked in another chat. Answer it there.',
  notShownYet: 'You answered before all of this was shown. Read it, then answer again.',
  whichOne: 'Several requests are waiting for an answer. Press a button, or reply to the one you mean.',
  pressOrReply: 'In a shared chat, press a button, or reply to the request.',
  alwaysNotOffered: '"Always" is not offered here. Reply 1 to allow it once, or 3 to reject it.',
  subagentActs: 'The sub-agent then asks only where its own rules require it.',
  alwaysTooWide: (what) => {
    if (what.pattern === undefined) return `"Always" is not offered, because ${what.program} can run anything.`
    const why =
      what.pattern === '*' ? `it would allow every call of ${what.permission}` : `${what.pattern} has no limit`
    return `"Always" is not offered, because ${why}.`
  },
  notAllowedHere:
    'This cannot be allowed here: the chat is shared, and the bot has no list of people who may answer. You can only reject it.',
  rejectOnly: 'This cannot be allowed here. You can only reject it.',
  waitingForInput: 'Waiting for the details of this call. Until they arrive, you can only reject it.',
  notAllShown: 'This could not be shown in full here, so you can only reject it. To allow it, answer in the terminal.',
  elapsed,
}
