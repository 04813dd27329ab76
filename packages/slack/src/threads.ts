import type { Chat } from '@reply/sink'
import { createRecent } from '@reply/sink/internal'
import type { SlackRecipient } from './port/stream.ts'

/** The threads in which the bot listens without a mention, and who wrote last in each. */
export interface Threads {
  /** Call when the bot was mentioned in the thread, or posts there. */
  join(chat: Chat): void
  has(chat: Chat): boolean
  /** Records who wrote last in the thread. */
  spoke(chat: Chat, recipient: SlackRecipient): void
  recipientIn(chat: Chat): SlackRecipient | undefined
}

/** How many threads to keep; the oldest are dropped. */
const most = 1000

export function createThreads(): Threads {
  const joined = createRecent<SlackRecipient | undefined>(most)
  return {
    join: (chat) => joined.set(keyOf(chat), joined.get(keyOf(chat))),
    has: (chat) => joined.has(keyOf(chat)),
    spoke: (chat, recipient) => joined.set(keyOf(chat), recipient),
    recipientIn: (chat) => joined.get(keyOf(chat)),
  }
}

function keyOf({ id, thread = '' }: Chat): string {
  return `${id}/${thread}`
}
