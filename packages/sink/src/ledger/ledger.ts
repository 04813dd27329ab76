import type { Lease } from '../port/lease.ts'
import type { MessageRef } from '../port/port.ts'
import type { AskState, Break, PostedFile, Shown } from './card.ts'
import { type Entry, isOrWasThere } from './entry.ts'
import { requestIDOf } from './keys.ts'

/** Stores ledgers as texts by key. A write must be atomic and visible to later reads. */
export interface LedgerStore {
  /**
   * Resolves with the text last written under the key, or undefined if there is none. If it rejects, the reply is shown as if
   * there were none, except for a `SinkError` of type `taken-over`, as for `write`.
   *
   * For a store that several processes share: call `onOther` with each ledger of another reply in the same chat that you read
   * meanwhile and that was written in the last minutes, so that its calls count.
   */
  read(key: string, onOther?: (text: string) => void): Promise<string | undefined>
  /**
   * Replaces the text under the key. If it rejects, `onError` gets an error of type `store`, and the reply is shown anyway.
   * If it rejects with a `SinkError` of type `taken-over`, the sink stops without another call, and its delivery lists the
   * missing messages.
   *
   * `former` is the key of the same reply before its prompt was known. It is never read again, so you may delete it in the
   * same write.
   */
  write(key: string, text: string, former?: string): Promise<void>
  /**
   * For a store that several processes share. Called right before each call to the platform. Resolves when this process may
   * make calls, with a signal that aborts when it no longer may. Rejects with a `SinkError` of type `taken-over` once
   * another process shows the replies. Default: calls are always allowed.
   */
  readonly lease?: Lease | undefined
  /** For a store that several processes share: reports late edits between them. Default: late edits are not reported. */
  readonly late?: LateCalls | undefined
}

/**
 * Passes on edits that a process made after another one took over its replies, for example a suspended process that
 * wakes up between its last check of the lease and the call. Such an edit may overwrite a newer text, so the process that
 * now shows the reply repeats its own edit.
 */
export interface LateCalls {
  /** Reports a message that may show an older text. Must work without the lease. */
  report(key: string, ref: MessageRef): Promise<void>
  /**
   * Calls the listener for each message reported under the key, including those reported before. Repeats the call until the
   * listener's promise resolves. It rejects if the sink stops before that. Returns a function that stops listening. A sink keeps
   * listening after a reply has ended, so drop the oldest listeners at some point.
   */
  listen(key: string, listener: (ref: MessageRef) => Promise<void>): () => void
}

/** The maximum length of a card's messages, from a position of its source on. */
export interface Cap {
  /** In the unit of `Limits.maxLength`. */
  readonly most: number
  /** In UTF-16 units of the source. */
  readonly from: number
}

/** A text that grows in the chat. */
export interface GrowingText {
  /** The part of the reply. */
  readonly partID: string
  /** All of the part that the chat shows or is about to. Undefined if it is longer than `mostKept`. */
  readonly text?: string | undefined
}

/** How much of a growing text is kept, in UTF-16 units. It is written with each edit, so this bounds what an edit costs. */
export const mostKept = 16_384

/** The calls of a chat that still count, for a process that goes on there. Times are in ms since the epoch. */
export interface RecentCalls {
  /** By the kind that the platform counts apart, or `all`: when the calls were made, oldest first. */
  readonly times: Readonly<Record<string, readonly number[]>>
  /** When the platform's pause ends. Absent without one. */
  readonly frozenUntil?: number | undefined
  /** When the typing notices of the thread no longer count. Absent if none does. */
  readonly noticesCountUntil?: number | undefined
}

/** The messages of one reply in one chat. Serialisable as JSON. */
export interface Ledger {
  /** The version of this format. */
  readonly version: 1
  /** In the order in which they were posted. */
  readonly entries: readonly Entry[]
  /** The positions in the text of posted cards that stay, oldest first. */
  readonly breaks: readonly Break[]
  /** The tool calls that notices and streams have reported, as `partID:status` and `task:partID:status`. */
  readonly reported: readonly string[]
  /** The progress of each ask in the chat, by its request id. */
  readonly asks: Readonly<Record<string, AskState>>
  /** When the last notice was posted, in ms since the epoch. Absent before the first. */
  readonly noticeAt?: number | undefined
  /** How many notices were posted. */
  readonly notices: number
  /** How many heartbeats were posted. */
  readonly heartbeats: number
  /** Number of posts that may be in the chat twice or not at all. */
  readonly doubtful: number
  /** Number of calls to the port, of all kinds. */
  readonly calls: number
  /** How many of them were rate-limited. */
  readonly rateLimited: number
  /** Cards whose markup was refused, so they are shown as plain text. */
  readonly plain: readonly string[]
  /** Cards whose messages can hold less than expected. */
  readonly caps: Readonly<Record<string, Cap>>
  /** The idempotency key of each post whose result is unknown, by the message's key. */
  readonly ids: Readonly<Record<string, string>>
  /**
   * The text that grows, from before it is shown. If another process goes on, its source may not repeat the beginning. Absent
   * while nothing grows.
   */
  readonly growing?: GrowingText | undefined
  /** All recent calls of the chat, as of the write. Absent if none counts. */
  readonly recent?: RecentCalls | undefined
}

