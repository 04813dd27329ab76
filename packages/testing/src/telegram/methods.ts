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

/** Undefined if the server doesn't have the method. */
export function methodNamed(name: string, { features }: TelegramState): Method | undefined {
  if (name.includes('Rich') && !features.richMessages) return undefined
  if (name.endsWith('Draft') && !features.drafts) return undefined
  return methods.get(name)
}

/** Throws a `Refusal` if the press was answered or has expired. */
function answerCallbackQuery({ presses }: TelegramState, payload: Fields): unknown {
  const text = textIn(payload, 'text') ?? ''
  if (text.length > limits.callbackText) throw badRequest('MESSAGE_TOO_LONG')
  presses.answer(textIn(payload, 'callback_query_id') ?? '', text, flagIn(payload, 'show_alert'))
  return true
}

function sendMessage(state: TelegramState, payload: Fields): unknown {
  return sendPost(state, payload, textContent(payload))
}

function sendRichMessage(state: TelegramState, payload: Fields): unknown {
  return sendPost(state, payload, richContent(payload))
}

function sendDocument(state: TelegramState, payload: Fields): unknown {
  const document = readFile(state, payload, { field: 'document', most: limits.document })
  return sendPost(state, payload, captionContent(payload), { document })
}

/** https://core.telegram.org/bots/api#sendphoto */
function sendPhoto(state: TelegramState, payload: Fields): unknown {
  const photo = readFile(state, payload, { field: 'photo', most: limits.photo })
  return sendPost(state, payload, captionContent(payload), { photo })
}

/** The Bot API itself refuses unreadable or unknown input. Only calls passed on to Telegram use the budget. */
function sendPost(
  state: TelegramState,
  payload: Fields,
  content: Content,
  file: Pick<Post, 'document' | 'photo'> = {},
): unknown {
  const rows = keyboardIn(payload)
  const target = targetOf(state, payload)
  spendMessage(state, target.chat)
  const replyTo = repliedIn(payload, target.chat)
  const isSilent = flagIn(payload, 'disable_notification')
  const post: Post = addPost(state, withTopicOfReply(target, replyTo), {
    from: 'bot',
    content,
    rows,
    isSilent,
    ...file,
    ...(replyTo === undefined ? {} : { replyTo }),
  })
  return messageObject(post, target.chat, state.me)
}

/** A reply goes to the topic of the message that it replies to. */
function withTopicOfReply(target: Target, replyTo: number | undefined): Target {
  if (target.threadId !== undefined || replyTo === undefined) return target
  return { ...target, threadId: target.chat.posts.get(replyTo)?.threadId }
}

/**
 * An upload, which is stored, or a known file's id, or an address, which Telegram itself would fetch. Throws a
 * `Refusal`.
 */
function readFile(
  { files }: TelegramState,
  payload: Fields,
  { field, most }: { readonly field: 'document' | 'photo'; readonly most: number },
): StoredFile {
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
  if (upload.bytes.length > most) throw new Refusal(413, 'Request Entity Too Large')
  const file = { ...upload, fileId: `file-${files.size + 1}` }
  files.set(file.fileId, file)
  return file
}

function sendMessageDraft(state: TelegramState, payload: Fields): unknown {
  return showDraft(state, payload, draftContent(payload))
}

function sendRichMessageDraft(state: TelegramState, payload: Fields): unknown {
  return showDraft(state, payload, richContent(payload))
}

/** Replaces the draft of the topic, for 30 s. Only in private chats. */
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

/** Only "typing" shows, for 5 s. */
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

/** Throws a `Refusal` for a message with a file. */
function editMessageText(state: TelegramState, payload: Fields): unknown {
  const isRich = state.features.richMessages && objectIn(payload, 'rich_message') !== undefined
  const content = isRich ? richContent(payload) : textContent(payload)
  return editPost(state, payload, (post) => {
    if (post.document || post.photo) throw badRequest('there is no text in the message to edit')
    return { content, rows: keyboardIn(payload) }
  })
}

/** Without a markup, the buttons are removed. */
function editMessageReplyMarkup(state: TelegramState, payload: Fields): unknown {
  const rows = keyboardIn(payload)
  return editPost(state, payload, ({ content }) => ({ content, rows }))
}

interface Change {
  readonly content: Content
  readonly rows: TelegramRows
}

/** Replaces the content and the rows of the bot's own message. Throws a `Refusal` if nothing visible changes. */
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

/** Equal for edits without a visible change. A rich message differs from a text message with the same text. */
function identityOf({ content: { text, entities, mode, rich }, rows }: Change): string {
  return JSON.stringify([text, entities, mode === 'rich', rich, rows])
}

/** Throws a `Refusal` for a message older than 48 h, and for a person's message in a group. */
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

/** Replaces the bot's reactions. Those of people stay. */
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

/** Throws a `Refusal` while a webhook is set. */
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

/** An empty URL removes the webhook. Accepts any other, because there is no HTTPS on loopback. */
function setWebhook({ updates, webhook }: TelegramState, payload: Fields): unknown {
  const url = textIn(payload, 'url') ?? ''
  const secret = textIn(payload, 'secret_token')
  if (secret !== undefined && !/^[\w-]{1,256}$/.test(secret))
    throw badRequest('secret token contains unallowed characters')
  if (url !== '' && !URL.canParse(url)) throw badRequest('bad webhook: invalid URL specified')
  updates.allow(allowedUpdates(payload))
  if (flagIn(payload, 'drop_pending_updates')) updates.dropAll()
  if (url === '') webhook.remove()
  else webhook.set(url, secret)
  return true
}

/** Pending updates stay, unless the call drops them. */
function deleteWebhook({ updates, webhook }: TelegramState, payload: Fields): unknown {
  webhook.remove()
  if (flagIn(payload, 'drop_pending_updates')) updates.dropAll()
  return true
}

function getWebhookInfo({ updates, webhook }: TelegramState): unknown {
  const { url, lastError } = webhook
  return {
    url,
    has_custom_certificate: false,
    pending_update_count: updates.pending.length,
    ...(updates.allowed.length === 0 ? {} : { allowed_updates: updates.allowed }),
    ...(lastError === undefined
      ? {}
      : { last_error_date: Math.floor(lastError.at / 1000), last_error_message: lastError.message }),
  }
}

/** Undefined if the call names none. */
function allowedUpdates(payload: Fields): readonly string[] | undefined {
  return listIn(payload, 'allowed_updates')?.map(String)
}
