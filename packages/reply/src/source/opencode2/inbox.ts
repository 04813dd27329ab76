import { isGone, ReplyError } from '../../error.ts'
import { type InboxRead, toReadInbox } from './decode/inbox.ts'
import { listIn } from './decode/rest.ts'
import type { Rest } from './rest.ts'

/** The inputs that a session has not taken yet, oldest first. */
export interface Inbox {
  read(sessionID: string): Promise<readonly InboxRead[]>
  /** The ids of the prompts among them, without our notes. */
  prompts(sessionID: string): Promise<readonly string[]>
  /** Withdraws a prompt. Resolves with whether it will never run. */
  withdraw(sessionID: string, messageID: string): Promise<boolean>
}

/** Marks a note, because the server lists it like a prompt that waits. */
export const note = { reply: 'note' } as const

/** Preview builds call the inbox `pending` and can't withdraw anything. */
export function createInbox(rest: Rest): Inbox {
  let route: 'inbox' | 'pending' = 'inbox'
  return { read, prompts, withdraw }

  async function read(sessionID: string): Promise<readonly InboxRead[]> {
    // Another read may change the route in the meantime.
    const tried = route
    try {
      return toReadInbox(listIn(await rest.get(`/session/${sessionID}/${tried}`)))
    } catch (error) {
      if (!isGone(error)) throw error
      const other = tried === 'inbox' ? 'pending' : 'inbox'
      const found = toReadInbox(listIn(await rest.get(`/session/${sessionID}/${other}`)))
      route = other
      return found
    }
  }

  async function prompts(sessionID: string): Promise<readonly string[]> {
    const items = await read(sessionID)
    return items
      .filter(({ type, payload }) => type === 'user' && payload.metadata?.reply !== note.reply)
      .map(({ id }) => id)
  }

  async function withdraw(sessionID: string, messageID: string): Promise<boolean> {
    const isWaiting = (await read(sessionID)).some(({ id }) => id === messageID)
    if (!isWaiting || route === 'pending') return false
    try {
      await rest.delete(`/session/${sessionID}/inbox/${messageID}`)
    } catch (error) {
      // The prompt has begun in the meantime.
      if (error instanceof ReplyError && (error.type === 'gone' || error.type === 'refused')) return false
      throw error
    }
    return await rest.get(`/session/${sessionID}/message/${messageID}`).then(() => false, trueIfGone)
  }
}

function trueIfGone(error: unknown): true {
  if (isGone(error)) return true
  throw error
}