/** The ledger of a reply before its first post. */
export const emptyLedger: Ledger = {
  version: 1,
  entries: [],
  breaks: [],
  reported: [],
  asks: {},
  notices: 0,
  heartbeats: 0,
  doubtful: 0,
  calls: 0,
  rateLimited: 0,
  plain: [],
  caps: {},
  ids: {},
}

/** Keeps ledgers in memory until the process ends. */
export function memoryStore(): LedgerStore {
  const stored = new Map<string, string>()
  return {
    read: async (key) => stored.get(key),
    write: async (key, text) => {
      stored.set(key, text)
    },
  }
}

/** Returns the part of a ledger that a view needs. Failed posts don't count as posted, nor do replaced messages. */
export function shownOf(ledger: Ledger): Shown {
  const there = ledger.entries.filter(isOrWasThere)
  const posted = new Set(there.filter((entry) => isCurrent(entry) && !isLost(entry)).map(({ card }) => card))
  return {
    breaks: ledger.breaks,
    posted,
    ends: new Map(
      // A post with an unknown result may be in the chat, too.
      ledger.entries
        .filter((entry) => isCurrent(entry) && entry.state !== 'failed')
        .flatMap(({ card, piece }) => (piece ? [[card, piece.to] as const] : []))
        .toSorted(([, a], [, b]) => a - b),
    ),
    lost: new Set(ledger.entries.filter((entry) => isLost(entry) && !posted.has(entry.card)).map(({ card }) => card)),
    isIncomplete: ledger.entries.some(
      ({ type, state, isReplaced }) => type === 'answer' && !isReplaced && (state === 'doubtful' || state === 'failed'),
    ),
    requests: new Set(there.flatMap(({ card }) => requestIDOf(card) ?? [])),
    reported: new Set(ledger.reported),
    noticeAt: ledger.noticeAt,
    noticeCount: ledger.notices,
    // A refused heartbeat counts as posted, so the next one waits for its interval.
    postedAt: latestTime(ledger.entries.filter((entry) => isOrWasThere(entry) || isFailedHeartbeat(entry))),
    loudAt: latestTime(there.filter(({ isLoud }) => isLoud)),
    heartbeats: ledger.heartbeats,
    asks: new Map(Object.entries(ledger.asks)),
    attachments: postedFiles(ledger),
  }
}

/** Returns the newest post of each file: an album that failed is followed by posts of its own files. */
function postedFiles({ entries }: Ledger): ReadonlyMap<string, PostedFile> {
  return new Map(
    entries.flatMap((entry) => {
      const { card, files = [] } = entry
      const forPeople = entry.state === 'failed' && entry.isForPeople ? entry.reason : undefined
      const failure = entry.state === 'failed' ? { forPeople } : undefined
      return files.map((key) => [key, { card, isAlbum: files.length > 1, failure }] as const)
    }),
  )
}

/** Returns the entry of a message. Skips replaced entries. */
export function entryAt({ entries }: Ledger, key: string): Entry | undefined {
  return entries.find((entry) => entry.key === key && isCurrent(entry))
}

/** Returns the entries of all messages by their keys, without replaced ones. */
export function entriesByKey({ entries }: Ledger): ReadonlyMap<string, Entry> {
  return new Map(entries.filter(isCurrent).map((entry) => [entry.key, entry]))
}

/** Returns the entries of a card in the order of their posts, without replaced ones. */
export function entriesOf({ entries }: Ledger, card: string): readonly Entry[] {
  return entries.filter((entry) => entry.card === card && isCurrent(entry))
}

/** Whether the message failed, or is a text file that may be missing. The code of such a file is shown as text instead. */
function isLost({ state, type }: Entry): boolean {
  return state === 'failed' || (state === 'doubtful' && type === 'file')
}

/** Whether the message is a heartbeat whose post failed. */
function isFailedHeartbeat({ state, type }: Entry): boolean {
  return state === 'failed' && type === 'heartbeat'
}

/** Whether no other message has, or may get, its key. */
function isCurrent({ isReplaced }: Entry): boolean {
  return !isReplaced
}

/** Returns when the newest entry was posted. Undefined without entries. */
function latestTime(entries: readonly Entry[]): number | undefined {
  return entries.reduce<number | undefined>((newest, { at }) => Math.max(at, newest ?? at), undefined)
}
