import { TestingError } from '../error.ts'
import type { Fields } from '../fields.ts'
import { shownButton, shownPlace, shownPost } from '../platform/fake.ts'
import { objectIn } from '../platform/payload.ts'
import type { Channel, DiscordComponent, DiscordUser, Post } from './channel.ts'
import type { Endpoint } from './endpoint.ts'
import type { Gateway } from './gateway.ts'
import type { DiscordInteraction, OpenInteraction } from './interaction.ts'
import type { DiscordField, DiscordModal } from './modal.ts'
import { addPost, type DiscordState } from './state.ts'
import {
  channelObject,
  gatewayFieldsOf,
  guildId,
  interactionContext,
  isOutsideServer,
  messageObject,
  userObject,
} from './wire.ts'

/** Which person acts. */
export interface DiscordFrom {
  /** Default: the person 800000000000000001. */
  readonly from?: DiscordUser
}

/** Which person writes, and what else the message has. */
interface DiscordSay extends DiscordFrom {
  /** The message that it replies to. */
  readonly replyTo?: string
  /** Whether it begins with a mention of the bot. Default false. */
  readonly mention?: boolean
  /** An attached file. The text may then be empty. */
  readonly file?: DiscordPersonFile
  /** Several files in one message. Default: that of `file`. */
  readonly files?: readonly DiscordPersonFile[]
}

/** A file that a person attaches to a message. */
interface DiscordPersonFile {
  readonly name: string
  readonly bytes: Uint8Array
  /** Default "text/plain". */
  readonly mime?: string
  /**
   * How long it is, in seconds, if it is a voice message. https://docs.discord.com/developers/resources/message#voice-messages
   */
  readonly voiceSeconds?: number
}

/** The actions of people in the channels. An action that a person couldn't do throws a `TestingError`. */
export interface DiscordPeople {
  /** Writes a message, which the bot receives over the gateway. Returns its id. */
  say(channelId: string, text: string, options?: DiscordSay): string
  /**
   * Forwards a message: its content goes into a snapshot, and the new message has no text of its own. Returns its id.
   */
  forward(
    channelId: string,
    message: { readonly channelId: string; readonly id: string },
    options?: DiscordFrom,
  ): string
  /** Presses the button with this label or custom id. The bot has 3 s to answer. */
  press(channelId: string, messageId: string, button: string, options?: DiscordFrom): DiscordInteraction
  /**
   * Fills in the dialog that an interaction opened, by its field labels, and submits it. A select takes its options'
   * labels.
   */
  submit(opened: DiscordInteraction, values: Readonly<Record<string, string | readonly string[]>>): DiscordInteraction
  /** Runs one of the bot's commands, or a subcommand as in "task add", with these values. */
  command(channelId: string, name: string, values?: readonly string[], options?: DiscordFrom): DiscordInteraction
  /** Deletes a message. The bot gets no event. */
  remove(channelId: string, messageId: string): void
  /** Closes the channel to the bot, or opens it again. */
  shut(channelId: string, isClosed?: boolean): void
  /** Archives a thread: nothing in it can be changed until something is written. */
  archive(channelId: string): void
}

const defaultPerson: DiscordUser = { id: '800000000000000001' }

/** Returns the channel. Throws a `TestingError` if the fake doesn't have it. */
export function existingChannel(state: DiscordState, channelId: string): Channel {
  return shownPlace('discord', 'channel', channelId, state.channel(channelId))
}

/**
 * Returns the actions of people. Interactions go to the endpoint if one is set, else over the gateway, as messages
 * do.
 */
