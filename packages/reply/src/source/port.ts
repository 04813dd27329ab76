import type { Ask } from '../ask.ts'
import type { ReplyEvent } from '../event.ts'
import type { Model } from '../reply.ts'
import type { SessionRef } from '../session-ref.ts'
import type { FileKind } from './file-type.ts'
import type { CommandInput, PromptInput, SessionInput } from './input.ts'
import type {
  AgentInfo,
  AskList,
  CommandInfo,
  MessageRead,
  ModelInfo,
  Reach,
  SavedRule,
  SessionInfo,
  SessionRead,
  WorkStatus,
} from './server-data.ts'

export type { FileKind } from './file-type.ts'
export type {
  AgentInfo,
  AskList,
  CommandInfo,
  MessageRead,
  ModelInfo,
  Reach,
  SavedRule,
  SessionInfo,
  SessionRead,
  WorkStatus,
} from './server-data.ts'

/**
 * Connects the client to an agent's server. A source only translates: the wire into events, and calls into requests.
 * Posting once, joining runs, repairing gaps, settling replies, aborting and waiting are implemented once, in the
 * client.
 *
 * Every call rejects with a `ReplyError` whose message names the failure and the fix, without credentials. Its type is
 * `unreachable` if the server may or may not have taken the call, `gone` if the server doesn't know the session,
 * message or ask, and `refused` or `unauthorized` if the server answered so. Every call has its own deadline, except
 * `command` and `compact`. Malformed items of a list are reported and left out.
 *
 * When the server has a prompt, the connection emits its user message, and `busy` if it runs. A source without session
 * state (see `Capabilities.canRead`) still implements `session` and `create`. Its `working`, `asks` and `children`
 * return what the source itself knows, which may be nothing.
 */
export interface Source {
  /** Identifies the server in errors, for example by its address. Without credentials. */
  readonly name: string
  /**
   * Whether this program starts the agent itself. A prompt without a connection then connects at once, and fails if the
   * agent can't be started. Otherwise prompts wait, because the server may be starting. Default: false.
   */
  readonly isLocal?: boolean | undefined
  /**
   * Opens one connection and yields its events in the order of the wire, beginning with `connected`. Yields an empty
   * list when the connection opens, and now and then when data arrives without an event, such as a heartbeat. Returns when the
   * server ends the connection. Throws a `ReplyError` with the reason if it fails. Ends soon after the signal aborts.
   */
  connect(options: ConnectionOptions): AsyncIterable<readonly ReplyEvent[]>
  /**
   * Returns what the server can do. Called for each connection, because the server may have been updated. Never
   * rejects.
   */
  learn(): Promise<Capabilities>
  /** Begins a reading, which makes each request that covers several sessions at most once. */
  startReading(): Reading
  /** Returns a session, even if its directory is unknown. */
  session(place: SessionRef): Promise<SessionInfo>
  /** Returns one message. Undefined if it was malformed and reported. */
  message(place: SessionRef, messageID: string): Promise<MessageRead | undefined>
  /** Lists the sessions of the sub-agents that this session started. Empty if there are none. */
  children(place: SessionRef): Promise<readonly SessionInfo[]>
  /** Lists the sessions of a directory that are not idle. May include those of other directories. */
  working(directory: string | undefined): Promise<ReadonlyMap<string, WorkStatus>>
  /** Lists the pending asks of a directory. May include those of other directories. */
  asks(directory: string | undefined): Promise<AskList>
  /** Lists root sessions, in any order. May include sessions of sub-agents, which have a `parentID`. */
  sessions(query: SessionQuery): Promise<readonly SessionInfo[]>
  /**
   * Returns the newest time in a directory by the server's clock, in ms since the epoch. Undefined if the directory has
   * no sessions.
   */
  newestTime(directory: string | undefined): Promise<number | undefined>
  /**
   * Returns the server's spelling of a directory: without links, `..` and trailing slashes. Rejects with `refused` if
   * the server certainly has no such directory.
   */
  spelled(directory: string): Promise<string>
  /** Creates a session. Without a directory, the server chooses. */
  create(input: CreateInput): Promise<SessionInfo>
  /**
   * Makes sure that the agent and its sub-agents ask before they act on the next prompt or command: before they run a
   * command, edit a file or send anything out. Without a `sessionID`, checks that for the session that is created next.
   * Resolves with when the guard applies (see `Guarded`). Rejects with `unguarded` and a fix if the guard can't be had.
   * Nothing may be posted then. Absent if the agent has no such setting.
   */
  guard?(target: GuardTarget): Promise<Guarded>
  /**
   * Posts a prompt once and never retries. Resolves once the server has it, without waiting for the run. The signal cancels
   * the call, also if it was sent: a stop must not wait for a server that does not respond.
   */
  prompt(place: SessionRef, prompt: SourcePrompt, signal?: AbortSignal): Promise<void>
  /**
   * Runs a slash command once and never retries. Resolves once the server has it or, on some servers, when its run has
   * ended. The signal cancels the call, as that of a prompt.
   */
  command(place: SessionRef, command: SourceCommand, signal?: AbortSignal): Promise<void>
  /**
   * Lists the ids of prompts that the server has but has not begun: queued behind the current run, or parked in an idle
   * session until its next prompt. Excludes notes. Absent if prompts begin at once.
   */
  waiting?(place: SessionRef): Promise<readonly string[]>
  /**
   * Withdraws a prompt that waits. Resolves with true if it will never run, and with false if it has begun or the
   * server can't withdraw prompts. Absent if prompts begin at once.
   */
  withdraw?(place: SessionRef, messageID: string): Promise<boolean>
  /**
   * Answers a question with one list per question, or a permission with `once` or `always`. The signal cancels the call
   * unless it was sent.
   */
  answer(ask: AskAddress, answer: SourceAnswer, signal?: AbortSignal): Promise<void>
  /** Rejects an ask. Only permissions take a message. The signal cancels the call unless it was sent. */
  reject(ask: AskAddress, message?: string, signal?: AbortSignal): Promise<void>
  /** Aborts the session's run, if it has one. */
  abort(place: SessionRef): Promise<void>
  /** Lists the models that are set up for a directory. */
  models(directory: string | undefined): Promise<readonly ModelInfo[]>
  /**
   * Lists the kinds of files that a prompt may have there. Resolves with undefined if the server doesn't tell which model would
   * answer, or what that takes. Absent if nothing is known.
   */
  takes?(target: TakesTarget): Promise<readonly FileKind[] | undefined>
  /** Lists the agents of a directory. Absent if the server has no such list. */
  agents?(directory: string | undefined): Promise<readonly AgentInfo[]>
  /** Lists the slash commands of a directory. Absent if the server has no such list. */
  commands?(directory: string | undefined): Promise<readonly CommandInfo[]>
  /**
   * Lists what the server allows because a person answered `always`, in any order, for all directories. Absent if the
   * server doesn't list it.
   */
  savedRules?(): Promise<readonly SavedRule[]>
  /**
   * Removes a saved rule, so that the server asks again. Rejects with `gone` if no rule has this id. Absent if the
   * server can't.
   */
  removeRule?(id: string): Promise<void>
  /**
   * Counts the prompts of a session that have this text, from its beginning and without comparing white space at both
   * ends. Prompts that wait count too. Absent if the server keeps the ids of prompts (see `Capabilities.keepsPromptIDs`).
   */
  countPrompts?(place: SessionRef, text: string): Promise<number>
  /** Copies a session, either whole or up to before a message. Absent if the server can't. */
  fork?(place: SessionRef, messageID?: string): Promise<SessionInfo>
  /** Hides a message and all later ones, and undoes their file changes. Absent if the server can't. */
  revert?(place: SessionRef, messageID: string): Promise<void>
  /** Undoes a revert. Absent if the server can't. */
  unrevert?(place: SessionRef): Promise<void>
  /**
   * Replaces the session's history with a summary. Resolves when that has begun or is done. Absent if the server can't.
   */
  compact?(place: SessionRef, model: Model): Promise<void>
  /** Closes the source. All calls in flight and all later ones fail with `closed`. */
  close(): void
}

