import { type Fields, fieldsOf } from '../fields.ts'
import { flagIn, isFile, listIn, numberIn, objectIn, textIn } from '../platform/payload.ts'
import type { Chat, Content, Post, StoredFile, TelegramRows } from './chat.ts'
import { captionContent, draftContent, keyboardIn, richContent, textContent } from './content.ts'
import { getFile, setMyCommands } from './file.ts'
import { limits, reactionEmoji } from './limits.ts'
import { badRequest, Refusal } from './refusal.ts'
import { addPost, repliedIn, spendMessage, spendTyping, type Target, type TelegramState, targetOf } from './state.ts'
import { chatObject, messageObject } from './wire.ts'

/** Executes a method and returns its result. Throws a `Refusal`. */
type Method = (state: TelegramState, payload: Fields, gone: AbortSignal) => unknown

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['getMe', ({ me }) => me],
  ['setMyCommands', setMyCommands],
  ['getMyCommands', ({ commands }) => commands],
  ['getFile', getFile],
  ['getChat', (state, payload) => chatObject(targetOf(state, payload).chat)],
  ['sendMessage', sendMessage],
  ['sendRichMessage', sendRichMessage],
  ['sendDocument', sendDocument],
  ['sendPhoto', sendPhoto],
  ['sendMediaGroup', sendMediaGroup],
  ['sendMessageDraft', sendMessageDraft],
  ['sendRichMessageDraft', sendRichMessageDraft],
  ['sendChatAction', sendChatAction],
  ['editMessageText', editMessageText],
  ['editMessageReplyMarkup', editMessageReplyMarkup],
  ['deleteMessage', deleteMessage],
  ['setMessageReaction', setMessageReaction],
  ['answerCallbackQuery', answerCallbackQuery],
  ['getUpdates', getUpdates],
  ['setWebhook', setWebhook],
  ['deleteWebhook', deleteWebhook],
  ['getWebhookInfo', getWebhookInfo],
])

/** Undefined if the Bot API doesn't have the method, or if this server lacks its feature. */
export function methodNamed(name: string, { features }: TelegramState): Method | undefined {
  if (name.includes('Rich') && !features.richMessages) return undefined
  if (name.endsWith('Draft') && !features.drafts) return undefined
  return methods.get(name)
}

/** Answers a press. Throws a `Refusal` if it was answered or has expired, or if the notice is too long. */
function answerCallbackQuery({ presses }: TelegramState, payload: Fields): unknown {
  const text = textIn(payload, 'text') ?? ''
  if (text.length > limits.callbackText) throw badRequest('MESSAGE_TOO_LONG')
  presses.answer(textIn(payload, 'callback_query_id') ?? '', text, flagIn(payload, 'show_alert'))
  return true
}

/** Posts a text. Throws a `Refusal` as `sendPost` does, and for a text that Telegram doesn't accept. */
function sendMessage(state: TelegramState, payload: Fields): unknown {
  return sendPost(state, payload, textContent(payload))
}

/** Posts a rich message. Throws a `Refusal` as `sendPost` does, and for content that Telegram doesn't accept. */
function sendRichMessage(state: TelegramState, payload: Fields): unknown {
  return sendPost(state, payload, richContent(payload))
}

/** Posts a document with its caption. Throws a `Refusal` as `sendPost` does, and for a wrong file or caption. */
function sendDocument(state: TelegramState, payload: Fields): unknown {
  const document = readFile(state, payload, 'document')
  return sendPost(state, payload, captionContent(payload), { document })
}

/**
 * Posts a photo with its caption. Throws a `Refusal` as `sendPost` does, and for a wrong file or caption.
 * https://core.telegram.org/bots/api#sendphoto
 */
function sendPhoto(state: TelegramState, payload: Fields): unknown {
  const photo = readFile(state, payload, 'photo')
  return sendPost(state, payload, captionContent(payload), { photo })
}

/**
 * Posts an album and returns its messages, each with its own caption. Throws a `Refusal`, and posts nothing, as `sendPost` does,
 * for a wrong number of files, for one that can't be used, and for documents together with photos.
 * https://core.telegram.org/bots/api#sendmediagroup
 */
