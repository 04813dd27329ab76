import { literal } from '@reply/sink/internal'
import { messageOf } from './error.ts'
import { StoreError } from './store/store.ts'
/** All text that the bridge posts itself, as Markdown. */
export const texts = {
  welcome: (rights: string) => `Write what the agent should do. /help lists the commands. You may: ${rights}.`,
  stranger: (id: string) =>
    `You are not on the list of this bridge. Ask its operator to add \`${id}\` to \`people\` in the config.`,
  anonymous: 'Write as yourself, not as a channel or an anonymous administrator.',
  mayNot: (right: string) => `You may not do that: it takes the right \`${right}\`.`,
  rightGone: 'This was not run: a person who wrote or edited it no longer has the right to.',
  othersRun: (name: string) => `That is ${name}'s. It takes the right \`admin\`.`,
  tooMany: 'Too many messages in a minute. Wait a little, then send it again.',
  tooLong: (length: number, most: number) =>
    `The message has ${length.toLocaleString('en')} characters, and at most ${most.toLocaleString('en')} are taken. Send it as a file.`,
  undelivered: (ids: readonly string[]) =>
    ids.length === 1
      ? `An answer may be missing here, or a part of it: run ${ids[0]}. The chat did not confirm it. /resend posts it again.`
      : `${ids.length} answers may be missing here, or parts of them: runs ${ids.join(', ')}. The chat did not confirm them. /resend posts them again.`,
  unreadable: 'A message that waited here could not be read any more, so it was not run. Send it again.',
  resent: (id: string) => `Posted again, as it may not have arrived · ${id}`,
  notResent: (why: string) => `It could not be posted, and stays listed: ${why}`,
  nothingMissing: 'No answer is known to be missing here.',
  notTaken: 'The bridge could not take this. Try again in a moment.',
  oldCommand: 'This command came while the bridge was down, and was not carried out. Send it again if it still counts.',
  noRoute: (id: string) => `This chat has no project. Ask the operator to add \`${id}\` to \`routes\` in the config.`,
  mirrored: (name: string, text: string) => `**${name}:** ${text}`,
  started: (id: string) => `▶️ Started · ${id}`,
  queued: (place: number) => `Queued, number ${place}. /queue shows what waits.`,
  sessionGone: 'The session no longer exists, so this is a new one. It knows nothing of the earlier messages.',
  fileFailed: (name: string, why: string) => `Nothing was run, because the file ${name} could not be read: ${why}`,
  unaskedCommand:
    'Nothing was run: with these words the command could run a shell command, read a file or call a sub-agent without asking. A person with the right `approve` can send it. You can write it as a message instead.',
  unguarded:
    'Nothing was run: the agent would run commands or edit files without asking. A person with the right `approve` can send it. The operator finds the reason and the cure in the log of the bridge.',
  commandHasNoFiles: 'The agent’s commands take no files, so the command ran without them.',
  lostSight: 'The bridge was restarted and could not follow this any more.',
  unknownRun: 'The bridge was restarted, and the server can’t tell whether this ran. Run it again?',
  runAgain: 'Run it again',
  dropIt: 'Leave it',
  left: 'Left alone.',
  runsAgain: 'It runs again.',
  serverLeft: (name: string) =>
    `The server ${name} is no longer in the config of the bridge, so what the agent goes on to do there is not shown here.`,
  channelLeft: (name: string) => `The channel ${name} is no longer in the config of the bridge.`,
  lostWake: 'The bridge did not see how this ended, as it was down. Ask the agent for the result.',
  lostSession: 'The session of this message was deleted while the bridge was down. Send it again to begin a new one.',
  restartedCommand: (command: string) =>
    `The bridge was restarted while it handled ${command}, so it may or may not have happened. Look first, then send it again.`,
  nothingRuns: 'Nothing is running here.',
  canceled: 'Stopped.',
  notStopped: (why: string) => `It could not be stopped: ${why}`,
  interrupted: 'Interrupted.',
  compacting: 'The context is being compacted, which is not interrupted. The message waits for its end.',
  newSession: (title: string | undefined) =>
    title === undefined ? 'The next message begins a new session.' : `The next message begins the session “${title}”.`,
  noSession: 'There is no session here yet: the next message begins one.',
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
  noSessions: 'No session was used in this chat yet.',
  switched: (title: string) => `This chat continues “${title}” now.`,
  notSwitched: (given: string) => `“${given}” is not a session of this chat. /sessions lists them.`,
  newer: '‹ Newer',
  older: 'Older ›',
  queueEmpty: 'Nothing is waiting.',
  queue: 'Waiting:',
  queueHelp: '/queue drop 1 removes an entry, /queue edit 1 … replaces its text.',
  notQueued: (given: string) => `“${given}” is not in the queue. /queue lists it.`,
  dropped: (number: number, text: string) => `Removed number ${number}: ${text}`,
  edited: (number: number) => `Changed number ${number}.`,
  steerWhat: 'Write what the agent should know: /steer use the other branch.',
  steered: 'Passed on to the running turn.',
  forked: (title: string) => `This chat continues the copy “${title}” now.`,
  undone: 'The last prompt and its changes were taken back.',
  nothingToUndo: 'There is nothing to undo.',
  compactStarted: 'The context is being compacted.',
  busyNow: 'The agent is at work. Wait for its end, or send /stop.',
  models: (current: string) => `Model: ${current}. /model provider/model changes it, /model default resets it.`,
  noModel: (given: string) => `“${given}” is not a model of the server.`,
  modelSet: (name: string) => `The next prompts go to ${name}.`,
  agents: (current: string) => `Agent: ${current}. /agent name changes it, /agent default resets it.`,
  noAgent: (given: string) => `“${given}” is not an agent of the server.`,
  agentSet: (name: string) => `The next prompts go to ${name}.`,
  allowed: (server: string) => `Always allowed on ${server}, for everyone who uses it:`,
  nothingAllowed: 'Nothing was allowed for always from here.',
  allowedHelp: '/allowed revoke 1 has the server ask again.',
  allowedUnsure: 'the server did not confirm it',
  allowedUntilRestart: 'This server can’t take it back. It ends when the server restarts.',
  allowedByAgent: 'The agent keeps this itself, and can’t be told from here to forget it. See its own settings.',
  notAllowed: (given: string) => `“${given}” is not listed. /allowed lists what is always allowed.`,
  revoke: (number: number) => `Revoke ${number}`,
  revoked: (patterns: string) => `The server asks again before it runs this: ${patterns}`,
  commands: 'The agent’s commands:',
  noCommands: 'The agent has no commands of its own.',
  verbose: (isOn: boolean) => (isOn ? 'Tool calls are shown with their output.' : 'Tool calls are shown in short.'),
  unsupported: (why: string) => `That is not possible: ${why}`,
  failed: (why: string) => `That failed: ${why}`,
  maybeAnswered:
    'The bridge was restarted while it passed this on as an answer, so it was taken as one. If it was meant as a message, send it again.',
  notAnswered: (why: string) => `The answer was not passed on: ${why}`,
  stateFails: 'The bridge can’t use its state now. Its operator finds the reason in the log. Try again in a moment.',
  unreachable: 'The server can’t be reached now. Try again in a moment.',
  unconfirmed: 'The server did not confirm it, so it may still be running. Try again in a moment.',
  shutOut: 'The server does not let this bridge in. Tell its operator.',
  noApprover:
    'No one in this chat may allow that: it takes the right `approve`. Work in a chat with a person who has it, or write /stop.',
  askReminder: (left: string) => `⏳ The request above still waits for an answer: ${left} left.`,
  askTimedOut: (after: string) => `No answer within ${after}, so the request is rejected.`,
  askOff: 'Requests are not passed on here, so this one is rejected.',
  askRejectedMessage: (after: string) => `There was no answer within ${after}. Go on without it, or say what you need.`,
  askOffMessage: 'There is no person to ask here. Go on without it.',
  backlog: (count: number) =>
    count === 1
      ? 'This message came while the bridge was down, and was not run:'
      : `These ${count} messages came while the bridge was down, and were not run:`,
  backlogAfter: (count: number) =>
    count === 1
      ? 'An earlier message came while the bridge was down, and was not run:'
      : `${count} earlier messages came while the bridge was down, and were not run:`,
  backlogRun: (number: number) => `Run ${number}`,
  backlogDrop: 'Leave them',
  othersBacklog: 'These are messages of others, who decide about them.',
  backlogGone: 'That is no longer there.',
  unheard: 'That button no longer works.',
}

/** Text as Markdown that shows it line by line as it is: what people and servers wrote must not become markup. */
export function plain(text: string): string {
  return text.split('\n').map(literal).join('\n')
}

/** The same for a chat: addresses of servers and paths of this machine are the operator's matter, and are only logged. */
export function chatMessageOf(error: unknown): string {
  if (error instanceof StoreError) return texts.stateFails
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  if (type === 'unreachable' || type === 'closed') return texts.unreachable
  if (type === 'not-stopped') return texts.unconfirmed
  return type === 'unauthorized' || type === 'not-opencode' ? texts.shutOut : messageOf(error)
}
