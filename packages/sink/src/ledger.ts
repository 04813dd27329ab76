import type { AskState, Break, CardType, Shown } from './card.ts'
import type { Limits } from './limits.ts'
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
  /** It goes on with a text that others have come below of. */
  readonly isContinued?: true | undefined
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

/** From that place of its source on, no more than this at a time. */
export interface Cap {
  readonly most: number
  readonly from: number
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

/** Of the time in which it can be edited: the rest is for taking its status off. */
const oldAfter = 0.9

/** So old that nobody should count on editing it. */
export function isOld({ at }: Entry, { editWindowMs }: Limits, now: number): boolean {
  return editWindowMs !== undefined && now - at >= editWindowMs * oldAfter
}

/**
 * Before the platform refuses: an old answer stays as it is once its status has been taken off, and what is said further goes into
 * another message. An old status gives way to another one. What else is old is edited as long as that goes. Pure; the
 * same ledger when nothing became old.
 */
export function aged(ledger: Ledger, limits: Limits, now: number): Ledger {
  const entries = ledger.entries.map((entry): Entry => {
    const { key, type, state, body, whole, isFixed, isUnsure } = entry
    if (state !== 'shown' || isFixed || isUnsure || whole === '' || !isOld(entry, limits, now)) return entry
    if (type === 'answer' && whole === body) return { ...entry, isFixed: true }
    return key === 'status' ? { ...entry, key: `${key}~${entry.id}`, card: `${key}~` } : entry
  })
  return entries.some((entry, index) => entry !== ledger.entries[index]) ? { ...ledger, entries } : ledger
}

/** What a view has to know of it. */
export function shownOf(ledger: Ledger): Shown {
  const there = ledger.entries.filter(isThere)
  return {
    breaks: ledger.breaks,
    posted: new Map(there.map((entry) => [entry.card, { at: entry.at }])),
    told: new Set(ledger.told),
    noticeAt: ledger.noticeAt,
    noticeCount: ledger.notices,
    postedAt: latest(there),
    loudAt: latest(there.filter(({ isLoud }) => isLoud)),
    heartbeats: ledger.heartbeats,
    asks: new Map(Object.entries(ledger.asks)),
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

/** 53 bits that tell two texts apart; nobody is to be kept out by it. */
export function hashOf(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36)
}
