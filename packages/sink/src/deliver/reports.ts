import { withChanged, withoutEntry } from '../ledger/change.ts'
import type { Entry, FailedEntry, ShownEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { PostReport, PostReports } from '../port/port.ts'
import { withLookUp, withoutLastTry, withResult } from './transitions.ts'

/**
 * Applies the platform's delivery reports to the ledger: which posts are there, which can't be delivered, and which must be
 * posted again. Returns the same object if nothing changed. Pure.
 */
export function withReports(ledger: Ledger, reports: PostReports | undefined): Ledger {
  if (!reports) return ledger
  return ledger.entries.reduce((next, entry) => withEntryReports(next, entry, reports.of(entry.id)), ledger)
}

/**
 * Applies the reports of one message. Reports of an intent only count once its call has ended without a result. A doubtful
 * message that is there counts as shown. Those of failed and removed messages change nothing.
 */
function withEntryReports(ledger: Ledger, entry: Entry, reported: readonly PostReport[]): Ledger {
  if (reported.length === 0) return ledger
  switch (entry.state) {
    case 'shown':
      return withShownReports(ledger, entry, reported)
    case 'intent': {
      // Its call may still be running.
      if (entry.unsureSince === undefined) return ledger
      const there = reported.find((one) => one.type === 'there')
      if (there) return withLookUp(ledger, { type: 'look-up', entry, isWanted: true, priority: 'final' }, there)
      const [first] = reported
      if (first?.type !== 'failed') return withoutLastTry(ledger, entry)
      return withResult(ledger, entry, { ...entry, state: 'failed', ...failureFields(first) })
    }
    case 'doubtful': {
      const there = reported.find((one) => one.type === 'there')
      if (!there) return ledger
      const shown: ShownEntry = { ...entry, state: 'shown', ref: there.ref, access: { type: 'editable' } }
      // It was counted as doubtful while its result was unknown.
      return withChanged({ ...ledger, doubtful: Math.max(0, ledger.doubtful - 1) }, entry, shown)
    }
    case 'gone':
    case 'failed':
      return ledger
    default:
      return entry satisfies never
  }
}

/**
 * Drops a message that a closed chat did not get, so that it is posted again. Marks an undelivered one as failed, and
 * counts further copies as doubtful.
 */
function withShownReports(ledger: Ledger, entry: ShownEntry, reported: readonly PostReport[]): Ledger {
  const own = reported.find(({ ref }) => ref.id === entry.ref.id)
  if (own?.type === 'chat-closed') return withoutEntry(ledger, entry)
  if (own?.type === 'failed') {
    const { ref: _, access: __, isUnsure: ___, ...fields } = entry
    const failed: FailedEntry = { ...fields, state: 'failed', ...failureFields(own) }
    return withChanged(ledger, entry, failed)
  }
  const copies = reported.filter(({ type, ref }) => type === 'there' && ref.id !== entry.ref.id).length
  const known = entry.copies ?? 0
  if (copies <= known) return ledger
  return withChanged({ ...ledger, doubtful: ledger.doubtful + copies - known }, entry, { ...entry, copies })
}

/** Returns the fields of a failed entry, from a report. */
function failureFields({ error }: Extract<PostReport, { type: 'failed' }>): Pick<FailedEntry, 'reason' | 'failure'> {
  return { reason: error.message, failure: error.type }
}

/**
 * Returns when the last missing report of a shown message is due, in ms since the epoch. Undefined if all have arrived, or
 * if the platform's reports are not waited for. One after which the message may still fail is not the last.
 */
export function lastReportDueAt({ entries }: Ledger, reports: PostReports | undefined): number | undefined {
  const withinMs = reports?.withinMs() ?? 0
  if (!reports || withinMs === 0) return undefined
  const missing = entries.filter((entry) => {
    if (entry.state !== 'shown') return false
    const own = reports.of(entry.id).find(({ ref }) => ref.id === entry.ref.id)
    return own === undefined || (own.type === 'there' && own.mayFail === true)
  })
  return missing.length === 0 ? undefined : Math.max(...missing.map(({ at }) => at)) + withinMs
}
