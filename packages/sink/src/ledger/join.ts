import { asReplaced, type Entry } from './entry.ts'
import { emptyLedger, type Ledger } from './ledger.ts'

/*
 * What becomes of a ledger when its reply gets another key, because its prompt becomes known or is another one. All pure.
 */

/**
 * Returns the part of a ledger that was added since it was loaded. Messages that were loaded and show another text of an
 * answer since count as doubtful, because that text is shown again elsewhere.
 */
export function addedSince(loaded: Ledger, ledger: Ledger): Ledger {
  const before = new Map(loaded.entries.map((entry) => [entry.id, entry]))
  const isChanged = ({ id, type, content }: Entry): boolean => {
    const known = before.get(id)
    return known !== undefined && type === 'answer' && known.content.body !== content.body
  }
  const doubtful = ledger.doubtful - loaded.doubtful + ledger.entries.filter(isChanged).length
  return {
    ...emptyLedger,
    entries: ledger.entries.filter(({ id }) => !before.has(id)),
    breaks: ledger.breaks.filter(({ key }) => !loaded.breaks.some((known) => known.key === key)),
    reported: ledger.reported.filter((call) => !loaded.reported.includes(call)),
    asks: withoutKeysOf(loaded.asks, ledger.asks),
    noticeAt: ledger.notices > loaded.notices ? ledger.noticeAt : undefined,
    notices: ledger.notices - loaded.notices,
    heartbeats: ledger.heartbeats - loaded.heartbeats,
    doubtful,
    calls: ledger.calls - loaded.calls,
    rateLimited: ledger.rateLimited - loaded.rateLimited,
    plain: ledger.plain.filter((card) => !loaded.plain.includes(card)),
    caps: withoutKeysOf(loaded.caps, ledger.caps),
    ids: withoutKeysOf(loaded.ids, ledger.ids),
  }
}

/** Returns a ledger without the messages that were added since it was loaded: they belong to another reply. */
export function withoutAdded(loaded: Ledger, ledger: Ledger): Ledger {
  const known = new Set(loaded.entries.map(({ id }) => id))
  return { ...ledger, entries: ledger.entries.filter(({ id }) => known.has(id)) }
}

/**
 * Returns the ledger of a reply that an earlier process has shown, with what this one has posted before it knew that. If
 * both posted the same message, that of the earlier process goes on. `isRemoved` tells whether the other one is then
 * removed from the chat. If it stays there, it counts as doubtful, and so does a post with an unknown result.
 */
export function joinedLedgers(earlier: Ledger, own: Ledger, isRemoved: (entry: Entry) => boolean): Ledger {
  const taken = new Set(earlier.entries.flatMap(({ key, isReplaced }) => (isReplaced ? [] : [key])))
  const isCopy = ({ key, isReplaced }: Entry): boolean => !isReplaced && taken.has(key)
  const copies = own.entries.filter(isCopy)
  const entries = own.entries.flatMap((entry): readonly Entry[] => {
    if (!isCopy(entry)) return [entry]
    return entry.state === 'intent' || entry.state === 'failed' ? [] : [asReplaced(entry)]
  })
  const stays = copies.filter((entry) => entry.state === 'intent' || (entry.state === 'shown' && !isRemoved(entry)))
  return {
    ...earlier,
    entries: [...earlier.entries, ...entries],
    breaks: [...earlier.breaks, ...own.breaks.filter(({ key }) => !earlier.breaks.some((known) => known.key === key))],
    reported: [...new Set([...earlier.reported, ...own.reported])],
    asks: { ...own.asks, ...earlier.asks },
    noticeAt: own.noticeAt ?? earlier.noticeAt,
    notices: earlier.notices + own.notices,
    heartbeats: earlier.heartbeats + own.heartbeats,
    doubtful: earlier.doubtful + own.doubtful + stays.length,
    calls: earlier.calls + own.calls,
    rateLimited: earlier.rateLimited + own.rateLimited,
    plain: [...new Set([...earlier.plain, ...own.plain])],
    caps: { ...own.caps, ...earlier.caps },
    ids: { ...own.ids, ...earlier.ids },
  }
}

/** Returns a table without the keys of another one. */
function withoutKeysOf<Value>(
  known: Readonly<Record<string, Value>>,
  all: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => !(key in known)))
}
