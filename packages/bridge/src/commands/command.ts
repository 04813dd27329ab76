import type { Client } from '@reply/core'
import { FileRefusal } from '@reply/sink/channel'
import type { Channels, ChatMessage } from '../chats/channels.ts'
import { errorTypeOf, toError } from '../error.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Runner } from '../runs/runner.ts'
import type { BridgeServices } from '../runs/services.ts'
import type { Route, SessionRef } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import { LatePressError } from './late-press.ts'
import type { CommandName } from './names.ts'

/** One of the bridge's own commands. */
export interface Command {
  /** Without the slash. */
  readonly name: CommandName
  /** One line, for the platform's menu and `/help`. */
  readonly description: string
  /** The arguments, as `/help` shows them. Default: none. */
  readonly usage?: string | undefined
  /** Anyone on the list of people may send it. Default: it requires a right. */
  readonly isForAll?: true | undefined
  /** Not idempotent, so it is never retried after a crash. */
  readonly isOnce?: true | undefined
  /** Starts the agent. Requires the right `prompt`. Otherwise, `admin` is enough. */
  readonly isPrompting?: true | undefined
  /** Chooses the session of the chat. `approve` is enough, because requests of that session are then answered there. */
  readonly isChoosing?: true | undefined
  /** Requires the right `approve`, and no other. */
  readonly isApproving?: true | undefined
  /** Runs the command. Resolves with the reply, or with undefined for no reply. A `CommandRefusal` becomes the reply. */
  readonly run: (call: CommandCall) => Promise<CommandReply | undefined>
}

/** The reply to a command. */
export type CommandReply = ChatMessage & {
  /** The session that an answer to it continues. Default: the session of the chat. */
  readonly session?: SessionRef | undefined
  /** Resolves with whether the chat shows this by then, so that it is not posted. Never rejects. Default: it is posted at once. */
  readonly isShown?: Promise<boolean> | undefined
  /** Returns what to post if the chat does not take the file of the reply. `why` is a sentence. */
  readonly withoutFile?: ((why: string) => ChatMessage) | undefined
}

/** A command that a person sent. */
export interface CommandCall {
  readonly entry: QueuedPrompt
  readonly place: ChatPlace
  readonly person: Person
  /** The arguments, trimmed. Empty without arguments. */
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
export interface CommandServices extends BridgeServices {
  readonly runner: Runner
}

/** An error shown to the person who sent the command. Its message is Markdown. */
export class CommandRefusal extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandRefusal'
  }
}

/** Returns the route and the client of a place. Throws a `CommandRefusal` if the place has no route or server. */
export async function targetOf(
  { routes, servers }: Pick<BridgeServices, 'routes' | 'servers'>,
  place: ChatPlace,
): Promise<Target> {
  const route = await routes.routeOf(place)
  const client = route && servers.get(route.server)
  if (route && client) return { route, client }
  throw new CommandRefusal(texts.noRoute(`${place.channel}:${place.chat.id}`))
}

/** Returns the client of a session's server. Throws a `CommandRefusal` if the config no longer has it. */
export function clientFor({ servers }: Pick<BridgeServices, 'servers'>, { server }: SessionRef): Client {
  const client = servers.get(server)
  if (client) return client
  throw new CommandRefusal(texts.serverGone(server))
}

/** Resolves as the work does. An error becomes a reply, see `errorReply`. Only rejects with a `LatePressError`. */
export async function replyOrErrorText<Reply extends CommandReply | undefined>(
  work: () => Promise<Reply>,
  onError: (error: Error) => void,
): Promise<Reply | CommandReply> {
  try {
    return await work()
  } catch (error) {
    return errorReply(error, onError)
  }
}

/** Returns what a person is told of an error. One that is not a `CommandRefusal` also goes to `onError`. Rethrows a `LatePressError`. */
export function errorReply(error: unknown, onError: (error: Error) => void): CommandReply {
  if (error instanceof LatePressError) throw error
  if (error instanceof CommandRefusal) return { text: error.message }
  onError(toError(error))
  const isMissing = errorTypeOf(error) === 'unsupported'
  const why = plain(chatMessageOf(error))
  return { text: isMissing ? texts.unsupported(why) : texts.failed(why) }
}

/**
 * Posts a reply unless the chat shows it, and remembers its session. If the chat does not take its file, posts `withoutFile`. Never
 * rejects: failures go to the bridge's `onError`.
 */
export async function postReply(
  channels: Pick<Channels, 'tryPost' | 'post'>,
  place: ChatPlace,
  { session, withoutFile, isShown, ...message }: CommandReply,
): Promise<void> {
  if (await isShown) return
  if (!withoutFile) return void (await channels.tryPost(place, message, session))
  const { replyTo } = message
  try {
    await channels.post(place, message, session)
  } catch (error) {
    const why = error instanceof FileRefusal ? error.message : chatMessageOf(error)
    await channels.tryPost(place, { replyTo, ...withoutFile(why) }, session)
  }
}
