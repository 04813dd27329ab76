import { randomInt } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  ignoreGone,
  type LookedUp,
  type LookUpOptions,
  PortError,
  type PostOptions,
  type PreviewStream,
  type Render,
} from '@reply/sink/channel'
import { clip, lookUpByProbe, requireLength, systemClock } from '@reply/sink/internal'
import {
  featuresOf,
  noPreview,
  refOf,
  type TelegramApi,
  type TelegramFields,
  type TelegramFile,
  type TelegramMove,
  type TelegramRichMessage,
  type TelegramSignal,
  toChatId,
} from './api.ts'
import { isUnknownMethod, movedToIn, responseOf, toPortError, unlessSame } from './error.ts'
import { captionLength, draftRenewMs, kindOf, telegramLimits, textLength } from './limits.ts'
import { escaped, quiet, renderHtml, renderRich } from './render.ts'

/** The options of `createTelegramPort`. */
export interface TelegramPortOptions {
  /** grammY's: `bot.api`, or `new Api(token)`. */
  readonly api: TelegramApi
  /** The chat's id, as a number or its digits, or the `@name` of a public group or channel. */
  readonly chatId: number | string
  /** The topic in a forum or a private chat. */
  readonly threadId?: number | undefined
  /** Called once when the group turns out to have become a supergroup, which has another id. */
  readonly onMoved?: ((move: TelegramMove) => void) | undefined
  /** Sends rich messages while the server supports them. Default true. False: HTML of at most 4,096 UTF-16 units. */
  readonly rich?: boolean | undefined
  /** Creates the `InputFile` for uploads, if `import('grammy')` would find another copy than the client's. */
  readonly inputFile?: ((bytes: Uint8Array, name: string) => TelegramFile) | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** The bubble to send, and the signal that aborts the call. */
interface Writing extends Pick<EditOptions, 'signal'> {
  readonly bubble: Bubble
}

/** The calls that send the same content in either format. `text` sends HTML or text without markup. */
interface Senders<T> {
  rich(message: TelegramRichMessage, signal: TelegramSignal): Promise<T>
  text(text: string, mode: TelegramFields, signal: TelegramSignal): Promise<T>
}

const parsed: TelegramFields = { parse_mode: 'HTML' }

/** Platform adapter for one Telegram chat or topic. Never retries a call: the sink does. */
export function createTelegramPort(
  options: TelegramPortOptions,
): ChannelPort & { readonly stream?: PreviewStream | undefined } {
  const { api, threadId, rich = true, clock = systemClock } = options
  const chatId = toChatId(options.chatId)
  const kind = kindOf(chatId)
  const features = featuresOf(api)
  const { call, to, record, currentIdOf, withoutOldReply } = createMovingChat(options, clock)
  const draftId = randomInt(1, 2 ** 31)
  const thread: TelegramFields = threadId === undefined ? {} : { message_thread_id: threadId }
  const port = { limits: limits(), post, edit, remove, typing, upload, lookUp, react }
  return {
    ...port,
    /** Drafts exist only in private chats, and not on every server. */
    get stream(): PreviewStream | undefined {
      return typeof chatId === 'number' && kind === 'private' && takesDrafts()
        ? { kind: 'preview', renewMs: draftRenewMs, write: (bubble, drafting) => draft(chatId, bubble, drafting) }
        : undefined
    },
  }

  function isRich(): boolean {
    return rich && features.rich.isKnown()
  }

  /** `maxLength` is a getter: it changes when the server turns out not to support rich messages. */
  function limits(): ChannelPort['limits'] {
    const { maxLength: richLength, ...fixed } = telegramLimits(kind, true)
    const { maxLength: plainLength } = telegramLimits(kind, false)
    return {
      ...fixed,
      get maxLength() {
        return isRich() ? richLength : plainLength
      },
    }
  }

  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const other = (): TelegramFields => ({ ...thread, ...postFields(withoutOldReply(posting)), ...keyboard(bubble) })
    const posted = await write(
      'post',
      { bubble, signal: posting.signal },
      {
        rich: (message, signal) => api.sendRichMessage(to(), message, other(), signal),
        text: (text, mode, signal) => api.sendMessage(to(), text, { ...other(), ...noPreview, ...mode }, signal),
      },
    )
    return record(refOf(posted))
  }

  /** Omitting the keyboard removes the buttons. The method takes no topic: the message id is enough. */
  async function edit(ref: MessageRef, bubble: Bubble, editing: EditOptions): Promise<void> {
    const other = { ...keyboard(bubble), ...noPreview }
    await write(
      'edit',
      { bubble, signal: editing.signal },
      {
        rich: (message, signal) =>
          unlessSame(api.editMessageText(to(), currentIdOf(ref), message, keyboard(bubble), signal)),
        text: (text, mode, signal) =>
          unlessSame(api.editMessageText(to(), currentIdOf(ref), text, { ...other, ...mode }, signal)),
      },
    )
  }

