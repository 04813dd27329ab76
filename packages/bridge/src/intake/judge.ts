import type { Inbound } from '@reply/sink'
import type { RouterConfig } from '../config/schema.ts'
import type { Person } from '../people/people.ts'

type Text = Extract<Inbound, { type: 'text' }>

/** What becomes of a message: nothing, a refusal with words, or it is taken. */
export type Verdict =
  | { readonly type: 'ignored' }
  | { readonly type: 'refused'; readonly why: 'stranger' | 'anonymous' | 'may-not' | 'too-long' }
  | { readonly type: 'taken' }

/** What the verdict depends on besides the message. */
export interface Facts {
  /** Undefined for strangers. */
  readonly person: Person | undefined
  /** The chat is a thread that the bot works in, or the message replies to one of its messages. */
  readonly isOurs: boolean
  /** It is one of the bridge's own commands. */
  readonly isOwnCommand: boolean
  readonly router: Pick<RouterConfig, 'maxTextLength'>
}

/** Decides by what is in memory, so that a person sees at once that the message was taken. */
export function judge(text: Text, { person, isOurs, isOwnCommand, router }: Facts): Verdict {
  const isEmpty = text.text.trim() === '' && (text.files ?? []).length === 0
  if (!isAddressed(text, { isOurs, isOwnCommand }) || (isEmpty && !text.isMention)) return { type: 'ignored' }
  if (text.actor.isAnonymous) return { type: 'refused', why: 'anonymous' }
  if (!person) return { type: 'refused', why: 'stranger' }
  if (person.may.size === 0) return { type: 'refused', why: 'may-not' }
  if (isEmpty) return { type: 'ignored' }
  return text.text.length > router.maxTextLength ? { type: 'refused', why: 'too-long' } : { type: 'taken' }
}

/** In a shared chat people also talk to each other. */
function isAddressed(
  { chat, isMention, repliesToBot }: Text,
  { isOurs, isOwnCommand }: Pick<Facts, 'isOurs' | 'isOwnCommand'>,
): boolean {
  return chat.kind === 'private' || isMention === true || repliesToBot === true || isOurs || isOwnCommand
}
