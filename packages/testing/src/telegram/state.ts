import type { TestClock } from '../clock.ts'
import type { Fields } from '../fields.ts'
import { type Budget, createBudget } from '../platform/budget.ts'
import { createPlaces } from '../platform/fake.ts'
import { numberIn, objectIn } from '../platform/payload.ts'
import { type Chat, createChat, type Post, type StoredFile, type TelegramChat } from './chat.ts'
import type { TelegramCommand } from './file.ts'
import { limits } from './limits.ts'
import { createPresses, type Presses } from './press.ts'
import { badRequest, Refusal, tooMany, upgradedToSupergroup } from './refusal.ts'
import type { TelegramOptions } from './start.ts'
import { createUpdates, createWebhook, type Updates, type Webhook } from './update.ts'
import { botObject, type Me } from './wire.ts'

/** The features of this server. Methods of a missing one fail with "method not found". */
export interface TelegramFeatures {
  /** Rich messages. Default true. */
  readonly richMessages?: boolean
  /** Drafts. Default true. */
  readonly drafts?: boolean
}

/** The state of the fake. */
export interface TelegramState {
  readonly clock: TestClock
  readonly features: Required<TelegramFeatures>
  readonly me: Me
  readonly budget: Budget
  readonly updates: Updates
  readonly presses: Presses
  readonly webhook: Webhook
  readonly files: Map<string, StoredFile>
  /** The bot's menu. */
  commands: readonly TelegramCommand[]
  /** Undefined if it doesn't exist. */
  chat(id: number): Chat | undefined
  nextMessageId(): number
  /** Notifies observers that a person in the chat now sees something else. */
  changed(chat: Chat): void
}

/** Returns the bot and its chats without messages. `onChange` gets the id of each chat that now looks different. */
export function createState(
  { token, chats, features }: Pick<TelegramOptions, 'token' | 'chats' | 'features'>,
  clock: TestClock,
  onChange: (chatId: number) => void,
): TelegramState {
  const places = createPlaces<number, TelegramChat, Chat>(chats, createChat)
  const updates = createUpdates(clock)
  let messageId = 0
  return {
    clock,
    features: { richMessages: true, drafts: true, ...features },
    me: botObject(token),
    budget: createBudget(clock),
    updates,
    presses: createPresses(clock),
    webhook: createWebhook(clock, updates),
    files: new Map(),
    commands: [],
    chat: places.get,
    nextMessageId: () => {
      messageId += 1
      return messageId
    },
    changed: ({ id }) => onChange(id),
  }
}

/** The target of a call. */
export interface Target {
  readonly chat: Chat
  readonly threadId: number | undefined
}

/**
 * Returns the chat and topic of a call. Throws a `Refusal` if there is no such chat or topic, if the group became a
 * supergroup, or if the bot is blocked.
 */
export function targetOf(state: TelegramState, payload: Fields): Target {
  const id = numberIn(payload, 'chat_id')
  if (id === undefined && payload.chat_id === undefined) throw badRequest('chat_id is empty')
  const chat = id === undefined ? undefined : state.chat(id)
  if (!chat) throw badRequest('chat not found')
  if (chat.movedTo !== undefined) throw upgradedToSupergroup(chat.movedTo)
  if (chat.isBlocked) {
    const what = chat.type === 'private' ? 'bot was blocked by the user' : `bot was kicked from the ${chat.type} chat`
    throw new Refusal(403, `Forbidden: ${what}`)
  }
  const threadId = numberIn(payload, 'message_thread_id')
  if (threadId !== undefined && !chat.topics.has(threadId)) throw badRequest('message thread not found')
  return { chat, threadId }
}

/** The name of the budget of a chat's sends, edits and drafts. */
export const scopeName = (chatId: number): string => `chat ${chatId}`
/** The name of the budget of a chat's `sendChatAction`. */
export const typingScopeName = (chatId: number): string => `typing ${chatId}`
export const botScopeName = 'bot'

/**
 * Takes a send, an edit or a draft from the budgets of the chat and of the bot. Takes none and throws a 429 if one is
 * used up.
 */
export function spendMessage({ budget }: TelegramState, chat: Chat): void {
  const allowances = chat.type === 'private' ? [limits.chat] : [limits.chat, limits.group]
  const scopes = [
    { name: scopeName(chat.id), allowances },
    { name: botScopeName, allowances: [limits.bot] },
  ]
  budget.spend(scopes, tooMany)
}

/** Takes a call from the budget that a chat has for `sendChatAction`. Throws a 429 if it is used up. */
export function spendTyping({ budget }: TelegramState, chat: Chat): void {
  budget.spend([{ name: typingScopeName(chat.id), allowances: [limits.typing] }], tooMany)
}

/**
 * Returns the id of the message that a call replies to. Undefined if the call isn't a reply, or if the reference is
 * optional and its message doesn't exist. Throws a `Refusal` if it doesn't exist otherwise.
 */
export function repliedIn(payload: Fields, chat: Chat): number | undefined {
  const parameters = objectIn(payload, 'reply_parameters')
  const id = numberIn(parameters ?? {}, 'message_id') ?? numberIn(payload, 'reply_to_message_id')
  if (id === undefined || chat.posts.has(id)) return id
  if ((parameters ?? payload).allow_sending_without_reply === true) return undefined
  throw badRequest('message to be replied not found')
}

/**
 * Adds a message to the chat and topic, counts its notification, and notifies observers. Removes the draft of its
 * topic. The bot's message ends its typing indicator there.
 */
export function addPost(
  state: TelegramState,
  { chat, threadId }: Target,
  post: Omit<Post, 'messageId' | 'at' | 'editedTimes' | 'reactions'>,
): Post {
  const put: Post = {
    ...post,
    ...(threadId === undefined ? {} : { threadId }),
    messageId: state.nextMessageId(),
    at: state.clock.now(),
    editedTimes: 0,
    reactions: [],
  }
  chat.posts.set(put.messageId, put)
  chat.drafts.delete(threadId)
  if (put.from === 'bot') chat.typingUntil.delete(threadId)
  if (put.from === 'bot' && !put.isSilent) chat.notifications += 1
  state.changed(chat)
  return put
}
