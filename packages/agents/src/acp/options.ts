import { basename, resolve } from 'node:path'
import type { McpServer } from '@agentclientprotocol/sdk'
import { type Clock, type OnError, ReplyError, systemClock } from '@reply/core'
import { createSecretFilter, guarded, safeOnError } from '@reply/core/internal'
import type { AcpNotice } from './decode/update.ts'

/** The agent to start, and what it may do here. */
export interface AcpOptions {
  /** The agent's program: a path, or a name that is looked up in `PATH`. No shell reads it. */
  readonly command: string
  /** Its arguments, each as it is. Default: none. */
  readonly args?: readonly string[] | undefined
  /** The folder to start it in, and of sessions that name none. Default: the current one. */
  readonly cwd?: string | undefined
  /** Added to this process's environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Shown in errors. Default: the program's name without its folder. */
  readonly name?: string | undefined
  /**
   * Whether the agent may read, or also write, text files through this program: only inside its session's folder, links
   * and `..` followed. Most agents also touch files by themselves; `none` does not stop that. Default `write`.
   */
  readonly files?: 'none' | 'read' | 'write' | undefined
  /**
   * Whether the agent may run commands here, as this user and with the agent's environment, without asking: a folder does
   * not confine a shell. They start in the session's folder or below it, during a run. They end with the abort of their
   * run, with the agent and with this program. Most agents run commands by themselves; `false` does not stop that.
   * Default `false`.
   */
  readonly terminals?: boolean | undefined
  /** The MCP servers that each session gets, as the protocol has them. Default: none. */
  readonly mcpServers?: readonly McpServer[] | undefined
  /** Logs in with this method of the agent's `authMethods` when it has started. Default: the agent's own login. */
  readonly authMethodID?: string | undefined
  /** How long the agent may take to start and answer a request that is not a prompt, in ms. Default 60,000. */
  readonly deadlineMs?: number | undefined
  /** The longest message of the agent, in bytes; a longer one is left out and reported. Default 16,777,216. */
  readonly maxMessageBytes?: number | undefined
  /** Receives errors that stop nothing: lines that are no messages, malformed updates. Default: they are ignored. */
  readonly onError?: OnError | undefined
  /** Receives what the agent writes to its standard error, as it comes. May hold secrets. Default: it is dropped. */
  readonly onStderr?: ((text: string) => void) | undefined
  /** Receives what the agent reports besides its answers, such as a quota that runs out. Default: it is not offered. */
  readonly onNotice?: ((sessionID: string, notice: AcpNotice) => void) | undefined
  /** Called with each message as JSON, as it was received or is sent; for recording. May hold secrets. */
  readonly onMessage?: ((from: 'agent' | 'client', json: string) => void) | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** The options with their defaults filled in. */
export interface AcpSettings extends AcpOptions {
  readonly name: string
  readonly cwd: string
  readonly files: 'none' | 'read' | 'write'
  readonly terminals: boolean
  readonly clock: Clock
  readonly deadlineMs: number
  /** Removes secrets from the agent's error messages. */
  readonly redact: (text: string) => string
}

/** Fills in the defaults. Throws `invalid` for an invalid `deadlineMs`. */
export function toSettings(options: AcpOptions): AcpSettings {
  const { command, clock = systemClock, deadlineMs = 60_000, files = 'write', terminals = false } = options
  if (!(deadlineMs > 0)) throw new ReplyError('invalid', `deadlineMs is ${deadlineMs}; give a number above 0.`)
  // A callback that throws must not end a run.
  const onError = safeOnError(options.onError)
  return {
    ...options,
    name: options.name ?? basename(command),
    cwd: resolve(options.cwd ?? '.'),
    files,
    terminals,
    clock,
    deadlineMs,
    redact: createSecretFilter({ args: options.args, env: { ...process.env, ...options.env } }),
    onError,
    onStderr: guarded('onStderr', options.onStderr, onError),
    onNotice: guarded('onNotice', options.onNotice, onError),
    onMessage: guarded('onMessage', options.onMessage, onError),
  }
}
