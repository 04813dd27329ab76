import type { Lease } from '../port/lease.ts'
import type { MessageRef } from '../port/port.ts'
import type { AskState, Break, Shown } from './card.ts'
import { type Entry, isThere } from './entry.ts'
import { requestOf } from './keys.ts'

/** Where ledgers are kept: texts by key. A write must be atomic and visible to later reads. */
export interface LedgerStore {
  /** The text last written under the key. Undefined if there is none. */
  read(key: string): Promise<string | undefined>
  /**
   * Replaces the text under the key. A rejection is reported to `onError` as `store`. With a `SinkError` of type
   * `taken-over` the sink ends without a call, and its delivery names what is missing. `former`: the key under which the
   * same reply was written before its prompt was known. Nothing reads that one again, so a store may remove it with the
   * same write.
   */
  write(key: string, text: string, former?: string): Promise<void>
  /**
   * For a store that several processes share: resolves when this one may make calls to the platform, with a signal that
   * aborts as soon as it may not any more. Asked right before each call. Rejects with a `SinkError` of type `taken-over`
   * once another process shows the replies. Default: it always may.
   */
  readonly lease?: Lease | undefined
  /** For a store that several processes share: how they tell each other of calls that came too late. Default: they don't. */
  readonly late?: LateCalls | undefined
}

/**
 * Calls that were under way when another process took over: a stopped process may make one when it is woken, however
 * long after its last check.
 */
export interface LateCalls {
  /** Tells the process that shows the reply now that this message may show an older text. Needs no right to write. */
  report(key: string, ref: MessageRef): Promise<void>
  /**
   * Calls the listener for each message that is told of under the key, also if it was told before. It is told again until
   * the listener's promise resolves. Returns what ends it. A sink listens also when the reply is over: forget the oldest.
   */
  listen(key: string, listener: (ref: MessageRef) => Promise<void>): () => void
}

/** From `from` in its source on, no message may measure more than `most`. */
export interface Cap {
  readonly most: number
  readonly from: number
}

/** Everything that one chat was shown of one reply. Serialisable as JSON. */
export interface Ledger {
  /** Of this format. */
  readonly version: 1
  /** In the order in which they were posted. */
  readonly entries: readonly Entry[]
  /** Where posted cards that stay stand in the text, oldest first. */
  readonly breaks: readonly Break[]
  /** What notices and streams reported of tool calls: `partID:status`, `task:partID:status`. */
  readonly reported: readonly string[]
  /** The progress of each ask in the chat, by its request id. */
  readonly asks: Readonly<Record<string, AskState>>
  /** When the last notice was posted, in ms since the epoch. Absent before the first. */
  readonly noticeAt?: number | undefined
  /** How many notices were posted. */
  readonly notices: number
  /** How many heartbeats were posted. */
  readonly heartbeats: number
  /** Posts that may be on the screen twice or not at all. */
  readonly doubtful: number
  /** Calls to the port, of all kinds. */
  readonly calls: number
  /** How many of them were rate-limited. */
  readonly rateLimited: number
  /** Cards whose markup was refused: shown as plain text. */
  readonly plain: readonly string[]
  /** Cards whose messages turned out to take less than expected. */
  readonly caps: Readonly<Record<string, Cap>>
  /** The id under which an idempotent platform was given a post, until the post's result is known. */
  readonly ids: Readonly<Record<string, string>>
}

/** The ledger before anything of a reply was shown. */
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

/** The part of a ledger that a view needs. */
export function shownOf(ledger: Ledger): Shown {
  const there = ledger.entries.filter(isThere)
  const posted = new Set(there.filter((entry) => isCurrent(entry) && !isLost(entry)).map(({ card }) => card))
  return {
    breaks: ledger.breaks,
    posted,
    ends: new Map(
      // A post without a known outcome may be there too.
      ledger.entries
        .filter((entry) => isCurrent(entry) && entry.state !== 'failed')
        .flatMap(({ card, piece }) => (piece ? [[card, piece.to] as const] : []))
        .toSorted(([, a], [, b]) => a - b),
    ),
    lost: new Set(ledger.entries.filter((entry) => isLost(entry) && !posted.has(entry.card)).map(({ card }) => card)),
    isIncomplete: ledger.entries.some(
      ({ type, state, isReplaced }) => type === 'answer' && !isReplaced && (state === 'doubtful' || state === 'failed'),
    ),
    requests: new Set(there.flatMap(({ card }) => requestOf(card) ?? [])),
    reported: new Set(ledger.reported),
    noticeAt: ledger.noticeAt,
    noticeCount: ledger.notices,
    // A refused heartbeat is not repeated before its time.
    postedAt: latest(ledger.entries.filter((entry) => isThere(entry) || isFailedHeartbeat(entry))),
    loudAt: latest(there.filter(({ isLoud }) => isLoud)),
    heartbeats: ledger.heartbeats,
    asks: new Map(Object.entries(ledger.asks)),
  }
}

/** The entry of a message. Replaced entries are skipped. */
export function entryAt({ entries }: Ledger, key: string): Entry | undefined {
  return entries.find((entry) => entry.key === key && isCurrent(entry))
}

/** The entries of all messages by their keys, without replaced ones. */
export function entriesByKey({ entries }: Ledger): ReadonlyMap<string, Entry> {
  return new Map(entries.filter(isCurrent).map((entry) => [entry.key, entry]))
}

/** The entries of a card, in the order in which they were posted, without replaced ones. */
export function entriesOf({ entries }: Ledger, card: string): readonly Entry[] {
  return entries.filter((entry) => entry.card === card && isCurrent(entry))
}

/** It is not there, or it is a file that may not be there: its code is shown as text, so that people see it anyway. */
function isLost({ state, type }: Entry): boolean {
  return state === 'failed' || (state === 'doubtful' && type === 'file')
}

function isFailedHeartbeat({ state, type }: Entry): boolean {
  return state === 'failed' && type === 'heartbeat'
}

function isCurrent({ isReplaced }: Entry): boolean {
  return !isReplaced
}

function latest(entries: readonly Entry[]): number | undefined {
  return entries.reduce<number | undefined>((newest, { at }) => Math.max(at, newest ?? at), undefined)
}
