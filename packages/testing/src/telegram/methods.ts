import { type Fields, fieldsOf } from '../fields.ts'
import { flagIn, isFile, listIn, numberIn, objectIn, textIn } from '../platform/payload.ts'
import type { Chat, Content, Post, StoredFile, TelegramRows } from './chat.ts'
import { captionContent, draftContent, richContent, rowsIn, textContent } from './content.ts'
import { getFile, setMyCommands } from './file.ts'
import { limits, reactionEmoji } from './limits.ts'
import { badRequest, Refusal } from './refusal.ts'
import { putPost, repliedIn, spend, spendTyping, type Target, type TelegramState, targetOf } from './state.ts'
import { chatOf, messageOf } from './wire.ts'

/** Executes a method and returns its result. Throws a `Refusal`. */
type Method = (state: TelegramState, payload: Fields, gone: AbortSignal) => unknown

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['getMe', ({ me }) => me],
  ['setMyCommands', setMyCommands],
  ['getMyCommands', ({ commands }) => commands],
  ['getFile', getFile],
  ['getChat', (state, payload) => chatOf(targetOf(state, payload).chat)],
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

function answerCallbackQuery({ presses }: TelegramState, payload: Fields): unknown {
  const text = textIn(payload, 'text') ?? ''
  if (text.length > limits.callbackText) throw badRequest('MESSAGE_TOO_LONG')
  presses.answer(textIn(payload, 'callback_query_id') ?? '', text, flagIn(payload, 'show_alert'))
  return true
}

function sendMessage(state: TelegramState, payload: Fields): unknown {
  return send(state, payload, textContent(payload))
}

function sendRichMessage(state: TelegramState, payload: Fields): unknown {
  return send(state, payload, richContent(payload))
}

function sendDocument(state: TelegramState, payload: Fields): unknown {
  const document = fileIn(state, payload, { field: 'document', most: limits.document })
  return send(state, payload, captionContent(payload), { document })
}

/** https://core.telegram.org/bots/api#sendphoto */
function sendPhoto(state: TelegramState, payload: Fields): unknown {
  const photo = fileIn(state, payload, { field: 'photo', most: limits.photo })
  return send(state, payload, captionContent(payload), { photo })
}

/** The Bot API itself refuses unreadable or unknown input. Only calls passed on to Telegram use the budget. */
function send(
  state: TelegramState,
  payload: Fields,
  content: Content,
  file: Pick<Post, 'document' | 'photo'> = {},
): unknown {
  const rows = rowsIn(payload)
  const target = targetOf(state, payload)
  spend(state, target.chat)
  const replyTo = repliedIn(payload, target.chat)
  const isSilent = flagIn(payload, 'disable_notification')
  const post: Post = putPost(state, inTopicOf(target, replyTo), {
    from: 'bot',
    content,
    rows,
    isSilent,
    ...file,
    ...(replyTo === undefined ? {} : { replyTo }),
  })
  return messageOf(post, target.chat, state.me)
}

/** A reply goes to the topic of the message that it replies to. */
function inTopicOf(target: Target, replyTo: number | undefined): Target {
  if (target.threadId !== undefined || replyTo === undefined) return target
  return { ...target, threadId: target.chat.posts.get(replyTo)?.threadId }
}

