import { fieldsOf } from '../../recorded/frames.ts'
import type { Chat, Content, Post, TelegramRows } from '../chat.ts'
import { richContent, rowsIn, textContent } from '../content.ts'
import { limits, reactionEmoji } from '../limits.ts'
import { listIn, numberIn, objectIn, type Payload } from '../payload.ts'
import { badRequest } from '../refusal.ts'
import { spend, type TelegramState, targetOf } from '../state.ts'
import { messageOf } from '../wire.ts'

const notModified =
  'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message'

export function editMessageText(state: TelegramState, payload: Payload): unknown {
  const isRich = state.features.richMessages && objectIn(payload, 'rich_message') !== undefined
  const content = isRich ? richContent(payload) : textContent(payload)
  return edit(state, payload, (post) => {
    if (post.document || post.photo) throw badRequest('there is no text in the message to edit')
    return { content, rows: rowsIn(payload) }
  })
}

/** Without a markup, the buttons are removed. */
export function editMessageReplyMarkup(state: TelegramState, payload: Payload): unknown {
  const rows = rowsIn(payload)
  return edit(state, payload, ({ content }) => ({ content, rows }))
}

interface Change {
  readonly content: Content
  readonly rows: TelegramRows
}

function edit(state: TelegramState, payload: Payload, change: (post: Post) => Change): unknown {
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

/** Equal for edits without a visible change. A rich message differs from a text message with the same words. */
function identityOf({ content: { text, entities, mode, rich }, rows }: Change): string {
  return JSON.stringify([text, entities, mode === 'rich', rich, rows])
}

export function deleteMessage(state: TelegramState, payload: Payload): unknown {
  const { chat } = targetOf(state, payload)
  const post = postIn(chat, payload, 'delete')
  const isOld = state.clock.now() - post.at > limits.deleteMs
  if (isOld || (post.from !== 'bot' && chat.type !== 'private'))
    throw badRequest("message can't be deleted for everyone")
  chat.posts.delete(post.messageId)
  state.changed(chat)
  return true
}

export function setMessageReaction(state: TelegramState, payload: Payload): unknown {
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

function postIn(chat: Chat, payload: Payload, purpose: 'edit' | 'delete' | 'react'): Post {
  const id = numberIn(payload, 'message_id')
  if (id === undefined) throw badRequest('message identifier is not specified')
  const post = chat.posts.get(id)
  if (!post) throw badRequest(`message to ${purpose} not found`)
  return post
}
