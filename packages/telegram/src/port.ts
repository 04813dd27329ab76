import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import {
  type Attachment,
  type Bubble,
  type ChannelPort,
  callPlatform,
  type EditOptions,
  ignoreGone,
  imageSize,
  type LookedUp,
  type LookUpOptions,
  PortError,
  type PostOptions,
  type PreviewStream,
  type Render,
  uploadTimeoutMs,
} from '@reply/sink/channel'
import { clip, lookUpByProbe, requireFileSize, requireLength } from '@reply/sink/internal'
import {
  featuresOf,
  noPreview,
  refOf,
  type TelegramApi,
  type TelegramFields,
  type TelegramFile,
  type TelegramMove,
  type TelegramPosted,
  type TelegramRichMessage,
  type TelegramSignal,
  toChatId,
} from './api.ts'
import { ignoreUnchanged, isUnknownMethod, movedToIn, responseOf, toPortError } from './error.ts'
import { captionLength, draftRenewMs, fileLimits, kindOf, photoLimits, telegramLimits, textLength } from './limits.ts'
import { disableMentions, escaped, renderHtml, renderRich } from './render.ts'

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
interface BubbleCall extends Pick<EditOptions, 'signal'> {
  readonly bubble: Bubble
}

/** The calls that send the same content in either format. `text` sends HTML or text without markup. */
interface Senders<T> {
  rich(message: TelegramRichMessage, signal: TelegramSignal): Promise<T>
  text(text: string, mode: TelegramFields, signal: TelegramSignal): Promise<T>
}

const asHtml: TelegramFields = { parse_mode: 'HTML' }

