import { basename, resolve } from 'node:path'
import type { McpServer } from '@agentclientprotocol/sdk'
import { type Clock, type OnError, ReplyError, systemClock } from '@reply/core'
import { createSecretFilter, reportingErrors, safeOnError } from '@reply/core/internal'
import type { AcpNotice } from './decode/update.ts'

/** Which agent to start, and which rights it has on your machine. */
export interface AcpOptions {
  /** The agent's program: a path, or a name in `PATH`. No shell reads it. */
  readonly command: string
  /** Its arguments, for example `['acp']`. Default: none. */
  readonly args?: readonly string[] | undefined
  /** The folder of the agent, and of sessions without a `directory`. Default: the current one. */
  readonly cwd?: string | undefined
  /** Added to your own environment. `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /**
   * The version of the protocol. `auto` takes the newest that the agent speaks. Version 2 is a draft: prompts can be queued,
   * and the agent reports what it does after its answer and how its sub-agents end. There an agent reads files and runs
   * commands itself, so `files` and `terminals` apply to version 1 only. Default 1.
   */
  readonly protocol?: 'auto' | 1 | 2 | undefined
  /** Shown in errors. Default: the program's name without its folder. */
  readonly name?: string | undefined
  /**
   * Whether the agent may read, or also write, text files through your program. Limited to files in its session's
   * folder, after links and `..` are resolved. Most agents also access files directly, which `none` does not prevent.
   * Default `write`.
   */
  readonly files?: 'none' | 'read' | 'write' | undefined
  /**
   * Whether the agent may run commands as your user, with the agent's environment and without asking. They start in the
   * session's folder or below it, during a run, but a folder does not confine a shell. They end when their run is
   * aborted, when the agent ends and when your program ends. Most agents also run commands directly, which `false` does
   * not prevent. Default `false`.
   */
  readonly terminals?: boolean | undefined
  /** MCP servers for each session, in the protocol's shape. Default: none. */
  readonly mcpServers?: readonly McpServer[] | undefined
  /** The id of one of the agent's `authMethods`, used to log in after the start. Default: the agent's own login. */
  readonly authMethodID?: string | undefined
  /** How long the agent may take to start, and to answer a request other than a prompt, in ms. Default 60,000. */
  readonly deadlineMs?: number | undefined
  /**
   * How long a run that the agent began by itself may be silent before it ends, in ms. A run with an open call or ask doesn't
   * end so. The agents of Claude and Qwen say when it ends: theirs fails after a silence of 10 minutes. Default 10,000.
   */
  readonly quietMs?: number | undefined
  /** The longest message of the agent, in bytes. A longer one is skipped and reported. Default 16,777,216. */
  readonly maxMessageBytes?: number | undefined
  /** Receives errors that stop nothing, for example lines that can't be read. Default: ignored. */
  readonly onError?: OnError | undefined
  /** Receives the agent's standard error as it arrives. May contain secrets. Default: dropped. */
  readonly onStderr?: ((text: string) => void) | undefined
  /** Receives notices of the agent, for example that a quota runs out. Default: the agent is not asked to send any. */
  readonly onNotice?: ((sessionID: string, notice: AcpNotice) => void) | undefined
  /** Receives each message as JSON, for recording. May contain secrets. Default: none. */
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
  readonly protocol: 'auto' | 1 | 2
  readonly clock: Clock
  readonly deadlineMs: number
  readonly quietMs: number
  /** Removes secrets from the agent's error messages. */
  readonly redact: (text: string) => string
}

/**
 * Fills in the defaults. Throws `invalid` for an invalid `deadlineMs` or `quietMs`, and for rights that version 2 of the protocol
 * doesn't have.
 */
export function toSettings(options: AcpOptions): AcpSettings {
  const {
    command,
    clock = systemClock,
    deadlineMs = 60_000,
    quietMs = 10_000,
    files = 'write',
    terminals = false,
    protocol = 1,
  } = options
  if (!(deadlineMs > 0)) throw new ReplyError('invalid', `deadlineMs is ${deadlineMs}. Give a number above 0.`)
  if (!(quietMs > 0)) throw new ReplyError('invalid', `quietMs is ${quietMs}. Give a number above 0.`)
  if (protocol === 2 && (terminals || (options.files ?? 'none') !== 'none')) {
    const problem = 'Version 2 of the Agent Client Protocol has no files and terminals of the client'
    throw new ReplyError('invalid', `${problem}. Leave out files and terminals, or set protocol to 1.`)
  }
  // A callback that throws must not end a run.
  const onError = safeOnError(options.onError)
  return {
    ...options,
    name: options.name ?? basename(command),
    cwd: resolve(options.cwd ?? '.'),
    files,
    terminals,
    protocol,
    clock,
    deadlineMs,
    quietMs,
    redact: createSecretFilter({ args: options.args, env: { ...process.env, ...options.env } }),
    onError,
    onStderr: reportingErrors('onStderr', options.onStderr, onError),
    onNotice: reportingErrors('onNotice', options.onNotice, onError),
    onMessage: reportingErrors('onMessage', options.onMessage, onError),
  }
}