function sendMediaGroup(state: TelegramState, payload: Fields): unknown {
  const items = (listIn(payload, 'media') ?? []).map(fieldsOf)
  if (items.length < 2 || items.length > limits.album) throw badRequest('Wrong number of items specified')
  if (new Set(items.map(({ type }) => type)).size > 1)
    throw badRequest("document can't be mixed with other media types")
  const albumId = `album-${state.nextMessageId()}`
  const posts = items.map((item) => {
    const type = item.type === 'photo' ? 'photo' : 'document'
    const file = readFile(state, { ...payload, [type]: item.media }, type)
    return { content: captionContent({ ...item }), file: { [type]: file, albumId } }
  })
  const rows = keyboardIn(payload)
  const target = targetOf(state, payload)
  // How Telegram counts an album is not documented. It is one call here.
  spendMessage(state, target.chat)
  return posts.map(({ content, file }) => addBotPost(state, payload, target, { content, rows, ...file }))
}

/**
 * Posts the bot's message and returns it as the Bot API does. Throws a `Refusal` for wrong buttons, or a chat, topic or
 * replied message that doesn't exist or refuses the bot, and a 429 if the budget is used up. The Bot API itself refuses
 * unreadable or unknown input. Only calls passed on to Telegram use the budget.
 */
function sendPost(
  state: TelegramState,
  payload: Fields,
  content: Content,
  file: Pick<Post, 'document' | 'photo'> = {},
): unknown {
  const rows = keyboardIn(payload)
  const target = targetOf(state, payload)
  spendMessage(state, target.chat)
  return addBotPost(state, payload, target, { content, rows, ...file })
}

/** Adds the bot's message to the chat and returns it as the Bot API does. Throws a `Refusal` for a missing replied message. */
function addBotPost(
  state: TelegramState,
  payload: Fields,
  target: Target,
  shown: Pick<Post, 'content' | 'rows' | 'document' | 'photo' | 'albumId'>,
): unknown {
  const replyTo = repliedIn(payload, target.chat)
  const isSilent = flagIn(payload, 'disable_notification')
  const place = withTopicOfReply(target, replyTo)
  const post: Post = addPost(state, place, {
    from: 'bot',
    isSilent,
    ...shown,
    ...(replyTo === undefined ? {} : { replyTo }),
  })
  return messageObject(post, target.chat, state.me)
}

/** Returns the target, in the topic of the replied message if the call names no topic. */
function withTopicOfReply(target: Target, replyTo: number | undefined): Target {
  if (target.threadId !== undefined || replyTo === undefined) return target
  return { ...target, threadId: target.chat.posts.get(replyTo)?.threadId }
}

/**
 * Returns an upload, which it stores, or the file with the given id, or one without bytes for an address, which
 * Telegram itself would fetch. Throws a `Refusal` for anything else, and for an empty or too large upload.
 */
