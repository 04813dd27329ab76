import type { Chat } from '../port/port.ts'

/** Runs what belongs to one chat and thread one after the other, and different chats side by side. */
export interface Turns {
  /** Runs when what was given before for this chat has ended. A task must not reject. */
  take(chat: Pick<Chat, 'id' | 'thread'>, task: () => Promise<void>): Promise<void>
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<void>>()
  return { take }

  function take({ id, thread }: Pick<Chat, 'id' | 'thread'>, task: () => Promise<void>): Promise<void> {
    const key = JSON.stringify([id, thread])
    const before = last.get(key)
    const turn = before ? before.then(task) : task()
    last.set(key, turn)
    void turn.then(() => {
      if (last.get(key) === turn) last.delete(key)
    })
    return turn
  }
}