/** A source with every call that OpenCode's servers have. Only version 2 can queue prompts and list saved rules. */
export type OpenCodeSource = Required<Omit<Source, Optional>> & Pick<Source, Optional>

type Optional = 'waiting' | 'withdraw' | 'savedRules' | 'removeRule' | 'countPrompts' | 'isLocal'

/** What a server can do. Each flag documents what happens without it. */
export interface Capabilities {
  /**
   * After how long without any data a connection counts as dead, in ms. Absent if the source itself notices, for
   * example that a process has exited.
   */
  readonly silenceMs?: number | undefined
  /**
   * Whether the server shows the current state of sessions, so that missed events can be read. Without it, open replies
   * end as `lost` when the connection breaks, and only events end runs.
   */
  readonly canRead: boolean
  /**
   * Creates the id of a prompt's message, for servers that accept one. Absent if the server makes the ids itself. A
   * prompt is then recognized by its text.
   */
  readonly nextMessageID?: (() => string) | undefined
  /**
   * Whether the server stores a prompt under the id that you chose. Without it, only this program knows the id, so that
   * `resume` looks for the prompt's text and compares `Source.countPrompts` with the count before the post. Default:
   * true.
   */
  readonly keepsPromptIDs?: boolean | undefined
  /**
   * Whether you can post a prompt again idempotently, under the ids of its message and of its text's part. It replaces
   * the stored prompt, and runs once if nothing has run for it. Default: false.
   */
  readonly repeatsPrompts?: boolean | undefined
  /**
   * Whether each step names the newest prompt that its model got, as its `parentID`. A prompt of a run that no step
   * names, nor a later prompt, then has no answer. Default: false.
   */
  readonly namesNewestPrompt?: boolean | undefined
  /** Whether a busy session takes prompts. Without it, a prompt waits until the session's run has ended. */
  readonly takesPromptsWhileBusy: boolean
  /**
   * Whether a busy session queues a prompt with the delivery `queue` until its run would end. Without it, such a prompt
   * fails as `unsupported`.
   */
  readonly queuesPrompts: boolean
  /**
   * Whether a prompt with `noReply` appears in its session at once. Without it, its reply settles when the server has
   * taken the prompt.
   */
  readonly showsNotes: boolean
  /**
   * Whether `sessions` lists all directories in one call. Without it, gaps are repaired only in directories that are
   * watched or busy.
   */
  readonly listsEverywhere: boolean
  /**
   * Whether `abort` also closes the pending asks of the session and its sub-agents. Without it, they are rejected
   * first.
   */
  readonly abortsAsks?: boolean | undefined
}