function readFile({ files }: TelegramState, payload: Fields, field: 'document' | 'photo'): StoredFile {
  const named = textIn(payload, field)
  const upload = payload[named?.replace(/^attach:\/\//, '') ?? field]
  if (!isFile(upload)) {
    const stored = named === undefined ? undefined : files.get(named)
    if (stored) return stored
    if (named && /^https?:\/\/\S+$/.test(named)) return { fileId: named, name: named, bytes: new Uint8Array() }
    throw badRequest(
      named === undefined ? `there is no ${field} in the request` : 'wrong file identifier/HTTP URL specified',
    )
  }
  if (upload.bytes.length === 0) throw badRequest('file must be non-empty')
  if (upload.bytes.length > limits[field]) throw new Refusal(413, 'Request Entity Too Large')
  if (field === 'photo' && !isImage(upload.bytes)) throw badRequest('IMAGE_PROCESS_FAILED')
  const file = { ...upload, fileId: `file-${files.size + 1}` }
  files.set(file.fileId, file)
  return file
}

/** Whether the bytes begin as those of a PNG, JPEG, WebP or GIF. */
function isImage(bytes: Uint8Array): boolean {
  return /^(?:\x89PNG|\xff\xd8\xff|RIFF|GIF8)/.test(Buffer.from(bytes.subarray(0, 4)).toString('latin1'))
}

/** Shows a text as the draft. Throws a `Refusal` as `showDraft` does, and for a text that Telegram doesn't accept. */
function sendMessageDraft(state: TelegramState, payload: Fields): unknown {
  return showDraft(state, payload, draftContent(payload))
}

/**
 * Shows a rich message as the draft. Throws a `Refusal` as `showDraft` does, and for content that Telegram doesn't
 * accept.
 */
function sendRichMessageDraft(state: TelegramState, payload: Fields): unknown {
  return showDraft(state, payload, richContent(payload))
}

/**
 * Replaces the draft of the topic, for 30 s. Throws a `Refusal` outside of private chats, for no `draft_id`, and a
 * 429.
 */
function showDraft(state: TelegramState, payload: Fields, content: Content): unknown {
  const { chat, threadId } = targetOf(state, payload)
  const draftId = numberIn(payload, 'draft_id') ?? 0
  if (chat.type !== 'private') throw badRequest('TEXTDRAFT_PEER_INVALID')
  if (draftId === 0) throw badRequest('draft_id must be non-zero')
  spendMessage(state, chat)
  chat.drafts.set(threadId, {
    draftId,
    content,
    until: state.clock.now() + limits.draftMs,
    canStop: flagIn(payload, 'can_stop'),
    keepOnStop: flagIn(payload, 'keep_on_stop'),
    ...(threadId === undefined ? {} : { threadId }),
  })
  state.changed(chat)
  return true
}

/** Shows "typing…" for 5 s. Other actions show nothing. Throws a `Refusal` for an unknown action or chat, and a 429. */
function sendChatAction(state: TelegramState, payload: Fields): unknown {
  const action = textIn(payload, 'action') ?? ''
  if (!/^(typing|upload_\w+|record_\w+|choose_sticker|find_location)$/.test(action))
    throw badRequest('wrong parameter action in request')
  const { chat, threadId } = targetOf(state, payload)
  spendTyping(state, chat)
  if (action === 'typing') chat.typingUntil.set(threadId, state.clock.now() + limits.typingMs)
  state.changed(chat)
  return true
}

const notModified =
  'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message'

/**
 * Replaces the text and the buttons. Throws a `Refusal` as `editPost` does, for a message with a file, and for a text
 * that Telegram doesn't accept.
 */
function editMessageText(state: TelegramState, payload: Fields): unknown {
  const isRich = state.features.richMessages && objectIn(payload, 'rich_message') !== undefined
  const content = isRich ? richContent(payload) : textContent(payload)
  return editPost(state, payload, (post) => {
    if (post.document || post.photo) throw badRequest('there is no text in the message to edit')
    return { content, rows: keyboardIn(payload) }
  })
}

/** Replaces the buttons, and removes them if the call has none. Throws a `Refusal` as `editPost` does. */
function editMessageReplyMarkup(state: TelegramState, payload: Fields): unknown {
  const rows = keyboardIn(payload)
  return editPost(state, payload, ({ content }) => ({ content, rows }))
}

interface Change {
  readonly content: Content
  readonly rows: TelegramRows
}

/**
 * Replaces the content and the rows of the bot's message, and returns it as the Bot API does. Throws a `Refusal` if it
 * doesn't exist, is a person's, or if nothing visible changes, and a 429 if the budget is used up.
 */
function editPost(state: TelegramState, payload: Fields, change: (post: Post) => Change): unknown {
  const { chat } = targetOf(state, payload)
  spendMessage(state, chat)
  const post = postNamed(chat, payload, 'edit')
  if (post.from !== 'bot') throw badRequest("message can't be edited")
  const changed = change(post)
  if (identityOf(changed) === identityOf(post)) throw badRequest(notModified)
  const edited = { ...post, ...changed, editedAt: state.clock.now(), editedTimes: post.editedTimes + 1 }
  chat.posts.set(post.messageId, edited)
  state.changed(chat)
  return messageObject(edited, chat, state.me)
}

/**
 * Returns a text that stays the same if an edit changes nothing visible, so that the edit is refused. A rich message
 * differs from a text message with the same text.
 */
function identityOf({ content: { text, entities, mode, rich }, rows }: Change): string {
  return JSON.stringify([text, entities, mode === 'rich', rich, rows])
}

/**
 * Deletes a message. Throws a `Refusal` if it doesn't exist or is older than 48 h, and for a person's message in a
 * group.
 */
function deleteMessage(state: TelegramState, payload: Fields): unknown {
  const { chat } = targetOf(state, payload)
  const post = postNamed(chat, payload, 'delete')
  const isOld = state.clock.now() - post.at > limits.deleteMs
  if (isOld || (post.from !== 'bot' && chat.type !== 'private'))
    throw badRequest("message can't be deleted for everyone")
  chat.posts.delete(post.messageId)
  state.changed(chat)
  return true
}

/**
 * Replaces the bot's reactions, or removes them if the call has none. Those of people stay. Throws a `Refusal` for
 * too many, for an emoji that bots may not use, and for a message that doesn't exist.
 */
function setMessageReaction(state: TelegramState, payload: Fields): unknown {
  const { chat } = targetOf(state, payload)
  const emoji = (listIn(payload, 'reaction') ?? []).map((reaction) => String(fieldsOf(reaction).emoji))
  if (emoji.length > limits.reactions) throw badRequest('REACTIONS_TOO_MANY')
  if (!emoji.every((each) => reactionEmoji.has(each))) throw badRequest('REACTION_INVALID')
  const post = postNamed(chat, payload, 'react')
  const others = post.reactions.filter(({ from }) => from !== 'bot')
  const own = emoji.map((each) => ({ from: 'bot' as const, emoji: each }))
  chat.posts.set(post.messageId, { ...post, reactions: [...others, ...own] })
  state.changed(chat)
  return true
}

/** The message that a call names. Throws a `Refusal` that names the purpose if there is none. */
function postNamed(chat: Chat, payload: Fields, purpose: 'edit' | 'delete' | 'react'): Post {
  const id = numberIn(payload, 'message_id')
  if (id === undefined) throw badRequest('message identifier is not specified')
  const post = chat.posts.get(id)
  if (!post) throw badRequest(`message to ${purpose} not found`)
  return post
}

/** Resolves with the next updates, as `Updates.poll` does. Throws a `Refusal` while a webhook is set. */
function getUpdates({ updates, webhook }: TelegramState, payload: Fields, gone: AbortSignal): Promise<unknown> {
  if (webhook.url !== '')
    throw new Refusal(
      409,
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    )
  return updates.poll(
    {
      offset: numberIn(payload, 'offset'),
      limit: numberIn(payload, 'limit'),
      timeoutS: numberIn(payload, 'timeout') ?? 0,
      allowed: allowedUpdates(payload),
    },
    gone,
  )
}

/**
 * Sets or, with an empty URL, removes the webhook. Drops the pending updates if the call says so. Accepts `http:`
 * too, because there is no HTTPS on loopback. Throws a `Refusal` for a malformed URL or secret.
 */
function setWebhook({ updates, webhook }: TelegramState, payload: Fields): unknown {
  const url = textIn(payload, 'url') ?? ''
  const secret = textIn(payload, 'secret_token')
  if (secret !== undefined && !/^[\w-]{1,256}$/.test(secret))
    throw badRequest('secret token contains unallowed characters')
  if (url !== '' && !URL.canParse(url)) throw badRequest('bad webhook: invalid URL specified')
  updates.allow(allowedUpdates(payload))
  if (flagIn(payload, 'drop_pending_updates')) updates.dropAll()
  if (url === '') webhook.remove()
  else
    webhook.set(url, {
      secret,
      maxConnections: Math.max(1, numberIn(payload, 'max_connections') ?? limits.webhookConnections),
    })
  return true
}

/** Removes the webhook. Pending updates stay, unless the call drops them. */
function deleteWebhook({ updates, webhook }: TelegramState, payload: Fields): unknown {
  webhook.remove()
  if (flagIn(payload, 'drop_pending_updates')) updates.dropAll()
  return true
}

/** Returns the webhook with its last failure, if any. Its URL is empty if none is set. */
function getWebhookInfo({ updates, webhook }: TelegramState): unknown {
  const { url, maxConnections, lastError } = webhook
  return {
    url,
    has_custom_certificate: false,
    pending_update_count: updates.pending.length,
    ...(maxConnections > 0 && { max_connections: maxConnections }),
    ...(updates.allowed.length === 0 ? {} : { allowed_updates: updates.allowed }),
    ...(lastError === undefined
      ? {}
      : { last_error_date: Math.floor(lastError.at / 1000), last_error_message: lastError.message }),
  }
}

/** Returns the update types that a call asks for. Undefined if it names none. */
function allowedUpdates(payload: Fields): readonly string[] | undefined {
  return listIn(payload, 'allowed_updates')?.map(String)
}
