import { isGone, ReplyError } from '../../error.ts'
import { type InboxRead, toReadInbox } from './decode/inbox.ts'
import { listIn } from './decode/rest-responses.ts'
import type { Rest } from './rest.ts'

/** Reads and withdraws the inputs that a session has not taken yet. */
export interface Inbox {
  /** Returns the inputs, oldest first. */
  read(sessionID: string): Promise<readonly InboxRead[]>
  /** Returns the ids of the prompts among them, without our notes. */
  prompts(sessionID: string): Promise<readonly string[]>
  /** Withdraws a prompt. Resolves with whether it will never run. */
  withdraw(sessionID: string, messageID: string): Promise<boolean>
}

/** Marks a note, because the server lists it like a prompt that waits. */
export const noteMark = { reply: 'note' } as const

/**
 * Creates the calls to a server's inbox, which has each session's prompts that have not begun. The first read finds out
 * the route: preview builds call it `pending` and can't withdraw anything.
 */
export function createInbox(rest: Rest): Inbox {
  let route: 'inbox' | 'pending' = 'inbox'
  return { read: readInbox, prompts: readPromptIDs, withdraw: withdrawPrompt }

  /**
   * Returns a session's waiting inputs. If the route is gone, tries the other one, and keeps it for later reads if it
   * works.
   */
  async function readInbox(sessionID: string): Promise<readonly InboxRead[]> {
    // Another read may change the route in the meantime.
    const tried = route
    try {
      return toReadInbox(listIn(await rest.get(`/session/${sessionID}/${tried}`)))
    } catch (error) {
      if (!isGone(error)) throw error
      const other = tried === 'inbox' ? 'pending' : 'inbox'
      const inbox = toReadInbox(listIn(await rest.get(`/session/${sessionID}/${other}`)))
      route = other
      return inbox
    }
  }

  /** Returns the ids of the waiting prompts, without our notes. */
  async function readPromptIDs(sessionID: string): Promise<readonly string[]> {
    const items = await readInbox(sessionID)
    return items
      .filter(({ type, payload }) => type === 'user' && payload.metadata?.reply !== noteMark.reply)
      .map(({ id }) => id)
  }

  /**
   * Deletes a waiting prompt. Resolves to true if the server then has no message of it. Resolves to false if it has
   * begun, is unknown, or the server can't withdraw.
   */
  async function withdrawPrompt(sessionID: string, messageID: string): Promise<boolean> {
    const isWaiting = (await readInbox(sessionID)).some(({ id }) => id === messageID)
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

/** Returns true for the error `gone` and throws all others. */
function trueIfGone(error: unknown): true {
  if (isGone(error)) return true
  throw error
}
