import type { Inbound } from '@reply/sink'
import type { RouterConfig } from '../config/schema.ts'
import type { Person } from '../people/people.ts'

type InboundText = Extract<Inbound, { type: 'text' }>

/** What becomes of a message. */
type Verdict =
  | { readonly type: 'ignored' }
  | { readonly type: 'refused'; readonly why: 'stranger' | 'anonymous' | 'may-not' | 'too-long' }
  | { readonly type: 'taken' }

/** What the verdict depends on, besides the message. */
export interface MessageFacts {
  /** Undefined for strangers. */
  readonly person: Person | undefined
  /**
   * The chat is a thread that the bot works in, the message replies to one of its messages, or another message of its album is
   * addressed to the bot: only one of them has the caption.
   */
  readonly isOurs: boolean
  /** It is one of the bridge's own commands. */
  readonly isOwnCommand: boolean
  readonly router: Pick<RouterConfig, 'maxTextLength'>
}

/**
 * Returns whether a message is ignored, refused or taken. Ignores one that is not addressed to the bot, and an empty one
 * without a mention. Then refuses anonymous actors, strangers, and people without any right. Then ignores an empty mention, and
 * refuses a text that is too long. Reads no store, so that the person sees immediately that the message was taken.
 */
export function judge(text: InboundText, { person, isOurs, isOwnCommand, router }: MessageFacts): Verdict {
  const isEmpty = text.text.trim() === '' && (text.files ?? []).length === 0
  if (!isAddressed(text, { isOurs, isOwnCommand }) || (isEmpty && !text.isMention)) return { type: 'ignored' }
  if (text.actor.isAnonymous) return { type: 'refused', why: 'anonymous' }
  if (!person) return { type: 'refused', why: 'stranger' }
  if (person.may.size === 0) return { type: 'refused', why: 'may-not' }
  if (isEmpty) return { type: 'ignored' }
  return text.text.length > router.maxTextLength ? { type: 'refused', why: 'too-long' } : { type: 'taken' }
}

/**
 * Whether a message is meant for the bot: each in a private chat, otherwise a mention with the rest of its album, a reply to it, a
 * message in its thread, or one of the bridge's commands. In a shared chat, people also write to each other.
 */
function isAddressed(
  text: InboundText,
  { isOurs, isOwnCommand }: Pick<MessageFacts, 'isOurs' | 'isOwnCommand'>,
): boolean {
  return isSurelyAddressed(text) || isOurs || isOwnCommand
}

/** Whether a message counts as addressed without a look at the thread or at the message that it replies to. */
export function isSurelyAddressed({ chat, isMention, repliesToBot }: InboundText): boolean {
  return chat.kind === 'private' || isMention === true || repliesToBot === true
}