/** Creates the platform adapter for one Telegram chat or topic. It never retries a call: the sink does. */
export function createTelegramPort(
  options: TelegramPortOptions,
): ChannelPort & { readonly stream?: PreviewStream | undefined } {
  const { api, threadId, rich = true, clock = systemClock } = options
  const chatId = toChatId(options.chatId)
  const kind = kindOf(chatId)
  const features = featuresOf(api)
  const { callChat, currentChatId, recordPosted, reachableIdOf, withoutOldReply } = createMovingChat(options, clock)
  const draftId = randomInt(1, 2 ** 31)
  const thread: TelegramFields = threadId === undefined ? {} : { message_thread_id: threadId }
  const port = { limits: currentLimits(), post, edit, remove, typing, upload, uploadAlbum, lookUp, react }
  return {
    ...port,
    /** Drafts exist only in private chats, and not on every server. */
    get stream(): PreviewStream | undefined {
      return typeof chatId === 'number' && kind === 'private' && canDraft()
        ? { kind: 'preview', renewMs: draftRenewMs, write: (bubble, drafting) => writeDraft(chatId, bubble, drafting) }
        : undefined
    },
  }

  /** Whether messages are rich: neither the options nor the server's refusals speak against it. */
  function usesRich(): boolean {
    return rich && features.rich.isKnown()
  }

  /**
   * Returns the chat's limits. `maxLength` is a getter: it changes when the server turns out not to support rich messages.
   */
  function currentLimits(): ChannelPort['limits'] {
    const { maxLength: richLength, ...fixed } = telegramLimits(kind, true)
    const { maxLength: plainLength } = telegramLimits(kind, false)
    return {
      ...fixed,
      get maxLength() {
        return usesRich() ? richLength : plainLength
      },
    }
  }

  /** Posts a message in the best format that the server supports, and records its id. */
  async function post(bubble: Bubble, posting: PostOptions): Promise<MessageRef> {
    const fields = (): TelegramFields => ({
      ...thread,
      ...postFields(withoutOldReply(posting)),
      ...keyboardFields(bubble),
    })
    const posted = await sendInBestFormat(
      'post',
      { bubble, signal: posting.signal },
      {
        rich: (message, signal) => api.sendRichMessage(currentChatId(), message, fields(), signal),
        text: (text, mode, signal) =>
          api.sendMessage(currentChatId(), text, { ...fields(), ...noPreview, ...mode }, signal),
      },
    )
    return recordPosted(refOf(posted))
  }

  /** Edits a message. Omitting the keyboard removes the buttons. The method takes no topic: the message id is enough. */
  async function edit(ref: MessageRef, bubble: Bubble, editing: EditOptions): Promise<void> {
    const fields = { ...keyboardFields(bubble), ...noPreview }
    await sendInBestFormat(
      'edit',
      { bubble, signal: editing.signal },
      {
        rich: (message, signal) =>
          ignoreUnchanged(
            api.editMessageText(currentChatId(), reachableIdOf(ref), message, keyboardFields(bubble), signal),
          ),
        text: (text, mode, signal) =>
          ignoreUnchanged(
            api.editMessageText(currentChatId(), reachableIdOf(ref), text, { ...fields, ...mode }, signal),
          ),
      },
    )
  }

  /** Removes a message. Succeeds for one that is already gone. */
  async function remove(ref: MessageRef, removing: EditOptions): Promise<void> {
    await ignoreGone(
      callChat('remove', removing, (signal) => api.deleteMessage(currentChatId(), reachableIdOf(ref), signal)),
    )
  }

  /** Shows the typing notice. Can't hide it: Telegram does so after 5 s, and with the next message. */
  async function typing(on: boolean, options: EditOptions): Promise<void> {
    if (on) await callChat('typing', options, (signal) => api.sendChatAction(currentChatId(), 'typing', thread, signal))
  }

  /**
   * Resolves with `unknown` once Telegram answers, even with a refusal, because the Bot API can't read a chat. Rejects while
   * it doesn't.
   */
  async function lookUp(options: LookUpOptions): Promise<LookedUp> {
    return await lookUpByProbe(
      callChat('look-up', options, (signal) => api.sendChatAction(currentChatId(), 'typing', thread, signal)),
    )
  }

  /**
   * Posts a file: a picture as a photo if Telegram takes it as one, and everything else as a document. A photo that Telegram then
   * refuses as a photo becomes a document.
   */
  async function upload(attachment: Attachment, posting: PostOptions): Promise<MessageRef> {
    requireFileSize(attachment, fileLimits)
    const file = await inputFileOf(attachment)
    const fields = (): TelegramFields => ({
      ...thread,
      ...postFields(withoutOldReply(posting)),
      caption: captionOf(attachment),
    })
    const uploading = { signal: posting.signal, byteCount: attachment.bytes.length }
    const asDocument = async (): Promise<TelegramPosted> =>
      await callChat('upload', uploading, (signal) => api.sendDocument(currentChatId(), file, fields(), signal))
    if (!isPhoto(attachment)) return recordPosted(refOf(await asDocument()))
    const posted = await callChat('upload', uploading, (signal) =>
      api.sendPhoto(currentChatId(), file, fields(), signal),
    ).catch(async (error: unknown) => {
      if (!isRefusedPhoto(responseOf(error instanceof Error ? error.cause : undefined))) throw error
      return await asDocument()
    })
    return recordPosted(refOf(posted))
  }

  /** Posts files as an album: of photos if all of them are, else of documents, because Telegram mixes neither with the other. */
  async function uploadAlbum(attachments: readonly Attachment[], posting: PostOptions): Promise<MessageRef> {
    for (const one of attachments) requireFileSize(one, fileLimits)
    const type = attachments.every(isPhoto) ? 'photo' : 'document'
    const album = await Promise.all(
      attachments.map(async (one) => ({ type, media: await inputFileOf(one), caption: captionOf(one) })),
    )
    const fields = (): TelegramFields => ({ ...thread, ...postFields(withoutOldReply(posting)) })
    const byteCount = attachments.reduce((sum, { bytes }) => sum + bytes.length, 0)
    const [first] = await callChat('upload', { signal: posting.signal, byteCount }, (signal) =>
      api.sendMediaGroup(currentChatId(), album, fields(), signal),
    )
    if (first) return recordPosted(refOf(first))
    throw new PortError('ambiguous', `upload in chat ${currentChatId()}: Telegram's response contains no message.`)
  }

  /** Replaces the bot's reaction. Without a sign, removes it. */
  async function react(ref: MessageRef, sign: 'seen' | 'done' | undefined, reacting: EditOptions): Promise<void> {
    const emoji = sign === undefined ? [] : [{ type: 'emoji', emoji: sign === 'seen' ? '👀' : '👍' } as const]
    await callChat('react', reacting, (signal) =>
      api.setMessageReaction(currentChatId(), reachableIdOf(ref), emoji, {}, signal),
    )
  }

  /** Whether the server and the chat have drafts, as far as is known. */
  function canDraft(): boolean {
    return features.drafts.isKnown() && !features.draftless.has(String(chatId))
  }

  /**
   * Shows a draft. Does nothing where the server or the chat turned out to have no drafts: the text then arrives with the
   * message.
   */
  async function writeDraft(chat: number, bubble: Bubble, drafting: EditOptions): Promise<void> {
    if (!canDraft()) return
    const other = { ...thread, can_stop: true }
    try {
      await sendInBestFormat(
        'draft',
        { bubble, signal: drafting.signal },
        {
          rich: (message, signal) => api.sendRichMessageDraft(chat, draftId, message, other, signal),
          text: (text, mode, signal) => api.sendMessageDraft(chat, draftId, text, { ...other, ...mode }, signal),
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

  /**
   * Sends in the best format that the server supports: rich, or else HTML. A plain bubble is sent without markup. If the
   * server doesn't know rich messages, sends HTML at once, and records that unless it was a draft. `renderFor` measures in that
   * same format.
   */
  async function sendInBestFormat<T>(
    verb: string,
    { bubble, ...aborting }: BubbleCall,
    senders: Senders<T>,
  ): Promise<T> {
    const lead = mentionLineOf(bubble)
    if (bubble.isPlain) {
      const plain = lead.plain + disableMentions(bubble.text)
      return await callChat(verb, aborting, (signal) => senders.text(requireFits(plain, plain), lead.marks, signal))
    }
    if (!usesRich())
      return await callChat(verb, aborting, (signal) => senders.text(htmlOf(bubble, lead), asHtml, signal))
    try {
      const message = { html: lead.rich + bubble.text, skip_entity_detection: true } as const
      const sent = await callChat(verb, aborting, (signal) => senders.rich(message, signal))
      if (verb !== 'draft') features.rich.record(true)
      return sent
    } catch (error) {
      const response = responseOf(error instanceof Error ? error.cause : undefined)
      if (!response || !isUnknownMethod(response)) throw error
    }
    // A server without rich drafts may still take rich messages, so only messages count.
    if (verb !== 'draft') features.rich.record(false)
    return await callChat(verb, aborting, (signal) => senders.text(htmlOf(bubble, lead), asHtml, signal))
  }

  /** Returns the bytes as a file for grammY. Without `inputFile`, throws `refused` if grammY isn't installed. */
  async function inputFileOf({ bytes, name }: Attachment): Promise<TelegramFile> {
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

/** Returns the caption of a file, cut to the length that Telegram takes. */
function captionOf({ caption }: Attachment): string {
  return clip(disableMentions(caption), captionLength)
}

/** Whether Telegram takes the file as a photo. An animation would lose all but its first picture. */
function isPhoto({ bytes }: Attachment): boolean {
  const { maxBytes, sides, ratio } = photoLimits
  const { mime, width, height } = imageSize(bytes) ?? { mime: 'image/gif', width: 0, height: 0 }
  if (mime === 'image/gif' || bytes.length > maxBytes || width === 0 || height === 0) return false
  return width + height <= sides && Math.max(width, height) <= ratio * Math.min(width, height)
}

/** Whether Telegram can't use a file as a photo, by the errors of its servers such as `PHOTO_INVALID_DIMENSIONS`. */
function isRefusedPhoto(response: ReturnType<typeof responseOf>): boolean {
  return response?.code === 400 && /PHOTO_|IMAGE_PROCESS_FAILED/.test(response.description)
}

/** Returns a renderer for the client's server: rich messages, or HTML once the server has refused one. */
export function renderFor(api: TelegramApi, rich = true): Render {
  const features = featuresOf(api)
  return (source) => (rich && features.rich.isKnown() ? renderRich(source) : renderHtml(source))
}

/**
 * Returns the message as HTML, mentioned people first. Rendered again, because the bubble may hold rich text. Throws `too-
 * long`.
 */
function htmlOf({ source }: Bubble, lead: MentionLine): string {
  const html = renderHtml(source)
  return requireFits(lead.html + html.text, lead.plain + html.plain)
}

/** Returns `text`. Throws `too-long` if the text that it shows is too long for a message. */
function requireFits(text: string, shown: string): string {
  requireLength(shown, textLength)
  return text
}

/** The line above a message's text that mentions people, in each format. */
interface MentionLine {
  /** As HTML of a rich message. */
  readonly rich: string
  /** As HTML of a text message. */
  readonly html: string
  /** As visible text. */
  readonly plain: string
  /** The fields of a call without markup that mark the people in `plain`. */
  readonly marks: TelegramFields
}

const noMentions: MentionLine = { rich: '', html: '', plain: '', marks: {} }

/**
 * Returns a line that mentions people by id, in each format, so that people without a username are notified too. Empty
 * without mentions. Leaves out ids that are not a person's. Telegram notifies only members of the group and people who wrote
 * to the bot.
 * https://core.telegram.org/bots/api#formatting-options
 */
function mentionLineOf({ mentions = [] }: Bubble): MentionLine {
  const people = mentions.filter(({ id }) => /^\d+$/.test(id))
  if (people.length === 0) return noMentions
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

/** Returns the fields that a `User` must have. https://core.telegram.org/bots/api#user */
function userOf(id: string, name: string): TelegramFields {
  return { id: Number(id), is_bot: false, first_name: name }
}

/** Returns the fields for a silent message, and for a reply. */
function postFields({ silent, replyTo }: PostOptions): TelegramFields {
  return {
    ...(silent && { disable_notification: true }),
    // Posts even if the message it replies to was deleted.
    ...(replyTo && { reply_parameters: { message_id: Number(replyTo.id), allow_sending_without_reply: true } }),
  }
}

/** Returns the field for the buttons below a message. Empty without buttons. */
function keyboardFields({ buttons }: Bubble): TelegramFields {
  if (buttons.length === 0) return {}
  const inline_keyboard = buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data })))
  return { reply_markup: { inline_keyboard } }
}

/** The signal that ends a call before its deadline, and how many bytes of files it sends. */
interface Aborting extends Pick<EditOptions, 'signal'> {
  /** Default 0. */
  readonly byteCount?: number
}

/** A chat that may become a supergroup, which has another id and other message ids. */
interface MovingChat {
  /** Makes a call. Repeats `make` with the new id if the group has moved: a call with the old id does nothing. */
  callChat<T>(verb: string, aborting: Aborting, make: (signal: TelegramSignal) => Promise<T>): Promise<T>
  /** The chat's current id. */
  currentChatId(): number | string
  /** Records a posted message, and returns it. */
  recordPosted(ref: MessageRef): MessageRef
  /** The id of a message. Throws `gone` if it stayed in the old group, where people no longer see it. */
  reachableIdOf(ref: MessageRef): number
  /** Removes `replyTo` from the options if that message stayed in the old group. */
  withoutOldReply(posting: PostOptions): PostOptions
}

/**
 * Creates what makes the calls of one chat, whose id changes if its group becomes a supergroup. Tracks that id, and which
 * messages are in the chat that has it.
 */
function createMovingChat(options: TelegramPortOptions, clock: Clock): MovingChat {
  const { api, onMoved, timeoutMs } = options
  const { moved } = featuresOf(api)
  const chatId = toChatId(options.chatId)
  /** Messages that were posted in the supergroup. */
  const newIds = new Set<string>()
  return { callChat, currentChatId, recordPosted, reachableIdOf, withoutOldReply }

  /** Makes a call. If the group has moved, remembers and reports its new id, and makes the call once more. */
  async function callChat<T>(
    verb: string,
    { signal: aborted, byteCount = 0 }: Aborting,
    make: (signal: TelegramSignal) => Promise<T>,
  ): Promise<T> {
    const making = {
      what: `${verb} in chat ${chatId}`,
      signal: aborted,
      timeoutMs: uploadTimeoutMs(byteCount, timeoutMs),
      clock,
      toPortError,
    }
    const attempt = async (): Promise<T> => await callPlatform(async (signal) => await make(signal), making)
    const before = currentChatId()
    try {
      return await attempt()
    } catch (error) {
      const movedTo = movedToIn(error)
      if (movedTo === undefined || movedTo === before) throw error
      const isNew = currentChatId() === before
      moved.set(String(chatId), movedTo)
      if (isNew) onMoved?.({ from: String(chatId), to: String(movedTo) })
    }
    return await attempt()
  }

  /** Returns the supergroup's id if the group has moved, and otherwise the id from the options. */
  function currentChatId(): number | string {
    return moved.get(String(chatId)) ?? chatId
  }

  /** Remembers messages posted after the move, and returns each one. */
  function recordPosted(ref: MessageRef): MessageRef {
    if (currentChatId() !== chatId) newIds.add(ref.id)
    return ref
  }

  /** Whether the message is in the chat as it is now. Always true until the group has moved. */
  function isInCurrentChat(id: string): boolean {
    return currentChatId() === chatId || newIds.has(id)
  }

  /** Returns the id of a message as a number. Throws `gone` for a message that stayed in the old group. */
  function reachableIdOf({ id }: MessageRef): number {
    if (isInCurrentChat(id)) return Number(id)
    throw new PortError('gone', `Message ${id} stayed in group ${chatId}, which became supergroup ${currentChatId()}.`)
  }

  /** Returns the post's options, without `replyTo` if that message stayed in the old group. */
  function withoutOldReply(posting: PostOptions): PostOptions {
    return isInCurrentChat(posting.replyTo?.id ?? '') ? posting : { ...posting, replyTo: undefined }
  }
}
