import type { Client } from '@reply/core'
import type { ChatMessage } from '../chats/channels.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { BridgeContext } from '../runs/context.ts'
import type { Runner } from '../runs/runner.ts'
import type { Route, SessionRef } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'

/** One of the bridge's own commands. */
export interface Command {
  /** Without the slash, in lower case. */
  readonly name: string
  /** One line, for the platform's menu and `/help`. */
  readonly description: string
  /** The arguments, as `/help` shows them. Default: none. */
  readonly usage?: string | undefined
  /** Not idempotent, so it is never retried after a crash. */
  readonly isOnce?: true | undefined
  /** Starts the agent. Requires the right `prompt`. */
  readonly isPrompting?: true | undefined
  /** Requires the right `approve`. */
  readonly isApproving?: true | undefined
  /** Runs the command. Resolves with the reply, or with undefined for no reply. */
  readonly run: (call: CommandCall) => Promise<CommandReply | undefined>
}

/** The reply to a command, and the session that an answer to it continues. */
export type CommandReply = ChatMessage & { readonly session?: SessionRef | undefined }

/** A command that a person sent. */
export interface CommandCall {
  readonly entry: QueuedPrompt
  readonly place: ChatPlace
  readonly person: Person
  /** The arguments, trimmed. */
  readonly rest: string
  /** The route of the chat and its server. Throws a `CommandRefusal` if the chat has none. */
  readonly target: () => Promise<Target>
}

/** The session and server that a chat uses. */
export interface Target {
  readonly route: Route
  readonly client: Client
}

/** The services of the bridge, and the runner for commands that start or stop runs. */
export interface CommandContext extends BridgeContext {
  readonly runner: Runner
}

/** An error shown to the user. */
export class CommandRefusal extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandRefusal'
  }
}
