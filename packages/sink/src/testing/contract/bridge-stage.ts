import { type Clock, systemClock } from '@reply/core'
import type { BridgeChannel, BridgeConnection, ChannelHost } from '../../inbound/bridge-channel.ts'
import type { Inbound } from '../../inbound/inbound.ts'
import { memoryStore } from '../../ledger/ledger.ts'
import type { Chat, MessageRef } from '../../port/port.ts'
import { must, type SeenMessage, type Timed, until } from './stage.ts'

/** A message that a person writes on the fake platform. */
export interface PersonMessage {
  /** Without the bot's mention. */
  readonly text: string
  /** The message begins with a mention of the bot. */
  readonly isMention?: boolean | undefined
  /** The message that it replies to. Default: none. */
  readonly replyTo?: MessageRef | undefined
  /** A file attached to it. Default: none. */
  readonly file?: { readonly name: string; readonly bytes: Uint8Array } | undefined
}

/** A channel that a bridge can load, on its fake platform with a shared chat. */
export interface BridgeStage {
  /** The channel. */
  readonly channel: BridgeChannel
  /** A valid entry of a config file. */
  readonly config: Readonly<Record<string, unknown>>
  /** Returns the correct value of a secret that the config names. */
  secret(name: string): string
  /** The chat that people write in. */
  readonly chat: Chat
  /** The bot's name, which `check` resolves with. */
  readonly account: string
  /** Writes in the chat as a person. */
  writeText(message: PersonMessage): void | Promise<void>
  /** Presses a button of the bot's newest message as a person. Absent if there are no buttons. */
  press?: ((label: string) => void | Promise<void>) | undefined
  /** The bot's messages in the chat, oldest first. */
  screen(): readonly Pick<SeenMessage, 'id' | 'text' | 'buttons'>[]
  /** Whether the chat shows the typing notice. Absent if the platform has none. */
  isTyping?: (() => boolean) | undefined
  /** The commands in the platform's menu. Absent if there is no menu. */
  commands?: (() => readonly string[]) | undefined
  /** How many sockets, sessions or polls of the account the platform sees. Absent if it sends requests. */
  connections?: (() => number) | undefined
  /** Whether the channel receives messages that were written while it was stopped. Default false. */
  readonly keepsMessages?: boolean | undefined
  /** Whether the platform marks mentions of the bot. Default true. */
  readonly mentions?: boolean | undefined
  /** Whether people can reply to a single message. Default true. */
  readonly hasReplies?: boolean | undefined
  /** Starts another fake of the platform, whose account several connections use at the same time. Absent if one has to be alone. */
  readonly shareAccount?: (() => Promise<SharedAccount>) | undefined
  /** Ends the channel's own connection. Called at the end of each clause. */
  close(): Promise<void>
}

/** An account on a fake platform, with many chats and with a rate limit for all of them. */
export interface SharedAccount extends Timed {
  /** Creates a connection with a client of its own, as another process does. */
  connect(host: ChannelHost): BridgeConnection | Promise<BridgeConnection>
  /** So many chats that their own limits allow more calls than that of the account, for five of its windows. */
  readonly chats: readonly Chat[]
  /** The name of the limit that notes and their edits use up first, in `BridgeConnection.budgets`. */
  readonly budget: string
  /** When the calls that this limit counts arrived, in ms since the epoch. */
  arrivals(): readonly number[]
  /** How many calls the platform has refused because of a rate limit. */
  refused(): number
  /** Has the platform refuse as many of the next calls as it takes to pause the whole account, for a few seconds. */
  refuseNext(): void
  /** Ends the platform. */
  close(): Promise<void>
}

const clock: Clock = systemClock

interface ConnectedHost {
  readonly connection: BridgeConnection
  readonly received: readonly Inbound[]
  readonly errors: readonly Error[]
}

/** Creates a host that has handled all messages older than a minute. */
export function createHost(
  { secret, chat }: BridgeStage,
  onInbound: (inbound: Inbound) => void,
  onError: (error: Error) => void,
): ChannelHost {
  return {
    name: 'contract',
    onInbound,
    onError,
    store: memoryStore(),
    clock,
    // As if all older messages had been handled.
    chats: async () => [{ chat, since: clock.now() - 60_000 }],
    secret: (source) => secret('env' in source ? source.env : source.file),
  }
}

/** Runs `act` with a connection that receives, then stops it. */
export async function withConnection(stage: BridgeStage, act: (begun: ConnectedHost) => Promise<void>): Promise<void> {
  const received: Inbound[] = []
  const errors: Error[] = []
  const config = stage.channel.schema.parse(stage.config)
  const host = createHost(
    stage,
    (inbound) => received.push(inbound),
    (error) => errors.push(error),
  )
  const connection = await stage.channel.create(config, host)
  try {
    await connection.start()
    await act({ connection, received, errors })
  } finally {
    await connection.stop()
  }
}

/**
 * Waits for inbounds until there are `count`, and resolves with the last of them. Rejects after 20 s with the errors that
 * the host received, and if it isn't a text.
 */
export async function receivedText(
  { received, errors }: ConnectedHost,
  count: number,
): Promise<Extract<Inbound, { type: 'text' }>> {
  const isDone = (): boolean => received.length >= count
  await until(
    {},
    { isDone, withinMs: 20_000, message: `The host received ${received.length} of ${count} inbounds.` },
  ).catch((error) => {
    throw new Error(`${String(error)} ${errors.map(String).join('; ')}`)
  })
  const inbound = received[count - 1]
  must(inbound?.type === 'text', `The host received a ${inbound?.type} instead of a text.`)
  return inbound
}

/** Resolves with the message of a call's error, or undefined if the call succeeded. */
export async function errorMessageOf(call: Promise<unknown>): Promise<string | undefined> {
  return await call.then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
}

interface Field {
  readonly name: string
  readonly description: unknown
}

/** Returns all properties in a JSON Schema, however deep. */
export function fieldsIn(schema: unknown): readonly Field[] {
  if (typeof schema !== 'object' || schema === null) return []
  const properties: unknown = 'properties' in schema ? schema.properties : undefined
  const own = typeof properties === 'object' && properties !== null ? Object.entries(properties) : []
  const described = own.map(([name, field]): Field => ({ name, description: descriptionOf(field) }))
  return [...described, ...Object.values(schema).flatMap(fieldsIn)]
}

/** Returns the `description` of a schema. Undefined if it has none. */
function descriptionOf(field: unknown): unknown {
  return typeof field === 'object' && field !== null && 'description' in field ? field.description : undefined
}
