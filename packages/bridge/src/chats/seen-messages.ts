import type { Clock } from '@reply/core'
import { stopwatch, wallTime } from '@reply/core/internal'
import type { Chat, MessageRef } from '@reply/sink'
import type { KnownChat } from '@reply/sink/channel'
import type { Mirrors } from '../config/mirrors.ts'
import { type ChatPlace, chatKey } from '../place.ts'
import { readWithExpiry, type SharedState, type State } from '../state/state.ts'
import type { Write } from '../store/store.ts'

/** The ids of received messages, so that each is handled once. */
export interface SeenMessages {
  /**
   * Returns the write that stores a message's id. It conflicts if the message was received before. `agoMs`: how long ago that
   * was, in ms, 0 by default.
   */
  writeSeen(place: ChatPlace, message: MessageRef, agoMs?: number): Write
  /** Returns the chats of a channel that the bridge works in, and up to which time their messages were received. */
  chatsOf(channel: string): Promise<readonly KnownChat[]>
}

/** How long the id of a message is remembered, in ms: two days. Platforms redeliver for one day. */
const seenMs = 172_800_000
/** A message counts as received at most this long before it is stored, in ms: as long as platforms redeliver. */
const mostAgoMs = 86_400_000

/**
 * Returns how long ago a message was received, in ms, by the store's clock. Infinity if that is not remembered, because it is too
 * long ago.
 */
export async function receivedAgoMs(state: Pick<State, 'list'>, place: ChatPlace, { id }: MessageRef): Promise<number> {
  const key = seenKey(place, id)
  const { expiresInMs } = (await readWithExpiry(state, key)) ?? {}
  return expiresInMs === undefined ? Number.POSITIVE_INFINITY : seenMs - expiresInMs
}

/** Returns the key of a received message. */
function seenKey(place: ChatPlace, id: string): string {
  return `seen/${chatKey(place)}/${id}`
}

/** Marks received messages in the state. */
export function createSeenMessages({
  state,
  mirrors,
  clock,
}: {
  readonly state: Pick<SharedState, 'list'>
  readonly mirrors: Pick<Mirrors, 'of'>
  readonly clock: Clock
}): SeenMessages {
  return { writeSeen, chatsOf }

  /**
   * Returns the write that marks a message as received for `seenMs`, with the platform's time or else the current one. It
   * conflicts if the message is marked.
   */
  function writeSeen(place: ChatPlace, { id, postedAt }: MessageRef, agoMs = 0): Write {
    return {
      type: 'put-if-absent',
      key: seenKey(place, id),
      value: String(postedAt ?? wallTime(clock)),
      expiresInMs: seenMs - Math.min(agoMs, mostAgoMs),
    }
  }

  /**
   * Returns the chats and threads of a channel that have a route or that a mirror names, for channels that read the messages
   * from while the bridge was down. `since` is the platform's time of the newest message that was received there in the last
   * `seenMs`, before this call. Without one, it is `seenMs` ago, because older messages might be handled twice.
   */
  async function chatsOf(channel: string): Promise<readonly KnownChat[]> {
    const msSinceCall = stopwatch(clock)
    // Mirrored threads have no route of their own.
    const prefixes = ['route/', 'ours/']
    const stored = await Promise.all(
      prefixes.map(async (prefix) => {
        const rows = await state.list(`${prefix}${encodeURIComponent(channel)}/`)
        return rows.map(({ key }) => key.slice(prefix.length))
      }),
    )
    const earliest = wallTime(clock) - seenMs
    const storedChats = [...new Set(stored.flat())].map(chatIn)
    const mirroredChats = mirrors
      .of(channel)
      .filter(({ id, thread }) => !storedChats.some((one) => one.id === id && one.thread === thread))
    return await Promise.all(
      [...storedChats, ...mirroredChats].map(async (chat) => {
        const listed = await state.list(`seen/${chatKey({ channel, chat })}/`)
        const callMs = msSinceCall()
        // A message that was received meanwhile is newer than those that are missed.
        const seen = listed.filter(({ expiresInMs = 0 }) => seenMs - expiresInMs >= callMs)
        // The store, not the clock of this machine, decides which messages are that new.
        return { chat, since: seen.length === 0 ? earliest : Math.max(...seen.map(({ value }) => Number(value))) }
      }),
    )
  }
}

/** Returns the chat and thread in a `placeKey`. */
function chatIn(key: string): Chat {
  const [, id = '', thread = ''] = key.split('/').map(decodeURIComponent)
  return { id, ...(thread !== '' && { thread }) }
}
