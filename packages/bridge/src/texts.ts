import { elapsed } from '@reply/core/show'
import type { FileKind } from '@reply/core/source'
import { literal } from '@reply/sink/internal'
import { errorTypeOf, messageOf } from './error.ts'
import { StoreError } from './store/store.ts'

/** What people call files of each kind. */
const fileKinds: Readonly<Record<FileKind, string>> = {
  text: 'text files',
  image: 'pictures (PNG, JPEG, GIF or WebP)',
  pdf: 'PDFs',
  audio: 'sounds',
  video: 'videos',
}

/** Returns a list in English: `a`, `a and b`, or `a, b and c`. */
function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? ''
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`
}

/** All texts that the bridge posts itself, in Markdown. */
export const texts = {
  welcome: (rights: string) => `Write what the agent should do. /help lists the commands. Your rights: ${rights}.`,
  stranger: (id: string) =>
    `You are not on the list of this bridge. Ask its operator to add \`${id}\` to \`people\` in the config.`,
  anonymous: 'Write as yourself, not as a channel or an anonymous administrator.',
  mayNotAnswer:
    'You can’t answer this: it requires the right `approve`. The bridge’s operator can add it to your rights.',
  mayNot: (right: string) => `You can’t do that: it requires the right \`${right}\`.`,
  rightGone: 'Not run: someone who wrote or edited this no longer has the right `prompt`.',
  othersRun: (name: string) => `That belongs to ${name}. It requires the right \`admin\`.`,
  tooMany: 'Too many messages in a minute. Wait a little, then send it again.',
  tooLong: (length: number, most: number) =>
    `The message has ${length.toLocaleString('en')} characters. The limit is ${most.toLocaleString('en')}. Send it as a file.`,
  undelivered: (ids: readonly string[]) =>
    ids.length === 1
      ? `The answer of run ${ids[0]}, or part of it, may be missing here: the chat did not confirm it. /resend posts it again.`
      : `${ids.length} answers, or parts of them, may be missing here: the chat did not confirm runs ${ids.join(', ')}. /resend posts them again.`,
  unreadable: 'A message in the queue of this chat could not be read, so it was not run. Send it again.',
  poisonMessage:
    'The bridge ended several times while it handled this message, so the message was put aside and not run. Send it again if it should run.',
  poisonUnsure:
    'The bridge ended several times while it handled this message, so the message was put aside. It may have taken effect. Check first, then send it again if needed.',
  poisonBacklog: (count: number) =>
    count === 1
      ? 'The bridge ended several times while it handled this message from when it was down, so the message was put aside and not run. Send it again if it should run.'
      : `The bridge ended several times while it handled ${count} messages from when it was down, so they were put aside and not run. Send them again if they should run.`,
  poisonRun:
    'The bridge ended several times while it showed this run, so the run was put aside and is no longer shown. The agent is told to stop, and can’t be answered any more. It may have done the work by then. Ask it for the result.',
  poisonAnswer:
    'The bridge ended several times while it showed the answer to this, so the answer was put aside. The run is over. Ask the agent for the result.',
  poisonReason: 'The bridge ended several times while it showed this.',
  resent: (id: string) => `Posted again because it may not have arrived · ${id}`,
  notResent: (why: string) => `It could not be posted, so it stays in the list: ${why}`,
  nothingMissing: 'No answer is known to be missing here.',
  notTaken: 'The bridge could not accept this. Try again in a moment.',
  oldCommand: 'This command was sent while the bridge was down, so it was not run. Send it again if you still want it.',
  noRoute: (id: string) =>
    `No server is configured for this chat. Ask the operator to add \`${id}\` to \`routes\` in the config.`,
  fromTerminal: (where: string) => `From the terminal, ${where}`,
  fromChat: (name: string, where: string) => `From ${name} in another chat, ${where}`,
  fromUnknown: (where: string) => `In ${where}`,
  askWaits: (origin: string) => `⏳ ${plain(origin)}: the request above waits for an answer.`,
  askWaitsUnshown: (origin: string) =>
    `⏳ ${plain(origin)}: a request waits for an answer. It could not be shown here.`,
  typedElsewhere: (origin: string, text: string) => `${plain(origin)}:\n\n${quoted(text)}`,
  closedElsewhere: (by: string | undefined) =>
    by === undefined
      ? 'Answered elsewhere, or no longer needed.'
      : `Answered by ${by} or elsewhere, or no longer needed.`,
  askedElsewhere: 'This request moved to another chat.',
  noAnswerNeeded: 'No answer is needed here.',
  follow: {
    asks: 'This chat shows the questions and permission requests of runs that were started elsewhere.',
    all: 'This chat shows runs that were started elsewhere, with what was asked.',
    none: 'This chat shows nothing of runs that were started elsewhere.',
  },
  followAppliesTo: (which: readonly string[]) => `It applies to ${which.join(', and to ')}.`,
  followSession: {
    here: 'the session that this chat works with',
    next: 'the next session that this chat begins or switches to',
    elsewhere: 'The session that this chat had is no longer its own: another chat has taken it over.',
  },
  followOthers: {
    here: 'sessions that no chat works with',
    elsewhere: 'Sessions that no chat works with have another chat, their `homeChat`.',
    last: 'Of other sessions, it shows the requests alone, for a day after they were prompted here.',
    none: 'Sessions that no chat works with are shown nowhere, unless the config names a `homeChat` for them.',
  },
  followNoAsks:
    'This chat shows nothing of runs that were started elsewhere: the config turns progress off, and with it requests.',
  followGoesOn: {
    asks: 'Runs that it already follows go on as before.',
    all: 'Runs that it already follows go on as before.',
    none: 'Runs that it already shows go on to their end, without new requests.',
  },
  followHelp: '/follow asks, /follow all or /follow none changes it.',
  followWhat: (given: string) => `“${given}” is none of these: asks, all, none.`,
  mirrored: (name: string, text: string) => `**${name}:** ${text}`,
  started: (id: string) => `▶️ Started · ${id}`,
  queued: (position: number) => `Queued, number ${position}. /queue shows what waits.`,
  sessionGone: 'The session no longer exists, so a new one was started. It does not know the earlier messages.',
  fileFailed: (name: string, why: string) => `Nothing was run, because the file ${name} could not be read: ${why}`,
  fileUnsafe: (name: string) =>
    `The file ${name} was not read, because it is not safe to take files from its server. The bridge’s log tells the operator why, and how to fix it.`,
  fileNotKept: (name: string) =>
    `The file ${name} is too large to be kept, so it can’t be posted again. Ask the agent for it.`,
  unaskedCommand:
    'Nothing was run: with these arguments, the command could run a shell command, read a file or call a sub-agent without asking first. Someone with the right `approve` can send it. You can also write it as a normal message.',
  unguarded:
    'Nothing was run: the agent would run commands or edit files without asking first. Someone with the right `approve` can send it. The bridge’s log tells the operator why, and how to fix it.',
  noTranscriber:
    'Nothing was run: this bridge can’t understand voice notes yet. Type the message instead. Its operator can add `transcribe` to the config, with a program such as `{ "command": ["whisper-cli", "-m", "/path/to/model.bin", "-np", "-nt", "-f", "{file}"] }` or a service such as `{ "url": "https://api.openai.com/v1", "key": { "env": "OPENAI_API_KEY" }, "model": "whisper-1" }`.',
  emptyFile: 'it is empty.',
  notTranscribed: 'it is a voice note that was not transcribed. Send it again',
  noteWithCommand: 'Nothing was run: a command can’t have a voice note. Type its arguments.',
  understood: '🎙️ Understood:',
  quoteHelp: 'While it waits, you can change it: reply to this message with the text, or send /edit and the text.',
  quoteHelpWithoutReplies: 'While it waits, you can change it: send /edit and the text.',
  spokenNoAnswer:
    'A voice note never answers a request, so it waits for its turn. To answer, press a button or type the answer.',
  noteTooLong: (length: number, most: number) =>
    `Nothing was run: the voice note has ${length.toLocaleString('en')} characters of text. The limit is ${most.toLocaleString('en')}.`,
  noteTooLongToHear: (note: { readonly seconds: number | 'untold' | undefined; readonly maxSeconds: number }) => {
    const { seconds, maxSeconds } = note
    const most = elapsed(maxSeconds * 1000)
    if (seconds === 'untold')
      return `Nothing was run: the voice note doesn’t tell how long it is, and may be longer than ${most}. Send a shorter one, or type it.`
    const length =
      seconds === undefined ? `longer than ${most}` : `${elapsed(seconds * 1000)} long, and the limit is ${most}`
    return `Nothing was run: the voice note is ${length}. Send a shorter one, or type it.`
  },
  notUnderstood: {
    unreadable: 'Nothing was run: the voice note could not be read. It may be damaged. Record it again, or type it.',
    'too-long': 'Nothing was run: the voice note is too long. Send a shorter one, or type it.',
    empty: 'Nothing was run: no words were understood in the voice note. Record it again, or type it.',
    'too-much': 'Nothing was run: the transcriber returned far more text than a voice note has. Type it instead.',
    late: 'Nothing was run: transcribing the voice note took too long. Send a shorter one, or type it.',
    failed: 'Nothing was run: the transcriber failed. The bridge’s log tells the operator why. Type it instead.',
    missing:
      'Nothing was run: a program for voice notes is not installed. The bridge’s log tells the operator its name. Type it instead.',
    'shut-out':
      'Nothing was run: the transcription service refused the bridge. Tell its operator, and type it instead.',
    busy: 'Nothing was run: the transcription service has no time now. Send the voice note again later, or type it.',
    canceled: 'Nothing was run: the voice note was canceled.',
  },
  filesRefused: 'The agent does not take a file of the message.',
  filesNotTaken: (names: readonly string[], takes: readonly FileKind[], hasOtherModel: boolean) =>
    [
      `Nothing was run: the agent can’t read ${listed(names)}.`,
      takes.length === 0
        ? 'It takes no files. Write what it must know into the message.'
        : `It takes ${listed(takes.map((kind) => fileKinds[kind]))}. Send it in one of these forms${hasOtherModel ? ', or choose a model that reads it with `/model`' : ''}.`,
    ].join(' '),
  commandHasNoFiles: 'The agent’s commands don’t accept files, so the command ran without them.',
  lostSight: 'The bridge was restarted and lost track of this run.',
  unknownRun: 'The bridge was restarted, and the server can’t tell whether this ran. Run it again?',
  runAgain: 'Run it again',
  dropIt: 'Leave it',
  left: 'Left alone.',
  runsAgain: 'Queued to run.',
  serverLeft: (name: string) =>
    `The server ${name} is no longer in the bridge’s config, so the rest of this run is not shown here.`,
  channelLeft: (name: string) => `The channel ${name} is no longer in the bridge’s config.`,
  lostWake: 'The bridge was down when this ended. Ask the agent for the result.',
  lostSession: 'The session of this message was deleted while the bridge was down. Send it again to start a new one.',
  lateStop: (command: string) =>
    `${command} came too late, so it was not carried out: what runs here now began after you sent it. Send it again to stop that.`,
  restartedCommand: (command: string) =>
    `The bridge was restarted while it handled ${command}, so the command may or may not have run. Check first, then send it again if needed.`,
  executions: 'Recent executions (this chat):',
  noExecutions: 'No recent executions in this chat.',
  unknownExecution: (id: string) => `Unknown execution ID: ${id}`,
  executionStates: {
    running: '⏳ Running',
    complete: '✅ Complete',
    stopped: '⏹️ Stopped',
    error: '❌ Error',
    undelivered: '⚠️ Not delivered',
  },
  executionListed: (id: string, state: string, time: string) => `• ${id} ${state} ${time}`,
  executionStatus: (state: string, duration: string, id: string) => `${state} (${duration}) · ${id}`,
  lastOutput: (line: string) => `Last output: ${line}`,
  noLastOutput: 'Last output: none yet',
  finishedAt: (time: string) => `Finished: ${time}`,
  noticeTitles: {
    running: 'Running',
    complete: 'Done',
    stopped: 'Stopped',
    error: 'Failed',
  },
  noticeAsks: {
    question: 'A question waits for you',
    permission: 'A request waits for you',
  },
  stoppedEarly: 'Stopped before the end',
  aborted: 'Aborted',
  timedOut: 'Timed out',
  lost: (why: string) => `Lost: ${why}`,
  endNotSeen: 'the end was not seen',
  failedWithoutReason: 'Failed',
  unknownAfterRestart: 'Unknown after a restart',
  endedBecause: (why: string) => `Reason: ${why}`,
  undeliveredHelp: 'Its answer may be missing here. /resend posts it again.',
  logLine: (from: string, text: string) => `[${from}] ${text}`,
  noLog: (id: string) => `No output yet · ${id}`,
  nothingRuns: 'Nothing is running here.',
  /** On the page of a run. */
  runOver: 'The run has ended.',
  notBegun: 'The run has not begun yet.',
  fileUnread: 'The file could not be read.',
  alreadyAnswered: 'This was already answered.',
  askChanged: 'The request has changed meanwhile. Look at it again before you answer.',
  answerNotOffered: 'This answer is not offered: the whole request has to be known first. Reject it, or wait a moment.',
  notDone: (why: string) => `That was not done: ${why}`,
  canceled: 'Stopped.',
  notStopped: (why: string) => `It could not be stopped: ${why}`,
  stopEndsBridge: 'The bridge ended each time it tried.',
  maybeOfOther: 'Its server can’t tell whether this run or another one is at work.',
  interrupted: 'Interrupted.',
  compacting: 'The context is being compacted, and /interrupt does not stop that. Messages wait until it is done.',
  newSession: (title: string | undefined) =>
    title === undefined ? 'The next message starts a new session.' : `The next message starts the session “${title}”.`,
  noSession: 'There is no session here yet. The next message starts one.',
  current: (facts: { title: string; id: string; server: string; agent: string; model: string }) =>
    [
      `**${facts.title}**`,
      `Session: \`${facts.id}\``,
      `Server: ${facts.server}`,
      `Agent: ${facts.agent}`,
      `Model: ${facts.model}`,
    ].join('\n'),
  byDefault: 'the default',
  untitled: 'Untitled',
  sessions: (page: number, pages: number) => (pages > 1 ? `Sessions, page ${page} of ${pages}:` : 'Sessions:'),
  noSessions: 'This chat has no sessions yet.',
  switched: (title: string) => `This chat now continues “${title}”.`,
  notSwitched: (given: string) => `“${given}” is not a session of this chat. /sessions lists them.`,
  newer: '‹ Newer',
  older: 'Older ›',
  queueEmpty: 'Nothing is waiting.',
  queue: 'Waiting:',
  queueHelp: '/queue drop 1 removes an entry, /queue edit 1 … replaces its text.',
  editWhat: 'Write the new text, for example: /edit use the other branch',
  nothingToEdit: 'None of your prompts is waiting, so there is nothing to change. /queue lists what waits.',
  notQueued: (given: string) => `“${given}” is not in the queue. /queue lists it.`,
  dropped: (number: number, text: string) => `Removed number ${number}: ${text}`,
  edited: (number: number) => `Changed number ${number}.`,
  steerWhat: 'Write what the agent should know, for example: /steer use the other branch',
  steered: 'Added to the running turn.',
  forked: (title: string) => `This chat now continues the copy “${title}”.`,
  undone: 'The last prompt and its changes were undone.',
  noChanges: 'This session changed no files.',
  lastRunUnchanged:
    'The last run changed no files. What earlier runs of the session changed, this agent does not tell.',
  changesUnknown:
    'It is not known what this session changed: the agent does not tell, and the bridge has seen no run of it since it was started.',
  lastRunOnly: 'Of the last run only. What earlier runs of the session changed, this agent does not tell.',
  serverGone: (server: string) => `The config no longer has the server ${plain(server)}.`,
  noChangeOf: (given: string, files: string) =>
    `“${given}” is not a file that this session changed. It changed:\n${files}`,
  whichFile: (given: string, files: string) => `Several files end with “${given}”. Which one?\n${files}`,
  moreFiles: (count: number) => `… and ${count} more`,
  diffNotPosted: (why: string, counts: string, files: string) =>
    `${plain(why)} /diff with the name of a file shows that one.\n\n${plain(counts)}\n${files}`,
  fileUnknown: (file: string) => `${file} changed, but the agent does not tell which lines.`,
  fileBinary: (file: string) => `${file} is binary.`,
  nothingToUndo: 'There is nothing to undo.',
  compactStarted: 'The context is being compacted.',
  busyNow: 'The agent is busy. Wait until it is done, or send /stop.',
  models: (current: string) => `Model: ${current}. /model provider/model changes it, /model default resets it.`,
  noModel: (given: string) => `“${given}” is not a model of the server.`,
  modelSet: (name: string) => `The next prompts go to ${name}.`,
  agents: (current: string) => `Agent: ${current}. /agent name changes it, /agent default resets it.`,
  noAgent: (given: string) => `“${given}” is not an agent of the server.`,
  agentSet: (name: string) => `The next prompts go to ${name}.`,
  allowed: (server: string) => `Always allowed on ${server}, for everyone who uses it:`,
  nothingAllowed: 'Nothing has been always allowed from here.',
  allowedHelp: '/allowed revoke 1 makes the server ask again.',
  allowedUnsure: 'the server did not confirm it',
  allowedUntilRestart: 'This server can’t revoke it. It lasts until the server restarts.',
  allowedByAgent:
    'The agent stores this itself, so it can’t be revoked from here. Change it in the agent’s own settings.',
  notAllowed: (given: string) => `“${given}” is not listed. /allowed lists what is always allowed.`,
  revoke: (number: number) => `Revoke ${number}`,
  revoked: (patterns: string) => `The server asks again before it runs this: ${patterns}`,
  commands: 'The agent’s commands:',
  noCommands: 'The agent has no commands of its own.',
  verbose: (isOn: boolean) => (isOn ? 'Tool calls are shown with their output.' : 'Tool calls are shown briefly.'),
  unsupported: (why: string) => `That is not possible: ${why}`,
  failed: (why: string) => `That failed: ${why}`,
  lateAnswer:
    'This came too late to be an answer, so nothing was answered and nothing was run. Look at what is still open, and send it again.',
  maybeAnswered:
    'The bridge was restarted while it sent this as an answer, so it counts as one. If you meant it as a message, send it again.',
  askServerLeft: 'The server of this request is no longer known.',
  notAnswered: (why: string) => `The answer was not sent: ${why}`,
  stateFails: 'The bridge can’t use its state right now. Its log tells the operator why. Try again in a moment.',
  unreachable: 'The server can’t be reached right now. Try again in a moment.',
  unconfirmed: 'The server did not confirm it, so it may still be running. Try again in a moment.',
  shutOut: 'The server refused the bridge. Tell its operator.',
  noApprover:
    'No one in this chat can allow that: it requires the right `approve`. Use a chat with someone who has it, or send /stop.',
  askReminder: (left: string) => `⏳ The request above is still waiting for an answer: ${left} left.`,
  askReminderUnshown: (left: string) =>
    `⏳ A request that could not be shown here is still waiting for an answer: ${left} left.`,
  askTimedOut: (after: string) => `No answer within ${after}, so the request was rejected.`,
  askOff: 'Requests are not shown here, so this one was rejected.',
  askRejectedMessage: (after: string) =>
    `There was no answer within ${after}. Continue without it, or say what you need.`,
  askOffMessage: 'There is no one to ask here. Continue without it.',
  backlog: (count: number) =>
    count === 1
      ? 'This message was sent while the bridge was down, so it was not run:'
      : `These ${count} messages were sent while the bridge was down, so they were not run:`,
  backlogAfter: (count: number) =>
    count === 1
      ? 'An earlier message was sent while the bridge was down, so it was not run:'
      : `${count} earlier messages were sent while the bridge was down, so they were not run:`,
  backlogRun: (number: number) => `Run ${number}`,
  backlogDrop: 'Leave them',
  othersBacklog: 'These messages are from other people, who decide about them.',
  backlogGone: 'That message is no longer in the list.',
  buttonGone: 'That button no longer works.',
  paired: 'You are connected. Go back to the terminal.',
  wrongCode: 'This is not the code. Check the terminal.',
}

/** Escapes text as Markdown, so that what people and servers wrote does not become markup. Line breaks stay. */
export function plain(text: string): string {
  return text.split('\n').map(literal).join('\n')
}

/** Returns a text as a quotation in Markdown, without markup of its own. */
export function quoted(text: string): string {
  return plain(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}

/**
 * Returns an error's message for a chat, without secrets. Errors of the store and of the connection to a server become a
 * general text, because their addresses and paths concern the operator alone.
 */
export function chatMessageOf(error: unknown): string {
  if (error instanceof StoreError) return texts.stateFails
  const type = errorTypeOf(error)
  if (type === 'unreachable' || type === 'closed') return texts.unreachable
  if (type === 'not-stopped') return texts.unconfirmed
  return type === 'unauthorized' || type === 'not-opencode' ? texts.shutOut : messageOf(error)
}
