import type { Clock } from '../../clock.ts'
import type { ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { CreateInput, SessionInfo, Source, SourcePrompt } from '../port.ts'
import type { LocalRun } from './run.ts'

/** How a local agent is started, prompted and stopped. */
export interface LocalAgentOptions {
  /** Shown in errors, such as the command's name. Without secrets. */
  readonly name: string
  /**
   * Removes secrets from the words of failures and retries, which an agent may quote from what it was started with.
   * Default: they stay as they are.
   */
  readonly redact?: ((text: string) => string) | undefined
  /** Default: the computer's. */
  readonly clock?: Clock | undefined
  /**
   * Starts what all sessions share, once, before the first call that needs it, and again after `fail`. Rejects with a
   * `ReplyError` of the type `unreachable` that says why and the cure. Absent if there is nothing to start.
   */
  readonly start?: (() => Promise<void>) | undefined
  /** Makes a session. Its title defaults to the one that was asked for. */
  readonly create: (input: CreateInput) => Promise<SessionInfo> | SessionInfo
  /** Opens a session that this program doesn't know yet; undefined if the agent doesn't either. Default: none. */
  readonly find?: ((place: SessionRef) => Promise<SessionInfo | undefined>) | undefined
  /**
   * Sends a prompt, with a command as `/name arguments` in its text. Resolves once the agent has it, without waiting for
   * the run; rejects with a `ReplyError`, such as `unsupported` for a field that the agent has no use for. What it says
   * goes to the run, at any time until `run.end`, which must come in every case.
   */
  readonly prompt: (run: LocalRun, prompt: SourcePrompt) => Promise<void>
  /** Asks the agent to end a run. Its asks have been answered with `canceled`. The run's own `end` says that it did. */
  readonly cancel: (run: LocalRun) => Promise<void> | void
  /**
   * Ends the process of a run that has not ended 10 s after `cancel`, so that its session takes prompts again. The run
   * then ends as failed. Default: nothing is ended.
   */
  readonly kill?: ((run: LocalRun) => void) | undefined
  /** As in `Source`. Default: the path without dots. */
  readonly spelled?: ((directory: string) => Promise<string>) | undefined
  /** As in `Source`. Default: none. */
  readonly models?: Source['models'] | undefined
  /** As in `Source`. Default: absent. */
  readonly commands?: NonNullable<Source['commands']> | undefined
  /** As in `Source`. Default: absent. */
  readonly agents?: NonNullable<Source['agents']> | undefined
  /** Ends everything that was started. Called once. */
  readonly close?: (() => void) | undefined
}

/** A local agent's source, and what its preset needs of it. */
export interface LocalAgent {
  /** For `connectSource`. */
  readonly source: Source
  /** What is known of a session. */
  session(sessionID: string): SessionInfo | undefined
  /** The run of a session, if one is going. */
  run(sessionID: string): LocalRun | undefined
  /** Adds a session, or changes what is known of it. Absent fields stay as they are. */
  update(info: SessionInfo): SessionInfo
  /** The agent died: fails all runs with this error and breaks the connection. The next one calls `start` again. */
  fail(error: ReplyError): void
}
