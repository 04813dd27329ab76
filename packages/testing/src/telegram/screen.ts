import type { Chat, Draft, Post, TelegramRows } from './chat.ts'
import type { TelegramEntity, TelegramMode } from './formatted.ts'

/** A message as a person sees it. */
export interface TelegramMessage {
  /** For a draft: its `draft_id`. */
  readonly messageId: number
  readonly from: 'bot' | 'user'
  /** The text after parsing; for a rich message its Markdown, for a document its caption. */
  readonly text: string
  readonly entities: readonly TelegramEntity[]
  /** The source as sent, and its markup. */
  readonly source: string
  readonly mode: TelegramMode
  /** TelegramRows of buttons. */
  readonly buttons: TelegramRows
  readonly document: { readonly name: string; readonly bytes: Uint8Array } | undefined
  readonly replyTo: number | undefined
  readonly threadId: number | undefined
  readonly isSilent: boolean
  readonly editedTimes: number
  /** Emoji from the bot and from people. */
  readonly reactions: readonly string[]
  /** Whether it is a draft: a preview that disappears by itself. */
  readonly isDraft: boolean
}

/** What a person sees in a chat, or in one of its topics: messages in order, then live drafts. */
export function screenOf(chat: Chat, threadId: number | undefined, now: number): readonly TelegramMessage[] {
  const all = [...[...chat.posts.values()].map(shownPost), ...liveDrafts(chat, now).map(shownDraft)]
  return threadId === undefined ? all : all.filter((shown) => shown.threadId === threadId)
}

export function liveDrafts(chat: Chat, now: number): readonly Draft[] {
  return [...chat.drafts.values()].filter(({ until }) => until > now)
}

function shownPost(post: Post): TelegramMessage {
  const { content, document } = post
  return {
    ...content,
    messageId: post.messageId,
    from: post.from === 'bot' ? 'bot' : 'user',
    buttons: post.rows,
    document: document === undefined ? undefined : { name: document.name, bytes: document.bytes },
    replyTo: post.replyTo,
    threadId: post.threadId,
    isSilent: post.isSilent,
    editedTimes: post.editedTimes,
    reactions: post.reactions.map(({ emoji }) => emoji),
    isDraft: false,
  }
}

function shownDraft({ draftId, content, threadId }: Draft): TelegramMessage {
  return {
    ...content,
    messageId: draftId,
    from: 'bot',
    buttons: [],
    document: undefined,
    replyTo: undefined,
    threadId,
    isSilent: true,
    editedTimes: 0,
    reactions: [],
    isDraft: true,
  }
}
