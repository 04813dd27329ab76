import type { Chat } from '../port/port.ts'

/** Runs what belongs to one chat and thread one after the other, and different chats side by side. */
export interface Turns {
  /** Runs when what was given before for this chat has ended. A task must not reject. */
  take<T>(chat: Pick<Chat, 'id' | 'thread'>, task: () => Promise<T>): Promise<T>
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>()
  return { take }

  function take<T>({ id, thread }: Pick<Chat, 'id' | 'thread'>, task: () => Promise<T>): Promise<T> {
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