/** Options of one connection. */
export interface ConnectionOptions {
  /** Ends the connection. */
  readonly signal: AbortSignal
  /** The directory whose events to receive, for servers that require one. */
  readonly directory: string | undefined
  /**
   * Called with each frame's data as it arrived, before it is parsed, and the arrival time in ms since the epoch.
   * Errors that it throws are reported, not passed on.
   */
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  /**
   * The sessions whose events to receive. A source may skip all others before it parses them. Default: those of all
   * sessions.
   */
  readonly following?: Following | undefined
}

/** The sessions that a client follows at the moment. */
export interface Following {
  /** Whether all sessions are followed, so that nothing may be skipped. */
  isEvery(): boolean
  /** Whether the session is followed: one that the client works with, or a sub-agent's below one. */
  includes(sessionID: string): boolean
  /**
   * Follows the session of a sub-agent, because an event names its parent, which is followed. Returns whether it was not
   * followed before, so that its skipped events are still wanted.
   */
  addChild(sessionID: string, parentID: string): boolean
  /**
   * Sets what returns the skipped events of sessions that are followed since: all of a sub-agent's, and those of a root
   * from `since` on. Replaces that of an earlier connection.
   */
  onAdded(release: (added: readonly AddedSession[]) => readonly ReplyEvent[]): void
}

/** A session that is followed from now on. */
export interface AddedSession {
  readonly sessionID: string
  /** When the client began to work with it, in ms since the epoch. Absent for a sub-agent's. */
  readonly since?: number | undefined
}

/** Several reads that belong to the same moment. */
export interface Reading {
  /** Like `Source.working`, but requested once per reading. */
  working(directory: string | undefined): Promise<ReadonlyMap<string, WorkStatus>>
  /** Reads one session, without the content of its sub-agents. */
  session(place: SessionRef, reach: Reach): Promise<SessionRead>
}

/** Which sessions to list. */
export interface SessionQuery {
  /** Only sessions of this directory. Default: the server's own. */
  readonly directory?: string | undefined
  /** Sessions of all directories. May cost one request per directory. */
  readonly everywhere?: boolean | undefined
  /** Only sessions that changed at this time or later, in ms since the epoch by the server's clock. */
  readonly since?: number | undefined
}

/** A new session. A source may ignore the agent, model and variant, because prompts carry them too. */
export interface CreateInput extends Pick<SessionInput, 'title' | 'agent' | 'model' | 'variant' | 'guarded'> {
  /** The session's directory. Default: the server's own. */
  readonly directory: string | undefined
}

/** When a session's guard applies. `next-run`: a run that is already going continues without it. */
export type Guarded = 'always' | 'next-run'

/** The session, agent and model of a prompt. */
export interface TakesTarget extends Pick<SessionInput, 'agent' | 'model'> {
  /** The session that takes it. Absent for a session that doesn't exist yet. */
  readonly sessionID?: string | undefined
  /** The session's directory. Absent if it is unknown or the server's own. */
  readonly directory?: string | undefined
}

/** The prompt or command to guard. */
export interface GuardTarget {
  /** The session that takes it. Absent for a session that doesn't exist yet. */
  readonly sessionID?: string | undefined
  /** The session's directory. Absent if it is unknown or the server's own. */
  readonly directory?: string | undefined
  /** The agent that answers. Default: the server's. */
  readonly agent?: string | undefined
  /** The slash command, without the slash. Absent for a prompt. */
  readonly command?: string | undefined
}

/** A prompt for an existing session. It is neither empty nor blank. */
export interface SourcePrompt extends Omit<PromptInput, 'sessionID' | 'title' | 'guarded'> {
  /**
   * The id of its message, from `nextMessageID`. If the prompt is posted again, the id that it has on the server (see
   * `repeatsPrompts`).
   */
  readonly messageID?: string | undefined
  /** The stored id of its text's part. Absent unless the prompt is posted again. */
  readonly textPartID?: string | undefined
}

/** A command for an existing session. Its name is not empty and has no slash. */
export interface SourceCommand extends Omit<CommandInput, 'sessionID' | 'title' | 'guarded'> {
  /** The id of its message, from `nextMessageID`. */
  readonly messageID?: string | undefined
}

/** Identifies an ask in a call. */
export type AskAddress = Pick<Ask, 'type' | 'requestID' | 'sessionID' | 'directory'>

/** One list of answers per question, or `once` or `always` for a permission. */
export type SourceAnswer = readonly (readonly string[])[] | 'once' | 'always'
