import type { Ask } from '../ask.ts'
import type { ReplyEvent } from '../event.ts'
import type { Model } from '../reply.ts'
import type { SessionRef } from '../session-ref.ts'
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
 * An agent's server as the drive sees it. A source only translates: it turns the wire into events and calls into
 * requests. Posting once, joining, repairing gaps, settling, aborting and waiting are written once above it.
 *
 * All calls reject with a `ReplyError` that says what failed and the cure, without credentials: `unreachable` if it is
 * unknown whether the server took the call, `gone` if the server doesn't know the session, message or ask, `refused`
 * and `unauthorized` if it answered so. They have a deadline of their own, except `command` and `compact`. Malformed
 * items of a list are reported and left out.
 *
 * Of a prompt that runs, the connection sends the user message and `busy` as soon as the server has it. A source that
 * shows no state of sessions (`canRead`) still answers `session` and `create`, and says what it knows itself with
 * `working`, `asks` and `children`: nothing, if that is all.
 */
export interface Source {
  /** Shown in errors to identify the server: its address, without credentials. */
  readonly name: string
  /**
   * Whether this program starts the agent itself. Each prompt without a connection then tries it at once, and fails if it
   * can't be started; else prompts wait for a server that may be starting. Default: false.
   */
  readonly isLocal?: boolean | undefined
  /**
   * Opens one connection and yields its events in the order of the wire, beginning with `connected`. Yields an empty
   * list when the connection opens, and for any sign of life without an event. Returns when the server ends the
   * connection; throws a `ReplyError` that says why it failed. Ends soon after the signal aborts.
   */
  connect(options: ConnectionOptions): AsyncIterable<readonly ReplyEvent[]>
  /** Finds out what the server can do. Called for each connection: another version may answer. Never rejects. */
  learn(): Promise<Capabilities>
  /** Begins a reading: what covers several sessions is requested at most once in it. */
  startReading(): Reading
  /** What the server knows of a session, even if its directory is unknown. */
  session(place: SessionRef): Promise<SessionInfo>
  /** One message; undefined if it was malformed and reported. */
  message(place: SessionRef, messageID: string): Promise<MessageRead | undefined>
  /** The sub-agents' sessions that this session started. Empty if there are none. */
  children(place: SessionRef): Promise<readonly SessionInfo[]>
  /** The sessions of a directory that are not idle. May list those of other directories too. */
  working(directory: string | undefined): Promise<ReadonlyMap<string, WorkStatus>>
  /** What is pending in a directory. May list what is pending elsewhere too. */
  asks(directory: string | undefined): Promise<AskList>
  /** Lists root sessions, in any order. May list sub-agents' sessions too: they have a `parentID`. */
  sessions(query: SessionQuery): Promise<readonly SessionInfo[]>
  /** The newest time in a directory by the server's clock, in ms since the epoch; undefined if it is empty. */
  newestTime(directory: string | undefined): Promise<number | undefined>
  /**
   * The server's spelling of a directory: without links, `..` and trailing slashes. Rejects with `refused` if the server
   * surely has none of that name.
   */
  spelled(directory: string): Promise<string>
  /** Creates a session. Without a directory, the server chooses. */
  create(input: CreateInput): Promise<SessionInfo>
  /**
   * Makes sure that the agent asks before it acts on the next prompt or command: that it runs no command, edits no file
   * and sends nothing out by itself, nor do its sub-agents. Without a `sessionID` for a session that is created next.
   * Resolves with when that holds: see `Guarded`. Rejects with `unguarded`, and the cure, if it can't be had; then nothing
   * may be posted. Absent if the agent can't be told so.
   */
  guard?(target: GuardTarget): Promise<Guarded>
  /** Posts a prompt once; never repeats it. Resolves once the server has it, without waiting for the run. */
  prompt(place: SessionRef, prompt: SourcePrompt): Promise<void>
  /** Runs a slash command once. Resolves once the server has it or, on some servers, when its run is over. */
  command(place: SessionRef, command: SourceCommand): Promise<void>
  /**
   * The prompts that the server has and begins later, notes excluded: behind the run at work, or parked in an idle
   * session until its next prompt. Absent if prompts begin at once.
   */
  waiting?(place: SessionRef): Promise<readonly string[]>
  /**
   * Takes back a prompt that waits. Resolves with whether it will never run: false if it has begun, or the server has
   * no call for it. Absent if prompts begin at once.
   */
  withdraw?(place: SessionRef, messageID: string): Promise<boolean>
  /** Answers a question with one list per question, or a permission with `once` or `always`. */
  answer(ask: AskAddress, answer: SourceAnswer, signal?: AbortSignal): Promise<void>
  /** Rejects an ask. Only permissions take a message. The signal cancels the call unless it was sent. */
  reject(ask: AskAddress, message?: string, signal?: AbortSignal): Promise<void>
  /** Ends the session's run, if one is going. */
  abort(place: SessionRef): Promise<void>
  /** The models that are set up for a directory. */
  models(directory: string | undefined): Promise<readonly ModelInfo[]>
  /** The agents of a directory. Absent if the server has no such list. */
  agents?(directory: string | undefined): Promise<readonly AgentInfo[]>
  /** The slash commands of a directory. Absent if the server has no such list. */
  commands?(directory: string | undefined): Promise<readonly CommandInfo[]>
  /**
   * What the server allows because a person answered `always`, in any order, of all directories. Absent if the server
   * does not say.
   */
  savedRules?(): Promise<readonly SavedRule[]>
  /** Asks again for what a saved rule allowed. Rejects with `gone` if there is none of that id. Absent if the server can't. */
  removeRule?(id: string): Promise<void>
  /** Copies a session, up to before a message or as a whole. Absent if the server can't. */
  fork?(place: SessionRef, messageID?: string): Promise<SessionInfo>
  /** Hides a message and all that follows, with their changes of files. Absent if the server can't. */
  revert?(place: SessionRef, messageID: string): Promise<void>
  /** Undoes a revert. Absent if the server can't. */
  unrevert?(place: SessionRef): Promise<void>
  /** Replaces the session's history by a summary. Resolves when that has begun or is done. Absent if the server can't. */
  compact?(place: SessionRef, model: Model): Promise<void>
  /** Fails all calls in flight and all later ones with `closed`. */
  close(): void
}

