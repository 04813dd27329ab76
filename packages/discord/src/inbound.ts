import type { Actor, Inbound, InboundFile } from '@reply/sink'
import { isAskToken, PortError } from '@reply/sink/channel'
import * as z from 'zod'
import { chatOf, chatOfType, kindOfContext, messageFlags, refOf } from './api.ts'
import { splitToken, tokenIn } from './form.ts'

/** The ids that a response to an interaction needs. */
export interface InteractionRef {
  readonly id: string
  readonly token: string
  readonly applicationId: string
  /** True if it came from a message's component. An empty response then leaves the message unchanged. */
  readonly isOnMessage: boolean
}

type TextInbound = Omit<Extract<Inbound, { type: 'text' }>, 'answer'>
type PressInbound = Omit<Extract<Inbound, { type: 'press' }>, 'answer' | 'open'>

/** A parsed event, without the `answer` function yet. A message has no `interaction`. */
export type Received =
  | (TextInbound & { readonly interaction?: InteractionRef })
  | (PressInbound & { readonly interaction: InteractionRef })

export type Interaction =
  /** Discord's check of the endpoint. */
  | { readonly type: 'ping' }
  /** A command, a button or a dialog. `received` is undefined if it isn't this channel's. */
  | { readonly type: 'act'; readonly id: string; readonly received: Received | undefined }

/** A gateway event. `received` is undefined for messages and interactions that a channel ignores. */
export type Event = { readonly id: string; readonly received: Received | undefined }

