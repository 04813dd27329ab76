import { createHash } from 'node:crypto'
import type { MessageRef } from '@reply/sink'
import type { Note } from '@reply/sink/internal'
import { type ChatPlace, chatKey } from './place.ts'
import type { State } from './state.ts'
import type { Write } from './store/store.ts'

/** The buttons of the bridge's own messages. Their data can be guessed, so a press counts only from a message that has it. */
export interface OwnButtons {
  /** The writes that note which buttons a message has. */
  note(place: ChatPlace, message: MessageRef, buttons: Note['buttons']): readonly Write[]
  /** The same, and the buttons noted before stay: it is not known yet which of them the message has. */
  add(place: ChatPlace, message: MessageRef, buttons: Note['buttons']): Promise<readonly Write[]>
  /** Whether a message has the button with that data. */
  has(place: ChatPlace, message: MessageRef, data: string): Promise<boolean>
}

/** How long the buttons of a message work, in ms: 30 days, as long as what they decide about is kept. */
const keptMs = 2_592_000_000

export function createOwnButtons(state: Pick<State, 'read'>, now: () => number): OwnButtons {
  return {
    note: (place, message, buttons) => written(place, message, hashesOf(buttons)),
    add: async (place, message, buttons) => {
      return written(place, message, [...new Set([...(await noted(place, message)), ...hashesOf(buttons)])])
    },
    has: async (place, message, data) => (await noted(place, message)).includes(hashOf(data)),
  }

  function written(place: ChatPlace, message: MessageRef, all: readonly string[]): readonly Write[] {
    const key = keyOf(place, message)
    if (all.length === 0) return [{ type: 'remove', key }]
    return [{ type: 'put', key, value: all.join(' '), expiresAt: now() + keptMs }]
  }

  async function noted(place: ChatPlace, message: MessageRef): Promise<readonly string[]> {
    return (await state.read(keyOf(place, message)))?.split(' ') ?? []
  }
}

function keyOf(place: ChatPlace, { id }: MessageRef): string {
  return `buttons/${chatKey(place)}/${id}`
}

function hashesOf(buttons: Note['buttons'] = []): readonly string[] {
  return buttons.flat().map(({ data }) => hashOf(data))
}

function hashOf(data: string): string {
  return createHash('sha256').update(data).digest('base64url')
}