  async function remove(ref: MessageRef, removing: EditOptions): Promise<void> {
    await ignoreGone(call('remove', removing, (signal) => api.deleteMessage(to(), currentIdOf(ref), signal)))
  }

  /** Telegram ends the indicator after 5 s, and with the next message. */
  async function typing(on: boolean, options: EditOptions): Promise<void> {
    if (on) await call('typing', options, (signal) => api.sendChatAction(to(), 'typing', thread, signal))
  }

  /** Only checks whether Telegram answers, because the Bot API can't read a chat. A refusal is an answer too. */
  async function lookUp(options: LookUpOptions): Promise<LookedUp> {
    return await lookUpByProbe(call('look-up', options, (signal) => api.sendChatAction(to(), 'typing', thread, signal)))
  }

  async function upload({ name, text, caption }: Attachment, posting: PostOptions): Promise<MessageRef> {
    const file = await fileOf(new TextEncoder().encode(text), name)
    const other = (): TelegramFields => ({
      ...thread,
      ...postFields(withoutOldReply(posting)),
      caption: clip(quiet(caption), captionLength),
    })
    return record(refOf(await call('upload', posting, (signal) => api.sendDocument(to(), file, other(), signal))))
  }

  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const emoji = sign === undefined ? [] : [{ type: 'emoji', emoji: sign === 'seen' ? '👀' : '👍' } as const]
    await call('react', reacting, (signal) => api.setMessageReaction(to(), currentIdOf(ref), emoji, {}, signal))
  }

  function takesDrafts(): boolean {
    return features.drafts.isKnown() && !features.draftless.has(String(chatId))
  }

  /**
   * Shows a draft. Never retried where the server or the chat has no drafts: the text then arrives with the message.
   */
  async function draft(to: number, bubble: Bubble, drafting: EditOptions): Promise<void> {
    if (!takesDrafts()) return
    const other = { ...thread, can_stop: true }
    try {
      await write(
        'draft',
        { bubble, signal: drafting.signal },
        {
          rich: (message, signal) => api.sendRichMessageDraft(to, draftId, message, other, signal),
          text: (text, mode, signal) => api.sendMessageDraft(to, draftId, text, { ...other, ...mode }, signal),
        },
      )
      features.drafts.record(true)
    } catch (error) {
      const response = responseOf(error instanceof Error ? error.cause : undefined)
      if (response?.code === 404) return features.drafts.record(false)
      if (!/TEXTDRAFT_PEER_INVALID/.test(response?.description ?? '')) throw error
      features.draftless.set(String(chatId), true)
    }
  }

  /** Sends in the best format that the server supports. `renderFor` measures in that same format. */
  async function write<T>(verb: string, { bubble, ...aborting }: Writing, senders: Senders<T>): Promise<T> {
    const lead = leadOf(bubble)
    if (bubble.isPlain) {
      const plain = lead.plain + quiet(bubble.text)
      return await call(verb, aborting, (signal) => senders.text(fitting(plain, plain), lead.marks, signal))
    }
    if (!isRich()) return await call(verb, aborting, (signal) => senders.text(htmlOf(bubble, lead), parsed, signal))
    try {
      const message = { html: lead.rich + bubble.text, skip_entity_detection: true } as const
      const sent = await call(verb, aborting, (signal) => senders.rich(message, signal))
      if (verb !== 'draft') features.rich.record(true)
      return sent
    } catch (error) {
      const response = responseOf(error instanceof Error ? error.cause : undefined)
      if (!response || !isUnknownMethod(response)) throw error
    }
    // A server without rich drafts may still take rich messages, so only messages count.
    if (verb !== 'draft') features.rich.record(false)
    return await call(verb, aborting, (signal) => senders.text(htmlOf(bubble, lead), parsed, signal))
  }

  async function fileOf(bytes: Uint8Array, name: string): Promise<TelegramFile> {
    if (options.inputFile) return options.inputFile(bytes, name)
    try {
      const { InputFile } = await import('grammy')
      return new InputFile(bytes, name)
    } catch (cause) {
      const cure = 'install grammy next to @reply/telegram, or pass inputFile'
      throw new PortError('refused', `${name} can't be uploaded without grammY's InputFile: ${cure}.`, { cause })
    }
  }
}

/** A renderer for the client's server: rich messages, or HTML once the server has refused one. */
export function renderFor(api: TelegramApi, rich = true): Render {
  const features = featuresOf(api)
  return (source) => (rich && features.rich.isKnown() ? renderRich(source) : renderHtml(source))
}

/** Renders as HTML, because the bubble may have been rendered as rich before the server refused rich messages. */
function htmlOf({ source }: Bubble, lead: Lead): string {
  const html = renderHtml(source)
  return fitting(lead.html + html.text, lead.plain + html.plain)
}

function fitting(text: string, shown: string): string {
  requireLength(shown, textLength)
  return text
}

