import type { MessageRef } from '../port/port.ts'
import type { AskState, Break, CardType, Shown } from './card.ts'

/** Where ledgers are kept: texts by key. A write must be atomic and visible to later reads. */
export interface LedgerStore {
  /** The text last written under the key. Undefined if there is none. */
  read(key: string): Promise<string | undefined>
  /** Replaces the text under the key. A rejection is reported to `onError` as `store`. */
  write(key: string, text: string): Promise<void>
}

/**
 * State of a message:
 * - `intent`: about to be posted. Found after a restart, it is unknown whether it was posted.
 * - `shown`: the platform accepted it.
 * - `doubtful`: unknown whether it is there; it is not retried.
 * - `gone`: a person removed it; it counts as shown.
 * - `failed`: it is not there and will not be.
 */
export type EntryState = 'intent' | 'shown' | 'doubtful' | 'gone' | 'failed'

/** One message that the sink posted or is about to post. */
export interface Entry {
  /** The `Slot.key` of what it shows. */
  readonly key: string
  /** The card that it shows, or shows a piece of. */
  readonly card: string
  /** The type of that card. */
  readonly type: CardType
  /** What is known of it on the platform. */
  readonly state: EntryState
  /** The same for each try of its post. */
  readonly id: string
  /** How often its post was tried, from 1. */
  readonly tries: number
  /** When its post was tried last, or confirmed, in ms since the epoch. */
  readonly at: number
  /** Whether it was posted to notify. */
  readonly isLoud: boolean
  /** The platform's reference. Absent until the post is confirmed. */
  readonly ref?: MessageRef | undefined
  /** Hashes of what it shows, without its footer (`body`) and with it (`whole`). Empty `whole`: unknown. */
  readonly body: string
  /** As `body`, with its footer. */
  readonly whole: string
  /** Set for an answer: its slice of the text, and the hash of the text up to its end. */
  readonly piece?: Piece | undefined
  /** Set for a permission: which of its messages this is. Absent in ledgers written before asks had several. */
  readonly part?: Part | undefined
  /** It has buttons that allow something. */
  readonly isAllowing?: true | undefined
  /** It continues a text that has other messages below it. */
  readonly isContinued?: true | undefined
  /** Set while it is an open stream. */
  readonly stream?: Sent | undefined
  /** It was a stream; more text goes into another message. */
  readonly isClosed?: true | undefined
  /** It can no longer be edited. */
  readonly isFixed?: true | undefined
  /** An edit may have been applied without confirmation. */
  readonly isUnsure?: true | undefined
  /** Where its card stands in the text (ids of the parts before it), and the calls that it reports. */
  readonly before?: readonly string[] | undefined
  /** Set for a notice: the tool calls that it reports, as `partID:status`. */
  readonly told?: readonly string[] | undefined
  /** Why it is not there. */
  readonly reason?: string | undefined
}

/** What a stream was given so far. */
export interface Sent {
  readonly openedAt: number
  /** Length of the text sent, in UTF-16 units. */
  readonly length: number
  readonly hash: string
  readonly plan?: string | undefined
}

/** From `from` in its source on, no message may measure more than `most`. */
export interface Cap {
  readonly most: number
  readonly from: number
}

/** One of the messages that show a permission. */
export interface Part {
  /** Identifies the full content that it was cut from. */
  readonly of: string
  readonly index: number
  readonly count: number
}

export interface Piece {
  readonly from: number
  readonly to: number
  readonly upTo: string
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
  readonly told: readonly string[]
  /** The progress of each ask in the chat, by its request id. */
  readonly asks: Readonly<Record<string, AskState>>
  /** Cards of asks that were open in a ledger read from a version without this field. */
  readonly outdated?: readonly string[] | undefined
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
  told: [],
  asks: {},
  outdated: [],
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
  const texts = new Map<string, string>()
  return {
    read: async (key) => texts.get(key),
    write: async (key, text) => {
      texts.set(key, text)
    },
  }
}

/** The part of a ledger that a view needs. */
export function shownOf(ledger: Ledger): Shown {
  const there = ledger.entries.filter(isThere)
  const posted = new Set(there.map((entry) => entry.card))
  return {
    breaks: ledger.breaks,
    posted,
    lost: new Set(ledger.entries.flatMap(({ card, state }) => (state === 'failed' && !posted.has(card) ? [card] : []))),
    told: new Set(ledger.told),
    noticeAt: ledger.noticeAt,
    noticeCount: ledger.notices,
    postedAt: latest(there),
    loudAt: latest(there.filter(({ isLoud }) => isLoud)),
    heartbeats: ledger.heartbeats,
    asks: new Map(Object.entries(ledger.asks)),
    outdated: ledger.outdated ?? [],
  }
}

/** It is, was or may be on the screen. */
export function isThere({ state }: Entry): boolean {
  return state !== 'failed' && state !== 'intent'
}

function latest(entries: readonly Entry[]): number | undefined {
  return entries.reduce<number | undefined>((newest, { at }) => Math.max(at, newest ?? at), undefined)
}
