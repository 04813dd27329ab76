import type { Clock } from '../../clock.ts'
import type { ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { InputPart } from '../input.ts'
import type { Capabilities, CreateInput, SessionInfo, Source, SourcePrompt } from '../port.ts'
import type { LocalRun } from './run.ts'

/** Starts, prompts and stops a local agent. Implement these for `createLocalAgent`. */
export interface LocalAgentOptions {
  /** Identifies the agent in errors, for example by the command's name. Without secrets. */
  readonly name: string
  /**
   * Removes secrets from the messages of failures and retries, because an agent may quote from its arguments or
   * environment. Default: messages stay unchanged.
   */
  readonly redact?: ((text: string) => string) | undefined
  /** Provides all times and timers. Default: `systemClock`. */
  readonly clock?: Clock | undefined
  /**
   * Starts what all sessions share, for example a process. Called once, before the first call that needs it, and again
   * after `fail` and `lose`. After `lose`, write what the open runs missed and end those that are over before it resolves.
   * Should reject with a `ReplyError` of the type `unreachable` that names the reason and the fix. Absent if there is
   * nothing to start.
   */
  readonly start?: (() => Promise<void>) | undefined
  /** Creates a session. Its title defaults to the one in `input`. */
  readonly create: (input: CreateInput) => Promise<SessionInfo> | SessionInfo
  /**
   * Opens a session that this program doesn't know yet. Return undefined if the agent doesn't know it either. Default:
   * unknown sessions are `gone`.
   */
  readonly find?: ((place: SessionRef) => Promise<SessionInfo | undefined>) | undefined
  /**
   * Called before each call about a session that this program knows. For an agent that other programs use too, whose output in a
   * session may not have been received: receive it from now on, and call `readAgain`. Default: nothing is missed.
   */
  readonly refresh?: ((sessionID: string) => Promise<void>) | undefined
  /**
   * Reads what a session of an earlier process holds, and adds its runs to `history`, oldest first. Called once for each
   * session that `find` opened or `sessions` lists, and for a copy up to a message that is not among the last runs, before
   * its first prompt. After that, the session's content is what its runs emit. Should reject with a `ReplyError`, for example `gone`. With it the source can read its sessions, so that a
   * program that was killed finds its run again. Default: the content of sessions can't be read.
   */
  readonly read?: ((place: SessionRef, history: LocalHistory) => Promise<void>) | undefined
  /**
   * Lists the agent's root sessions, also those of earlier processes, in any order. Sessions of this process that it has
   * never listed are added if they match the query. Default: those of this process.
   */
  readonly sessions?: Source['sessions'] | undefined
  /** Like `Source.fork`. Default: absent. */
  readonly fork?: NonNullable<Source['fork']> | undefined
  /**
   * Sends a prompt. A slash command has `/name arguments` as its text. Resolves once the agent has the prompt, without
   * waiting for the run. Rejects with a `ReplyError`, for example `unsupported` for a field that the agent can't use.
   * Write the agent's output to `run` at any time, and always finish with `run.end`.
   */
  readonly prompt: (run: LocalRun, prompt: SourcePrompt) => Promise<void>
  /**
   * Asks the agent to end a run. Its asks were already answered with `canceled`. Call `run.end` once the agent has
   * stopped. An abort cancels the run of the session that was `aborted`, and each sub-agent in the background below it.
   */
  readonly cancel: (run: LocalRun, aborted: SessionRef) => Promise<void> | void
  /**
   * Kills the process of a run that has not ended 10 s after `cancel`, so that its session takes prompts again. The run
   * then ends as failed. Default: no process is killed.
   */
  readonly kill?: ((run: LocalRun) => void) | undefined
  /**
   * What the agent can do, where that differs from the defaults: sessions can be read if `read` is present, and run one
   * prompt at a time. With `takesPromptsWhileBusy`, a prompt to a busy session is part of its running reply: end the
   * current run once the agent reads the prompt, and write to the prompt's run. With `queuesPrompts`, a prompt with the
   * delivery `queue` has a run behind the current one, which begins with its first output. Called for each connection and
   * each prompt, after `start`.
   */
  readonly capabilities?: (() => Partial<Capabilities>) | undefined
  /** Like `Source.spelled`. Default: resolves `.` and `..` in the path. */
  readonly spelled?: ((directory: string) => Promise<string>) | undefined
  /** Like `Source.models`. Default: an empty list. */
  readonly models?: Source['models'] | undefined
  /** Like `Source.takes`. Default: absent. */
  readonly takes?: NonNullable<Source['takes']> | undefined
  /** Like `Source.commands`. Default: absent. */
  readonly commands?: NonNullable<Source['commands']> | undefined
  /** Like `Source.agents`. Default: absent. */
  readonly agents?: NonNullable<Source['agents']> | undefined
  /** Ends everything that was started. Called once, when the source is closed. */
  readonly close?: (() => void) | undefined
}

/** Receives what a session held. See `LocalAgentOptions.read`. */
export interface LocalHistory {
  /**
   * Adds the session's next run and returns it. Write its output, and end it. A run that you leave without an end is still
   * going on if it is the last one, and becomes the session's current run (`LocalAgent.run`). Any other counts as aborted.
   *
   * Call `run` for each prompt, in order. For example
   * `history.run({ parts: [{ type: 'text', text: 'Hello' }] }).end({ type: 'completed' })`.
   */
  run(start: LocalHistoryRun): LocalRun
}

/** Describes a run of the past. */
export interface LocalHistoryRun {
  /** What it was prompted with. For a run that the agent began by itself, its reason as a synthetic text. */
  readonly parts: readonly InputPart[]
  /** The agent's own id of the prompt's message. Default: a new id. */
  readonly messageID?: string | undefined
  /** When it began, in ms since the epoch. Default: unknown. */
  readonly at?: number | undefined
}

/** A local agent's source, with access to its sessions and runs. */
export interface LocalAgent {
  /** Pass it to `connectSource`. */
  readonly source: Source
  /** Returns a session. Undefined if it isn't known. */
  session(sessionID: string): SessionInfo | undefined
  /** Returns the session's current run. Undefined if nothing runs. */
  run(sessionID: string): LocalRun | undefined
  /**
   * Begins a run that no prompt of yours started. A reason says why, for example that a command in the background has ended. It
   * is stored as the run's message, as a synthetic text, so that the reply has no prompt. Instead of a reason, pass the prompt
   * of another client. Returns the session's current run if it has one.
   */
  wake(place: SessionRef, cause: string | Pick<LocalHistoryRun, 'parts' | 'messageID'>): LocalRun
  /** Adds or updates a session and returns it. Absent fields stay unchanged. */
  update(info: SessionInfo): SessionInfo
  /**
   * Reads a session's past if that was not read yet, as the first call that needs it would. Call it in `start`, where such
   * calls would wait for the start.
   */
  read(sessionID: string): Promise<void>
  /**
   * Calls `LocalAgentOptions.read` again for a session that was read, to add the runs that it got since then. They emit nothing
   * until that is over. Reads the whole session if it was not read.
   */
  readAgain(sessionID: string): Promise<void>
  /**
   * Call this when the agent died. All runs fail with this error, and the connection breaks. The next connection calls
   * `start` again.
   */
  fail(error: ReplyError): void
  /**
   * Call this when the connection to an agent was lost that may go on without it. The connection breaks with this error, and
   * the runs stay open with their asks. The next connection, and any call that needs the agent, calls `start` again.
   */
  lose(error: ReplyError): void
}