/** An upload, a known file's id, or an address, which Telegram itself would fetch. */
function fileIn(
  { files }: TelegramState,
  payload: Fields,
  { field, most }: { readonly field: 'document' | 'photo'; readonly most: number },
): StoredFile {
  const named = textIn(payload, field)
  const upload = payload[named?.replace(/^attach:\/\//, '') ?? field]
  if (!isFile(upload)) {
    const known = named === undefined ? undefined : files.get(named)
    if (known) return known
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
  return draft(state, payload, draftContent(payload))
}

function sendRichMessageDraft(state: TelegramState, payload: Fields): unknown {
  return draft(state, payload, richContent(payload))
}

function draft(state: TelegramState, payload: Fields, content: Content): unknown {
  const { chat, threadId } = targetOf(state, payload)
  const draftId = numberIn(payload, 'draft_id') ?? 0
  if (chat.type !== 'private') throw badRequest('TEXTDRAFT_PEER_INVALID')
  if (draftId === 0) throw badRequest('draft_id must be non-zero')
  spend(state, chat)
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

function editMessageText(state: TelegramState, payload: Fields): unknown {
  const isRich = state.features.richMessages && objectIn(payload, 'rich_message') !== undefined
  const content = isRich ? richContent(payload) : textContent(payload)
  return edit(state, payload, (post) => {
    if (post.document || post.photo) throw badRequest('there is no text in the message to edit')
    return { content, rows: rowsIn(payload) }
  })
}

/** Without a markup, the buttons are removed. */
function editMessageReplyMarkup(state: TelegramState, payload: Fields): unknown {
  const rows = rowsIn(payload)
  return edit(state, payload, ({ content }) => ({ content, rows }))
}

interface Change {
  readonly content: Content
  readonly rows: TelegramRows
}

function edit(state: TelegramState, payload: Fields, change: (post: Post) => Change): unknown {
  const { chat } = targetOf(state, payload)
  spend(state, chat)
  const post = postIn(chat, payload, 'edit')
  if (post.from !== 'bot') throw badRequest("message can't be edited")
  const changed = change(post)
  if (identityOf(changed) === identityOf(post)) throw badRequest(notModified)
  const edited = { ...post, ...changed, editedAt: state.clock.now(), editedTimes: post.editedTimes + 1 }
  chat.posts.set(post.messageId, edited)
  state.changed(chat)
  return messageOf(edited, chat, state.me)
}

/** Equal for edits without a visible change. A rich message differs from a text message with the same text. */
function identityOf({ content: { text, entities, mode, rich }, rows }: Change): string {
  return JSON.stringify([text, entities, mode === 'rich', rich, rows])
}

function deleteMessage(state: TelegramState, payload: Fields): unknown {
  const { chat } = targetOf(state, payload)
  const post = postIn(chat, payload, 'delete')
  const isOld = state.clock.now() - post.at > limits.deleteMs
  if (isOld || (post.from !== 'bot' && chat.type !== 'private'))
    throw badRequest("message can't be deleted for everyone")
  chat.posts.delete(post.messageId)
  state.changed(chat)
  return true
}

function setMessageReaction(state: TelegramState, payload: Fields): unknown {
  const { chat } = targetOf(state, payload)
  const emoji = (listIn(payload, 'reaction') ?? []).map((reaction) => String(fieldsOf(reaction).emoji))
  if (emoji.length > limits.reactions) throw badRequest('REACTIONS_TOO_MANY')
  if (!emoji.every((each) => reactionEmoji.has(each))) throw badRequest('REACTION_INVALID')
  const post = postIn(chat, payload, 'react')
  const others = post.reactions.filter(({ from }) => from !== 'bot')
  const own = emoji.map((each) => ({ from: 'bot' as const, emoji: each }))
  chat.posts.set(post.messageId, { ...post, reactions: [...others, ...own] })
  state.changed(chat)
  return true
}

function postIn(chat: Chat, payload: Fields, purpose: 'edit' | 'delete' | 'react'): Post {
  const id = numberIn(payload, 'message_id')
  if (id === undefined) throw badRequest('message identifier is not specified')
  const post = chat.posts.get(id)
  if (!post) throw badRequest(`message to ${purpose} not found`)
  return post
}

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
      allowed: allowedIn(payload),
    },
    gone,
  )
}

/** Accepts any URL, because there is no HTTPS on loopback. */
function setWebhook({ updates, webhook }: TelegramState, payload: Fields): unknown {
  const url = textIn(payload, 'url') ?? ''
  const secret = textIn(payload, 'secret_token')
  if (secret !== undefined && !/^[\w-]{1,256}$/.test(secret))
    throw badRequest('secret token contains unallowed characters')
  if (url !== '' && !URL.canParse(url)) throw badRequest('bad webhook: invalid URL specified')
  updates.allow(allowedIn(payload))
  if (flagIn(payload, 'drop_pending_updates')) updates.clear()
  if (url === '') webhook.remove()
  else webhook.set(url, secret)
  return true
}

function deleteWebhook({ updates, webhook }: TelegramState, payload: Fields): unknown {
  webhook.remove()
  if (flagIn(payload, 'drop_pending_updates')) updates.clear()
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

function allowedIn(payload: Fields): readonly string[] | undefined {
  return listIn(payload, 'allowed_updates')?.map(String)
}