const user = z.object({
  id: z.string(),
  username: z.string(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
  system: z.boolean().optional(),
})

const member = z.object({ nick: z.string().nullish() })

/** https://discord.com/developers/docs/resources/message#attachment-object */
const attachment = z.object({
  filename: z.string(),
  content_type: z.string().optional(),
  size: z.number().optional(),
  duration_secs: z.number().optional().catch(undefined),
  url: z.string(),
})

/** A message with a sticker alone has no content. https://discord.com/developers/docs/resources/sticker#sticker-item-object */
const stickers = z.array(z.object({ name: z.string() })).catch([])

const message = z.object({
  id: z.string(),
  channel_id: z.string(),
  channel_type: z.number().optional(),
  author: user,
  member: member.optional(),
  webhook_id: z.string().optional(),
  content: z.string(),
  attachments: z.array(attachment).catch([]),
  sticker_items: stickers,
  /** The message replied to. https://discord.com/developers/docs/resources/message#message-object */
  referenced_message: z
    .object({ author: z.object({ id: z.string() }) })
    .nullish()
    .catch(undefined),
  type: z.number(),
  message_reference: z.object({ message_id: z.string().optional(), type: z.number().optional() }).nullish(),
  /** The forwarded message, without its author. `content` and `attachments` of the forward itself are empty. */
  message_snapshots: z
    .array(
      z.object({
        message: z.object({
          content: z.string().catch(''),
          attachments: z.array(attachment).catch([]),
          sticker_items: stickers,
        }),
      }),
    )
    .catch([]),
})

const field = z.object({
  custom_id: z.string().optional(),
  value: z.string().nullish(),
  values: z.array(z.string()).optional(),
})

/** A command's option. Those of subcommands are nested, and once more in groups. */
const option = z.object({
  name: z.string(),
  value: z.union([z.string(), z.number(), z.boolean()]).optional(),
  get options() {
    return z.array(option).optional()
  },
})

const interaction = z.object({
  id: z.string(),
  token: z.string(),
  application_id: z.string(),
  type: z.number(),
  context: z.number().nullish(),
  channel_id: z.string().optional(),
  channel: z.object({ id: z.string() }).optional(),
  user: user.optional(),
  member: member.extend({ user }).optional(),
  message: z.object({ id: z.string(), channel_id: z.string().optional(), flags: z.number().optional() }).optional(),
  data: z
    .object({
      custom_id: z.string().optional(),
      values: z.array(z.string()).optional(),
      name: z.string().optional(),
      options: z.array(option).optional(),
      components: z.array(z.object({ component: field.optional() })).optional(),
    })
    .optional(),
})

/** Messages that people write. https://discord.com/developers/docs/resources/message#message-object-message-types */
const messageType = { default: 0, reply: 19 } as const

/** Replies have no type or 0. https://discord.com/developers/docs/resources/message#message-reference-types */
const forwardType = 1

/** Which commands and mentions are this channel's. */
export interface InboundFilter {
  /** The commands that this channel handles, without the slash. */
  readonly commands: ReadonlySet<string>
  /** The bot's own id, once known. */
  readonly botId: () => string | undefined
}

const packetSchema = z.object({ t: z.string(), d: z.unknown() })
const handledPacket = z.object({ t: z.enum(['MESSAGE_CREATE', 'INTERACTION_CREATE']), d: z.unknown() })
const ping = z.object({ type: z.literal(1) })

/**
 * Reads a gateway packet `{ t, d }`. Returns undefined for other events, and for unreadable ones (see `isMalformed`).
 */
export function toEvent(packet: unknown, filter: InboundFilter): Event | undefined {
  const { data } = packetSchema.safeParse(packet)
  if (data?.t === 'MESSAGE_CREATE') {
    const read = message.safeParse(data.d)
    return read.data && { id: read.data.id, received: textIn(read.data, filter.botId()) }
  }
  if (data?.t !== 'INTERACTION_CREATE') return undefined
  const read = toInteraction(data.d, filter)
  return read?.type === 'act' ? read : undefined
}

/** Whether the packet has a handled type but unreadable data. */
export function isMalformed(packet: unknown): boolean {
  const { data } = handledPacket.safeParse(packet)
  if (!data) return false
  return !(data.t === 'MESSAGE_CREATE' ? message : interaction).safeParse(data.d).success
}

/** Reads an interaction. A check by Discord of the address gives `ping`. Undefined for other values. */
export function toInteraction(value: unknown, filter: InboundFilter): Interaction | undefined {
  const { data } = ping.safeParse(value)
  if (data) return { type: 'ping' }
  const read = interaction.safeParse(value)
  return read.data && { type: 'act', id: read.data.id, received: receivedIn(read.data, filter) }
}

/**
 * Returns the text and files of a message, with those that it forwards, and without mentions of the bot. Undefined for
 * messages from bots, webhooks and Discord itself, for those without text and files, and for types such as joins.
 */
function textIn(posted: z.infer<typeof message>, botId: string | undefined): Received | undefined {
  const { author, webhook_id, type, message_reference: reference, message_snapshots: forwarded } = posted
  const content = [posted, ...forwarded.map(({ message }) => message)]
    .flatMap(({ content, sticker_items: items }) => [content, ...items.map(({ name }) => `Sticker: ${name}`)])
    .filter((text) => text !== '')
    .join('\n\n')
  const files = [posted, ...forwarded.map(({ message }) => message)].flatMap(({ attachments }) =>
    attachments.map(fileOf),
  )
  if (isBot(author) || webhook_id !== undefined || (content === '' && files.length === 0)) return undefined
  if (type !== messageType.default && type !== messageType.reply) return undefined
  const isForwarded = reference?.type === forwardType
  const repliedTo = type === messageType.reply && !isForwarded ? reference?.message_id : undefined
  // `<@!id>` is Discord's former syntax. https://discord.com/developers/docs/reference#message-formatting
  const mention = botId === undefined ? undefined : new RegExp(`<@!?${botId}> ?`, 'g')
  const text = mention ? content.replace(mention, '') : content
  return {
    type: 'text',
    chat: chatOfType(posted.channel_id, posted.channel_type),
    actor: actorOf(author, posted.member?.nick),
    text: text === content ? content : text.trim(),
    messageRef: refOf(posted.id),
    ...(mention && posted.content.search(mention) !== -1 && { isMention: true as const }),
    ...(repliedTo !== undefined && { replyTo: refOf(repliedTo) }),
    ...(repliedTo !== undefined &&
      botId !== undefined &&
      posted.referenced_message?.author.id === botId && { repliesToBot: true as const }),
    ...(files.length > 0 && { files }),
    ...(isForwarded && { isForwarded }),
    isCommand: /^\/\w/.test(text),
  }
}

/** Returns an attachment as the host gets it. Its `ref` is its address. */
function fileOf({
  filename,
  content_type,
  size,
  duration_secs: seconds,
  url,
}: z.infer<typeof attachment>): InboundFile {
  const mime = content_type ?? 'application/octet-stream'
  return {
    ref: url,
    name: filename,
    mime,
    ...(size !== undefined && { size }),
    ...(seconds !== undefined && { seconds }),
  }
}

/**
 * Returns what an interaction brings: a command as a text, a component as a press, a dialog as a press with values. A press of
 * the host's component is foreign. Undefined for commands and dialogs that aren't the channel's, for bots, and for other
 * interactions.
 */
function receivedIn(
  event: z.infer<typeof interaction>,
  { commands }: Pick<InboundFilter, 'commands'>,
): Received | undefined {
  const { id, token, application_id: applicationId, member: membership, message: source, data } = event
  const person = membership?.user ?? event.user
  // `channel_id` is deprecated, and a dialog may lack both (`APIBaseInteraction` of discord-api-types). It then has the
  // message that it was opened from.
  const channelId = event.channel?.id ?? event.channel_id ?? source?.channel_id
  if (channelId === undefined || !person || isBot(person) || !data) return undefined
  const chat = chatOf(channelId, kindOfContext(event.context ?? undefined))
  const actor = actorOf(person, membership?.nick)
  const ref: InteractionRef = { id, token, applicationId, isOnMessage: source !== undefined }
  const pressed = tokenIn(data.custom_id ?? '')
  if (event.type === 2 && data.name !== undefined && commands.has(data.name)) {
    const text = [`/${data.name}`, ...valuesOfOptions(data.options)].join(' ')
    // A command isn't a message, so its answer can't be a reply to one.
    return { type: 'text', chat, actor, text, messageRef: refOf(id), isCommand: true, interaction: ref }
  }
  if (event.type === 3 && pressed === undefined && data.custom_id !== undefined) {
    const { custom_id: control, values } = data
    const foreign = { token: control, ...(values && { values: [values] }), isForeign: true } as const
    return { type: 'press', chat, actor, messageRef: refOf(source?.id ?? id), ...foreign, interaction: ref }
  }
  if (pressed === undefined || (event.type !== 3 && event.type !== 5)) return undefined
  const { token: askToken, messageId } = isAskToken(pressed)
    ? splitToken(pressed)
    : { token: pressed, messageId: undefined }
  // The button that opens a dialog late is in a message that only the person sees. A dialog opened otherwise has no
  // message.
  const isBeside = source === undefined || ((source.flags ?? 0) & messageFlags.ephemeral) !== 0
  const askMessageId = isBeside ? (messageId ?? source?.id ?? id) : source.id
  const press = { type: 'press', chat, actor, token: askToken, messageRef: refOf(askMessageId) } as const
  if (event.type === 3) return { ...press, interaction: ref }
  return { ...press, values: valuesIn(data.components ?? []), interaction: ref }
}

/** Returns the names of the subcommand and its group, and all values, in the order of the command. */
function valuesOfOptions(options: readonly z.infer<typeof option>[] = []): readonly string[] {
  return options.flatMap(({ name, value, options: inner }) =>
    value === undefined ? [name, ...valuesOfOptions(inner)] : [String(value)],
  )
}

/** Returns the picked and written values, without blank ones, by the question's index. Fields are named `question.part`. */
function valuesIn(components: readonly { readonly component?: z.infer<typeof field> | undefined }[]): string[][] {
  const values: string[][] = []
  for (const { component } of components) {
    const question = /^(\d)\.\w+$/.exec(component?.custom_id ?? '')?.[1]
    if (component === undefined || question === undefined) continue
    const entered = component.values ?? [component.value ?? '']
    values[Number(question)] = [...(values[Number(question)] ?? []), ...entered.filter((value) => value.trim() !== '')]
  }
  return Array.from(values, (ofQuestion) => ofQuestion ?? [])
}

/** Whether the account is a bot, or one of Discord itself. */
function isBot({ bot, system }: z.infer<typeof user>): boolean {
  return bot === true || system === true
}

/** Returns the person, named as the chat shows them: by nickname, display name or user name. */
function actorOf({ id, username, global_name }: z.infer<typeof user>, nick: string | null | undefined): Actor {
  return { id, name: nick || global_name || username }
}

const schema = z.object({ id: z.string() })
const named = z.object({ username: z.string() })
const ready = z.object({ t: z.literal('READY') })
const connected = z.object({ t: z.enum(['READY', 'RESUMED']) })

/** Returns the bot's name with an @, from its account. "@unknown" if the account can't be read. */
export function botNameIn(account: unknown): string {
  const { data } = named.safeParse(account)
  return `@${data?.username ?? 'unknown'}`
}

/**
 * Returns the `id` in a response. Throws `ambiguous` without one, because the call may have taken effect. `call` names it in
 * the error.
 */
export function idIn(posted: unknown, call: string): string {
  const { data } = schema.safeParse(posted)
  if (data) return data.id
  throw new PortError('ambiguous', `${call}: the response contains no id.`)
}

/** Whether Discord began a new session. It replays no earlier events, unlike a resumed session (`RESUMED`). */
export function beginsSession(packet: unknown): boolean {
  return ready.safeParse(packet).success
}

/** Whether Discord began or resumed a session, after which events arrive. */
export function isConnected(packet: unknown): boolean {
  return connected.safeParse(packet).success
}

const snowflake = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt)

