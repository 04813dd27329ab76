import type { ChatPlace } from '../place.ts'
import type { EventPlace } from './event.ts'

/** A place as events name it. */
export function eventPlace({ channel, chat }: ChatPlace, at: number): EventPlace {
  return { at, channel, chat: chat.id, ...(chat.thread !== undefined && { thread: chat.thread }) }
}