export function createPeople(state: DiscordState, gateway: Gateway, endpoint: Endpoint): DiscordPeople {
  /** Where each dialog was opened, and by which person. */
  const dialogs = new Map<
    string,
    { readonly channel: Channel; readonly from: DiscordUser; readonly message?: Fields }
  >()
  return {
    say: (channelId, text, { from = defaultPerson, replyTo, mention, file, files = file ? [file] : [] } = {}) => {
      const channel = existingChannel(state, channelId)
      const reply = replyTo === undefined ? {} : { replyTo: shownPostIn(channel, replyTo).id }
      const content = mention ? `<@${state.me.id}> ${text}` : text
      return postMessage(channel, {
        from,
        content,
        ...reply,
        ...(files.length > 0 && { files }),
        ...(file?.voiceSeconds !== undefined && { flags: 8192 }),
      })
    },
    forward: (channelId, { channelId: at, id }, { from = defaultPerson } = {}) => {
      const origin = existingChannel(state, at)
      // A subset of its fields, without the author: https://discord.com/developers/docs/resources/message#message-snapshot-object
      const { content, attachments, timestamp, edited_timestamp, flags } = messageObject(
        shownPostIn(origin, id),
        origin,
        state.me,
      )
      const snapshot = { type: 0, content, attachments, timestamp, edited_timestamp, flags }
      const forwarded = { id, channelId: at, snapshot }
      return postMessage(existingChannel(state, channelId), { from, content: '', forwarded })
    },
    press: (channelId, messageId, button, { from = defaultPerson } = {}) => {
      const channel = existingChannel(state, channelId)
      const post = shownPostIn(channel, messageId)
      const { customId } = buttonIn(post, button)
      const message = messageObject(post, channel, state.me)
      return beginInteraction(channel, from, { type: 3, message, data: { custom_id: customId, component_type: 2 } })
    },
    submit: (opened, values) => {
      const { modal } = opened
      const dialog = dialogs.get(opened.id)
      if (!modal || !dialog) throw new TestingError('discord', `The interaction ${opened.id} opened no dialog.`)
      const { channel, from, message } = dialog
      const submitted = { custom_id: modal.customId, components: submittedFields(modal, values) }
      return beginInteraction(channel, from, { type: 5, data: submitted, ...(message && { message }) })
    },
    command: (channelId, name, values = [], { from = defaultPerson } = {}) => {
      const given = values.map((value, index) => ({ name: `option-${index}`, type: 3, value }))
      const [main, ...inner] = name.split(' ')
      const command = { id: state.nextId(), name: main, type: 1, options: inSubcommand(inner, given) }
      return beginInteraction(existingChannel(state, channelId), from, { type: 2, data: command })
    },
    remove: (channelId, messageId) => {
      const channel = existingChannel(state, channelId)
      channel.posts.delete(shownPostIn(channel, messageId).id)
      state.changed(channel)
    },
    shut: (channelId, isClosed = true) => {
      existingChannel(state, channelId).isClosed = isClosed
    },
    archive: (channelId) => {
      existingChannel(state, channelId).isArchived = true
    },
  }

  /**
   * Adds a person's message, sends its event over the gateway, and returns its id. Throws a `TestingError` in direct
   * messages between people, where a bot can't read.
   */
  function postMessage(
    channel: Channel,
    message: { readonly from: DiscordUser } & Pick<Post, 'content' | 'replyTo' | 'forwarded'> &
      Partial<Pick<Post, 'files' | 'flags'>>,
  ): string {
    if (channel.kind === 'group')
      throw new TestingError('discord', `Bots can't read channel ${channel.id}: it is a direct message between people.`)
    const post = addPost(state, channel, { flags: 0, rows: [], components: [], files: [], ...message })
    const event = { ...messageObject(post, channel, state.me, state.cdn()), ...gatewayFieldsOf(channel, message.from) }
    gateway.dispatch('MESSAGE_CREATE', event, isOutsideServer(channel))
    return post.id
  }

  /** Sends an interaction to the endpoint if one is set, else over the gateway. Returns it while it waits. */
  function beginInteraction(channel: Channel, from: DiscordUser, action: Fields): DiscordInteraction {
    const id = state.nextId()
    const token = `interaction-token-${id}`
    const opened = state.interactions.begin(id, token)
    const user = userObject(from)
    const isDirect = isOutsideServer(channel)
    const actor = isDirect ? { user } : { guild_id: guildId, member: { user, nick: null, roles: [], permissions: '0' } }
    const interaction: Fields = {
      id,
      token,
      version: 1,
      application_id: state.me.id,
      channel_id: channel.id,
      channel: channelObject(channel),
      context: interactionContext(channel),
      app_permissions: '0',
      locale: 'en-US',
      entitlements: [],
      authorizing_integration_owners: {},
      ...actor,
      ...action,
      attachment_size_limit: 10_485_760,
    }
    const message = objectIn(action, 'message')
    dialogs.set(id, { channel, from, ...(message && { message }) })
    if (endpoint.url === undefined) gateway.dispatch('INTERACTION_CREATE', interaction, isDirect)
    else void sendToEndpoint(interaction, opened)
    return opened.interaction
  }

  /**
   * Sends an interaction to the endpoint, and takes its answer if the bot gave none meanwhile. Without an answer, the
   * interaction keeps waiting. Fails it if the connection fails or the answer is invalid. Never rejects.
   */
  async function sendToEndpoint(interaction: Fields, opened: OpenInteraction): Promise<void> {
    try {
      const answer = await endpoint.deliver(interaction)
      if (answer && opened.interaction.status === 'waiting') opened.answer(answer)
    } catch (error) {
      opened.fail(String(error))
    }
  }
}

