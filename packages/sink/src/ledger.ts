import type { AskState, Break, CardType, Shown } from './card.ts'
import type { MessageRef } from './port.ts'

/** Where ledgers are kept: texts by key. A write is whole or not at all, and read afterwards. */
export interface LedgerStore {
  read(key: string): Promise<string | undefined>
  write(key: string, text: string): Promise<void>
}

/**
 * - `intent`: it is about to be posted; found so after a restart, nobody knows whether it was.
 * - `shown`: the platform took it.
 * - `doubtful`: nobody knows whether it is there, and it is not tried again.
 * - `gone`: a person removed it; it counts as shown.
 * - `failed`: it is not there and will not be.
 */
export type EntryState = 'intent' | 'shown' | 'doubtful' | 'gone' | 'failed'

/** One message of ours. */
export interface Entry {
  readonly key: string
  /** The card it shows, or a piece of it. */
  readonly card: string
  readonly type: CardType
  readonly state: EntryState
  /** The same for each try of its post. */
  readonly id: string
  readonly tries: number
  readonly at: number
  readonly isLoud: boolean
  readonly ref?: MessageRef | undefined
  /** What it shows, without a footer and with it. */
  readonly body: string
  readonly whole: string
  /** Of an answer: which part of the stretch, and what the stretch was up to there. */
  readonly piece?: Piece | undefined
  /** Of a permission: which of its messages it is. Absent in ledgers that were written before asks had several. */
  readonly part?: Part | undefined
  /** It has buttons that allow something. */
  readonly isAllowing?: true | undefined
  /** It goes on with a text that others have come below of. */
  readonly isContinued?: true | undefined
  /** It is a stream that is open. */
  readonly stream?: Sent | undefined
  /** It was a stream; what comes goes on in another message. */
  readonly isClosed?: true | undefined
  /** It cannot be edited any more. */
  readonly isFixed?: true | undefined
  /** An edit of it may have been done. */
  readonly isUnsure?: true | undefined
  /** Where its card stands in the text, and the calls that it tells of. */
  readonly before?: readonly string[] | undefined
  readonly told?: readonly string[] | undefined
  /** Why it is not there. */
  readonly reason?: string | undefined
}

/** What was given to a stream so far. */
export interface Sent {
  readonly openedAt: number
  /** Of the text. */
  readonly length: number
  readonly hash: string
  readonly plan?: string | undefined
}

/** From that place of its source on, no more than this at a time. */
export interface Cap {
  readonly most: number
  readonly from: number
}

/** One of the messages that show a permission. */
export interface Part {
  /** Names the whole that it was cut from. */
  readonly of: string
  readonly index: number
  readonly count: number
}

export interface Piece {
  readonly from: number
  readonly to: number
  readonly upTo: string
}

/** All that one chat was shown of one reply. A value that goes through JSON. */
export interface Ledger {
  readonly version: 1
  /** In the order in which they were posted. */
  readonly entries: readonly Entry[]
  readonly breaks: readonly Break[]
  readonly told: readonly string[]
  readonly asks: Readonly<Record<string, AskState>>
  /** Cards of asks that were open when the ledger was read from one without this field. */
  readonly outdated?: readonly string[] | undefined
  readonly noticeAt?: number | undefined
  readonly notices: number
  readonly heartbeats: number
  /** Posts that may be on the screen twice, or not at all. */
  readonly doubtful: number
  readonly calls: number
  readonly rateLimited: number
  /** Cards whose markup was refused: shown without any. */
  readonly plain: readonly string[]
  /** Cards of which less fits than was thought. */
  readonly caps: Readonly<Record<string, Cap>>
  /** The id under which an idempotent platform was given a post whose fate nobody knows. */
  readonly ids: Readonly<Record<string, string>>
}

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

/** Keeps ledgers as long as the process lives. */
export function memoryStore(): LedgerStore {
  const texts = new Map<string, string>()
  return {
    read: async (key) => texts.get(key),
    write: async (key, text) => {
      texts.set(key, text)
    },
  }
}

/** What a view has to know of it. */
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

/** The how-manieth message of its card; those before the first that is laid out stay as they are. */
export function indexOf(key: string): number {
  return Number(/#(\d+)$/.exec(key)?.[1] ?? 0)
}

function latest(entries: readonly Entry[]): number | undefined {
  return entries.reduce<number | undefined>((newest, { at }) => Math.max(at, newest ?? at), undefined)
}

/** 53 bits that tell two texts apart. Not for security. */
export function hashOf(text: string): string {
  return hashIn(hashedTo(text.length, text, emptyHash))
}

/** The state of hashing a text up to a place. */
export interface HashState {
  readonly at: number
  readonly a: number
  readonly b: number
}

export const emptyHash: HashState = { at: 0, a: 0xdeadbeef, b: 0x41c6ce57 }

/** Continues to hash a text up to `end`, which must not be before the state's place. */
export function hashedTo(end: number, text: string, state: HashState): HashState {
  let { at, a, b } = state
  for (; at < end; at++) {
    const unit = text.charCodeAt(at)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  return { at, a, b }
}

export function hashIn({ a, b }: HashState): string {
  return mixed(a, b)
}

function mixed(a: number, b: number): string {
  const low = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  const high = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  return (4294967296 * (2097151 & high) + (low >>> 0)).toString(36)
}