/** A source with all that OpenCode's servers offer. Only version 2 lets prompts wait and lists saved rules. */
export type OpenCodeSource = Required<Omit<Source, Optional>> & Pick<Source, Optional>

type Optional = 'waiting' | 'withdraw' | 'savedRules' | 'removeRule' | 'isLocal'

/** What a server can do, and what happens without it. */
export interface Capabilities {
  /**
   * Without a sign of life for this long, in ms, a connection is dead. Absent if the source itself notices, as with a
   * process.
   */
  readonly silenceMs?: number | undefined
  /**
   * Whether the server shows the current state of sessions, so that missed events can be read. Without it, open replies
   * end as `lost` when the connection breaks, and only the stream ends runs.
   */
  readonly canRead: boolean
  /**
   * Makes the id of a prompt's message, for servers that take one. Absent if the server makes them all: a prompt is then
   * recognized by its text.
   */
  readonly nextMessageID?: (() => string) | undefined
  /**
   * Whether a prompt that is posted again under the id of its message, with the id of its text's part, replaces what is
   * there, and runs once if nothing has run for it. Default false.
   */
  readonly repeatsPrompts?: boolean | undefined
  /** Whether a busy session takes prompts. Without it, a prompt waits until the session's run is over. */
  readonly takesPromptsWhileBusy: boolean
  /**
   * Whether a busy session keeps a prompt with the delivery `queue` until its run would end. Without it, such a prompt
   * is refused as `unsupported`.
   */
  readonly queuesPrompts: boolean
  /**
   * Whether a prompt with `noReply` appears in its session at once. Without it, its reply settles when the server has
   * taken it.
   */
  readonly showsNotes: boolean
  /**
   * Whether `sessions` lists those of all directories in one call. Without it, gaps are repaired in the directories that
   * are watched or busy.
   */
  readonly listsEverywhere: boolean
  /**
   * Whether `abort` itself tells the agent that what is pending in the session and below it will not be answered.
   * Without it, all that is pending is rejected first.
   */
  readonly abortsAsks?: boolean | undefined
}

/** How one connection is opened. */
export interface ConnectionOptions {
  /** Ends the connection. */
  readonly signal: AbortSignal
  /** The directory whose events are wanted, for servers that must be told one. */
  readonly directory: string | undefined
  /** Called with every frame's data as it arrived, before it is parsed. May throw: that is reported, not passed on. */
  readonly onFrame?: ((data: string, at: number) => void) | undefined
}

/** Several reads of one moment. */
export interface Reading {
  /** As `Source.working`, requested once per reading. */
  working(directory: string | undefined): Promise<ReadonlyMap<string, WorkStatus>>
  /** One session without its sub-agents' content. */
  session(place: SessionRef, reach: Reach): Promise<SessionRead>
}

/** Which sessions to list. */
export interface SessionQuery {
  /** Of this directory. Default: the server's own. */
  readonly directory?: string | undefined
  /** Of all directories. May cost one request each. */
  readonly everywhere?: boolean | undefined
  /** That changed at this time or later, in ms since the epoch by the server's clock. */
  readonly since?: number | undefined
}

/** A new session. A source may ignore the agent, model and variant here: prompts carry them too. */
export interface CreateInput extends Pick<SessionInput, 'title' | 'agent' | 'model' | 'variant' | 'guarded'> {
  /** Default: the server's own. */
  readonly directory: string | undefined
}

/** `next-run`: a run that is at work when the session gets its rules goes on without them. */
export type Guarded = 'always' | 'next-run'

/** What is about to run. */
export interface GuardTarget {
  /** The session that takes it. Absent for one that doesn't exist yet. */
  readonly sessionID?: string | undefined
  /** The session's directory. Absent if unknown, or the server's own. */
  readonly directory?: string | undefined
  /** The agent that answers. Default: the server's. */
  readonly agent?: string | undefined
  /** The slash command, without the slash. Absent for a prompt. */
  readonly command?: string | undefined
}

/** A prompt for an existing session. Neither empty nor blank. */
export interface SourcePrompt extends Omit<PromptInput, 'sessionID' | 'title' | 'guarded'> {
  /** The id of its message, from `nextMessageID`; or the one that it has on the server: see `repeatsPrompts`. */
  readonly messageID?: string | undefined
  /** The id that the part of its text has on the server. Absent unless the prompt is posted again. */
  readonly textPartID?: string | undefined
}

/** A command for an existing session. Its name has no slash and is not empty. */
export interface SourceCommand extends Omit<CommandInput, 'sessionID' | 'title' | 'guarded'> {
  /** The id of its message, from `nextMessageID`. */
  readonly messageID?: string | undefined
}

/** What a call needs of an ask. */
export type AskAddress = Pick<Ask, 'type' | 'requestID' | 'sessionID' | 'directory'>

/** One list of answers per question, or `once` or `always` for a permission. */
export type SourceAnswer = readonly (readonly string[])[] | 'once' | 'always'