const created = z.object({
  t: z.literal('MESSAGE_CREATE'),
  d: z.object({ id: snowflake, channel_id: z.string(), content: z.string().catch('') }),
})

/** A new message, as far as its order in the chat depends on it. */
export interface NewMessage {
  readonly id: bigint
  readonly channelID: string
  /** Whether its text begins with `/`, perhaps after a mention. */
  readonly isCommand: boolean
}

/** Returns the new message in an event. Undefined for any other event. */
export function newMessageIn(packet: unknown): NewMessage | undefined {
  const { data } = created.safeParse(packet)
  if (!data) return undefined
  const { id, channel_id: channelID, content } = data.d
  return { id, channelID, isCommand: /^\s*(?:<@!?\d+>\s*)?\//.test(content) }
}

/** https://docs.discord.com/developers/resources/channel#channel-object */
const channel = z.object({
  type: z.number().optional(),
  last_message_id: snowflake.nullish(),
  guild_id: z.string().regex(/^\d+$/).optional(),
})

/** Returns a channel's type, the id of its newest message, and that of its server. Throws if the value isn't a channel. */
export function channelIn(value: unknown): {
  readonly type: number | undefined
  readonly newest: bigint | undefined
  readonly serverID: string | undefined
} {
  const { type, last_message_id: newest, guild_id: serverID } = channel.parse(value)
  return { type, newest: newest ?? undefined, serverID }
}

const list = z.array(z.looseObject({ id: snowflake }))

/** Returns messages with their ids, oldest first. Discord lists the newest first. Throws if the value isn't such a list. */
export function messagesIn(value: unknown): readonly { readonly id: bigint; readonly message: object }[] {
  const messages = list.parse(value)
  const read = messages.map(({ id, ...message }) => ({ id, message: { ...message, id: String(id) } }))
  return read.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
