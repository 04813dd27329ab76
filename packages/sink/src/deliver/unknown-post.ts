import { withChanged, withoutEntry } from '../ledger/change.ts'
import type { IntentEntry, Sent } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { LookedUp } from '../port/port.ts'
import type { LookUp } from './operation.ts'
import { isWorthAnotherTry, shownEntry, withDoubt, withResult } from './transitions.ts'

/** Whether the post succeeded is unknown. */
export function unsure(ledger: Ledger, intent: IntentEntry): Ledger {
  return withChanged(ledger, intent, { ...intent, unsureSince: intent.unsureSince ?? intent.at })
}

/** Whether the post is in the chat is known now, or never will be. */
export function lookedUp(ledger: Ledger, { entry, isWanted }: LookUp, found: LookedUp): Ledger {
  const { unsureSince: _, ...intent } = entry
  switch (found.type) {
    case 'there': {
      const { ref } = found
      const shown = shownEntry(entry, { ref, at: ref.postedAt ?? entry.at })
      // A stream may be open still, which is closed before an edit.
      const sent: Sent = { openedAt: shown.at, length: 0, hash: '' }
      const isStream = entry.kind === 'stream'
      return withResult(
        ledger,
        entry,
        isStream ? { ...shown, access: { type: 'open-stream', sent }, isUnsure: true } : shown,
      )
    }
    case 'absent':
      // It stays an intent, so that the text of a stream that did not open becomes a message.
      if (isWanted && entry.kind === 'stream' && entry.tries === 1)
        return withChanged(ledger, entry, { ...intent, tries: 0 })
      return untried(ledger, intent)
    case 'unknown': {
      const counted = { ...ledger, doubtful: ledger.doubtful + 1 }
      return isWanted && isWorthAnotherTry(entry) ? withChanged(counted, entry, intent) : withDoubt(counted, intent)
    }
    default:
      return found satisfies never
  }
}

/** The post is certainly not there, and does not count as tried. */
export function untried(ledger: Ledger, intent: IntentEntry): Ledger {
  // One of its earlier tries may have succeeded.
  if (intent.tries > 1) return withChanged(ledger, intent, { ...intent, tries: intent.tries - 1 })
  return withoutEntry(ledger, intent)
}

export interface RecoveryOptions {
  /** An idempotent platform is simply given the same post again. An unwanted one stays an intent. */
  readonly isIdempotent: boolean
  /** The port can look for the posts. */
  readonly canLookUp: boolean
}

/** After a crash: it is unknown whether the open intents were posted. */
export function recovered(ledger: Ledger, { isIdempotent, canLookUp }: RecoveryOptions): Ledger {
  const open = ledger.entries.filter((entry) => entry.state === 'intent')
  if (open.length === 0) return ledger
  if (isIdempotent || canLookUp) return open.reduce(unsure, ledger)
  const counted = { ...ledger, doubtful: ledger.doubtful + open.length }
  return open.filter((intent) => !isWorthAnotherTry(intent)).reduce(withDoubt, counted)
}
