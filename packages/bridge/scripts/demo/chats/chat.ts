import type { RequestListener } from 'node:http'
import type { LoadChannel } from '../../../src/chats/load-channel.ts'
import type { Person } from '../people.ts'
import type { ChatView } from '../view.ts'

/** A chat on a fake platform, with the config that a bridge needs for it. */
export interface Chat {
  /** The channel's name in the bridge's config. */
  readonly name: string
  /** The channel's entry in the bridge's config. */
  readonly channel: Readonly<Record<string, unknown>>
  /** By the names of environment variables in `channel`. */
  readonly secrets: Readonly<Record<string, string>>
  /** Loads the package of the channel. */
  load(): ReturnType<LoadChannel>
  /** The person's id on the platform. */
  accountOf(person: Person): string
  /** The people in it, besides the bot. */
  readonly members: readonly Person[]
  /** Returns the current screen of the platform. */
  look(): Omit<ChatView, 'name' | 'people' | 'isWorking'>
  /** Writes to the bot. `thread`: answers there, on platforms that have threads. */
  say(person: Person, text: string, thread?: string): void
  /**
   * Presses a button, or picks an option, by its label. Resolves with what the platform tells that person alone. Undefined if
   * it tells nothing.
   */
  press(person: Person, messageId: string, label: string): Promise<string | undefined>
  /** Fills in and sends the person's dialog. Does nothing on platforms without dialogs. */
  submit(person: Person, answers: readonly (string | readonly string[])[]): Promise<void>
  /** Stops the run, in the way of that platform. */
  stop(person: Person, thread?: string): Promise<void>
  /** Calls the listener after each change, except for what fades by itself. */
  observe(listener: () => void): void
  /** Resolves when a started bridge receives messages. `listener` is the bridge's, for webhook platforms. */
  connected(listener: RequestListener | undefined): Promise<void>
  /** Stops the fake platform. */
  close(): Promise<void>
}

/** How a chat is made. */
export interface ChatOptions {
  /** The time that the page shows, in ms since the epoch. */
  readonly now: () => number
}

/**
 * Remembers who wrote a message and when it was first seen, which screens don't show. `authorOf` returns `Person` for an
 * unknown message. `atOf` returns the current time at its first call for a message, and the same from then on.
 */
export function createMemory(now: () => number) {
  const authors = new Map<string, string>()
  const times = new Map<string, number>()
  return {
    wrote: (id: string, { name }: Person): void => void authors.set(id, name),
    authorOf: (id: string): string => authors.get(id) ?? 'Person',
    atOf: (id: string): number => {
      const at = times.get(id) ?? now()
      times.set(id, at)
      return at
    },
  }
}