/**
 * Returns options inside their subcommand (type 1), which may be in a group (type 2). The options themselves without
 * names.
 * https://discord.com/developers/docs/interactions/application-commands#subcommands-and-subcommand-groups
 */
function inSubcommand(names: readonly string[], options: readonly Fields[]): readonly Fields[] {
  return names.reduceRight<readonly Fields[]>(
    (inside, name, index) => [{ name, type: index === names.length - 1 ? 1 : 2, options: inside }],
    options,
  )
}

/** Returns the message. Throws a `TestingError` if the channel has none with this id. */
function shownPostIn({ id, posts }: Channel, messageId: string): Post {
  return shownPost('discord', `Channel ${id}`, posts, messageId)
}

/** Returns the button with this label or custom id. Throws a `TestingError` if there is none. */
function buttonIn({ id, rows }: Post, wanted: string): Extract<DiscordComponent, { type: 'button' }> {
  const buttons = rows.flat().filter((each) => each.type === 'button')
  const named = buttons.map((button) => ({ ...button, otherNames: [button.customId] }))
  return shownButton('discord', id, wanted, named)
}

/**
 * Returns all fields as Discord sends them, including empty ones. Throws a `TestingError` for a label that the dialog
 * doesn't have, and for a value that its field doesn't allow.
 */
function submittedFields(
  modal: DiscordModal,
  values: Readonly<Record<string, string | readonly string[]>>,
): readonly Fields[] {
  const unknown = Object.keys(values).find((label) => !modal.fields.some((field) => field.label === label))
  if (unknown !== undefined) {
    const there = modal.fields.map(({ label }) => `"${label}"`).join(', ')
    throw new TestingError('discord', `The dialog has no field "${unknown}"; it has ${there}.`)
  }
  return modal.fields.map((field, index) => {
    const given = [values[field.label] ?? []].flat()
    return { type: 18, id: index + 1, component: submittedField(field, given) }
  })
}

/**
 * Returns a field with its values. Joins several texts by line breaks, and cuts off one that is too long. Throws a
 * `TestingError` for a missing value, an unknown option, or too many.
 */
function submittedField(field: DiscordField, values: readonly string[]): Fields {
  const { customId: custom_id, label, isRequired } = field
  if (isRequired && values.length === 0) throw new TestingError('discord', `The field "${label}" must be filled in.`)
  if (field.type === 'text') return { type: 4, custom_id, value: values.join('\n').slice(0, field.most) }
  const picked = values.map((wanted) => {
    const option = field.options.find((each) => each.label === wanted)
    if (!option) throw new TestingError('discord', `The field "${label}" has no option "${wanted}".`)
    return option.value
  })
  if (picked.length > field.max) throw new TestingError('discord', `The field "${label}" takes ${field.max} at most.`)
  return { type: 3, custom_id, values: picked }
}
