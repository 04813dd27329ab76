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
  /** What may follow the name, for `/help`. Default: nothing. */
  readonly usage?: string | undefined
  /** To do it twice is not the same as once: after a crash it is not repeated. */
  readonly isOnce?: true | undefined
  /** It has the agent work: it takes the right `prompt`. */
  readonly isPrompting?: true | undefined
  /** It takes the right `approve`, and no other. */
  readonly isApproving?: true | undefined
  /** Does it, and resolves with what to say. Undefined says nothing. */
  readonly run: (call: CommandCall) => Promise<CommandReply | undefined>
}

/** What a command says, and the session that a reply to it continues. */
export type CommandReply = ChatMessage & { readonly session?: SessionRef | undefined }

/** A command as a person gave it. */
export interface CommandCall {
  readonly entry: QueuedPrompt
  readonly place: ChatPlace
  readonly person: Person
  /** What follows the name, without space around it. */
  readonly rest: string
  /** The route of the place and its server. Throws words for people if the place has none. */
  readonly target: () => Promise<Target>
}

/** Where a place works. */
export interface Target {
  readonly route: Route
  readonly opencode: Client
}

/** What commands work with. */
export interface CommandContext extends BridgeContext {
  readonly runner: Runner
}

/** What a command can't do, in words for the person. */
export class CommandRefusal extends Error {
  constructor(words: string) {
    super(words)
    this.name = 'CommandRefusal'
  }
}