/** The line above a message's text that mentions people, in each format. */
interface Lead {
  /** As HTML of a rich message. */
  readonly rich: string
  /** As HTML of a text message. */
  readonly html: string
  /** As visible text. */
  readonly plain: string
  /** The fields of a call without markup that mark the people in `plain`. */
  readonly marks: TelegramFields
}

const none: Lead = { rich: '', html: '', plain: '', marks: {} }

/**
 * Mentions people by id, so that people without a username are notified too. Telegram notifies only members of the
 * group and people who wrote to the bot. https://core.telegram.org/bots/api#formatting-options
 */
function leadOf({ mentions = [] }: Bubble): Lead {
  const people = mentions.filter(({ id }) => /^\d+$/.test(id))
  if (people.length === 0) return none
  const named = people.map(({ id, name }) => ({ id, name: name.replaceAll(/\s+/g, ' ').trim() || id }))
  const plain = `${named.map(({ name }) => name).join(' ')}\n`
  let offset = 0
  const entities = named.map(({ id, name }) => {
    const entity = { type: 'text_mention', offset, length: name.length, user: userOf(id, name) }
    offset += name.length + 1
    return entity
  })
  const linked = named.map(({ id, name }) => `<a href="tg://user?id=${id}">${escaped(name)}</a>`).join(' ')
  return { rich: `<p>${linked}</p>\n`, html: `${linked}\n`, plain, marks: { entities } }
}

/** The fields that a `User` must have. https://core.telegram.org/bots/api#user */
function userOf(id: string, name: string): TelegramFields {
  return { id: Number(id), is_bot: false, first_name: name }
}

/** The fields for a silent message, and for a reply. */
function postFields({ silent, replyTo }: PostOptions): TelegramFields {
  return {
    ...(silent && { disable_notification: true }),
    // Posts even if the message it replies to was deleted.
    ...(replyTo && { reply_parameters: { message_id: Number(replyTo.id), allow_sending_without_reply: true } }),
  }
}

/** The buttons below a message. */
function keyboard({ buttons }: Bubble): TelegramFields {
  if (buttons.length === 0) return {}
  const inline_keyboard = buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data })))
  return { reply_markup: { inline_keyboard } }
}

/** The signal that ends a call before its deadline. */
type Aborting = Pick<EditOptions, 'signal'>

/** A chat that may become a supergroup, which has another id and other message ids. */
interface MovingChat {
  /** Makes a call. Repeats `make` with the new id if the group has moved: a call with the old id does nothing. */
  call<T>(verb: string, aborting: Aborting, make: (signal: TelegramSignal) => Promise<T>): Promise<T>
  /** The chat's current id. */
  to(): number | string
  /** Records a posted message, and returns it. */
  record(ref: MessageRef): MessageRef
  /** The id of a message. Throws `gone` if it stayed in the old group, where people no longer see it. */
  currentIdOf(ref: MessageRef): number
  /** Removes `replyTo` from the options if that message stayed in the old group. */
  withoutOldReply(posting: PostOptions): PostOptions
}

function createMovingChat(options: TelegramPortOptions, clock: Clock): MovingChat {
  const { api, onMoved, timeoutMs } = options
  const { moved } = featuresOf(api)
  const chatId = toChatId(options.chatId)
  /** Messages that were posted in the supergroup. */
  const newIds = new Set<string>()
  return { call, to, record, currentIdOf, withoutOldReply }

  async function call<T>(
    verb: string,
    { signal: aborted }: Aborting,
    make: (signal: TelegramSignal) => Promise<T>,
  ): Promise<T> {
    const making = { what: `${verb} in chat ${chatId}`, signal: aborted, timeoutMs, clock, toPortError }
    const attempt = async (): Promise<T> => await callPlatform(async (signal) => await make(signal), making)
    const before = to()
    try {
      return await attempt()
    } catch (error) {
      const movedTo = movedToIn(error)
      if (movedTo === undefined || movedTo === before) throw error
      const isNew = to() === before
      moved.set(String(chatId), movedTo)
      if (isNew) onMoved?.({ from: String(chatId), to: String(movedTo) })
    }
    return await attempt()
  }

  function to(): number | string {
    return moved.get(String(chatId)) ?? chatId
  }

  function record(ref: MessageRef): MessageRef {
    if (to() !== chatId) newIds.add(ref.id)
    return ref
  }

  function isReachable(id: string): boolean {
    return to() === chatId || newIds.has(id)
  }

  function currentIdOf({ id }: MessageRef): number {
    if (isReachable(id)) return Number(id)
    throw new PortError('gone', `Message ${id} stayed in group ${chatId}, which became supergroup ${to()}.`)
  }

  function withoutOldReply(posting: PostOptions): PostOptions {
    return isReachable(posting.replyTo?.id ?? '') ? posting : { ...posting, replyTo: undefined }
  }
}
