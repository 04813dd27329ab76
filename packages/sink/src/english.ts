import { counted, elapsed } from './view/numbers.ts'
import type { Words } from './words.ts'

const by = (name: string | undefined): string => (name === undefined ? '' : ` · ${name}`)

/** The default words, in English. */
export const words: Words = {
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
  toolDenied: ({ by, reason }) => (by === 'rule' ? 'denied by a rule' : reason ? `denied: ${reason}` : 'denied'),
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
    stopped: 'Stopped before the end. Send another message to continue.',
    aborted: 'Aborted.',
    'timed-out': 'Timed out: aborted after too long without progress.',
  },
  lost: {
    'session-removed': 'The session was deleted.',
    closed: 'The connection to the agent was closed. The agent may still be working.',
    unreachable: 'Lost the connection before the reply finished. The agent may still be working.',
    'not-stopped': 'Could not stop the agent: it may still be working. Try again.',
    'end-not-seen': 'Lost the connection before the reply finished.',
  },
  failed: (reason) => `Failed: ${reason}`,
  arrived: 'What arrived is above.',
  cures: {
    credentials:
      "The provider rejected the API key: renew it where the agent runs, for OpenCode with 'opencode auth login'.",
    context: 'The context is full: compact the session or start a new one.',
    output: 'The answer exceeded the output limit: ask for less at a time.',
    model: 'The model is not available: choose another one.',
    rate: 'The provider is limiting the request rate: wait, then try again.',
    provider: 'The provider failed: try again later.',
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
