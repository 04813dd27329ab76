import type { Slot } from '../layout/slot.ts'
import type { CardType } from '../ledger/card.ts'
import { type Entry, isEditable, isOrWasThere } from '../ledger/entry.ts'
import { attachmentKey } from '../ledger/keys.ts'
import { entriesByKey, type Ledger } from '../ledger/ledger.ts'
import type { PortErrorType } from '../port/port-error.ts'
import { needsEdit, needsNoPost } from './reconcile.ts'
import { isAwaited, isWaiting, isWorthAnotherTry } from './transitions.ts'

/** The result of showing a reply: counts, and the messages that are missing. */
export interface Delivery {
  /** Number of messages in the chat. */
  readonly shown: number
  /** Messages that are missing or may be missing, and why. Empty if everything was delivered. */
  readonly undelivered: readonly Undelivered[]
  /** Number of posts that the platform did not confirm: each message may be there twice or not at all. */
  readonly doubtful: number
  /** Number of calls to the port, of all kinds. */
  readonly calls: number
  /** How many of them were rate-limited. */
  readonly rateLimited: number
  /**
   * Set if a line below the answer says that people stopped the run, and nothing was posted in the chat since that message. Only with
   * `Policy.abortNotice: 'below'`. Otherwise the chat has to show it elsewhere.
   */
  readonly saysStopped?: true | undefined
}

/** A message that is not in the chat, or with type `ambiguous` perhaps not. */
export interface Undelivered {
  /** Identifies the message within its reply. */
  readonly key: string
  /**
   * The content of the message. People wait for an `answer`, an `ending` or an `attachment`, which is a file of the reply or the note
   * that names it in its place. The other types are less important.
   */
  readonly card: CardType
  /** Set for an `attachment`: the ids of its files. That of a sub-agent's file is after its session's id and a slash. */
  readonly files?: readonly string[] | undefined
  /** Why it is missing. Use it in code instead of `reason`. */
  readonly type: UndeliveredType
  /** The same as a sentence for people. */
  readonly reason: string
}

/**
 * Why a message is missing: the type of the error that ended its delivery, `stopped` by the sink's `stop()`,
 * `given-up` after `Policy.giveUpMs`, or `taken-over` by another process, which shows it.
 */
export type UndeliveredType = PortErrorType | Missing['type']

/** Messages that were not shown because the delivery ended early. */
export interface Missing {
  readonly messages: readonly Pick<Undelivered, 'key' | 'card' | 'files'>[]
  readonly type: 'stopped' | 'given-up' | 'taken-over'
}

const reasons: Readonly<Record<Missing['type'], string>> = {
  stopped: 'The sink was stopped before showing it.',
  'given-up': 'It could not be shown before the sink gave up.',
  'taken-over': 'Another process took over and shows it.',
}

/** Says how often a message was tried without a result. A post that was interrupted may not have been made. */
function unconfirmed({ tries, unsent }: Entry): string {
  const [it, its] = unsent ? ['The note that names it', "The note's"] : ['It', 'Its']
  if (tries === 2) return `${it} was posted twice, and the platform confirmed neither post.`
  return `${its} post was tried ${tries} times, and the platform confirmed none.`
}

const unposted = 'The chat takes no files, or not as many of one answer. It names this one.'

/**
 * Whether an answer, an ending, files or the note in their place may be missing after all tries. Other types are less important or
 * shown as text.
 */
function isPerhapsMissing(entry: Entry): boolean {
  const isListed = isAwaited(entry) || entry.type === 'attachment'
  return entry.state === 'doubtful' && isListed && !entry.isReplaced && !isWorthAnotherTry(entry)
}

/** Returns messages that are missing or show an outdated text, without statuses. */
export function missingIn(ledger: Ledger, slots: readonly Slot[]): Missing['messages'] {
  const known = entriesByKey(ledger)
  const missing = slots.filter((slot) => {
    const entry = known.get(slot.key)
    const isOld = entry !== undefined && isEditable(entry) && needsEdit(entry, slot) && entry.content.body !== slot.body
    return slot.card.type !== 'status' && (isOld || !needsNoPost(entry, slot))
  })
  return missing.flatMap(({ key, card, attachments }) => {
    if (card.type === 'note' && card.unsent) return card.unsent.map(fileWithKey)
    return [{ key, card: card.type, ...(attachments && { files: attachments.map((one) => one.key) }) }]
  })
}

/** Returns a file that is missing, as its post would be listed. */
function fileWithKey(file: string): Missing['messages'][number] {
  return { key: attachmentKey([file]), card: 'attachment', files: [file] }
}

/** Returns the messages with one of each key: the last one. */
function lastOfEach(messages: readonly Undelivered[]): readonly Undelivered[] {
  return [...new Map(messages.map((one) => [one.key, one])).values()]
}

/** Returns the delivery that a ledger records. `missing` adds messages that the ledger doesn't have. */
export function deliveryOf(ledger: Ledger, missing: Missing = { messages: [], type: 'stopped' }): Delivery {
  // The code of a refused file is shown as text, and the files of a refused album are tried one by one.
  const failed = ledger.entries
    .filter((entry) => entry.state === 'failed')
    .filter(({ type, files = [] }) => type !== 'status' && type !== 'file' && files.length <= 1)
  const named = ledger.entries.flatMap(({ unsent = [] }) => unsent)
  const uncertain = ledger.entries.filter(isPerhapsMissing)
  const { messages, type } = missing
  return {
    shown: ledger.entries.filter((entry) => isOrWasThere(entry) && entry.state !== 'doubtful').length,
    // What is known of a file itself says more than that it is named, unless its name may be missing.
    undelivered: lastOfEach([
      ...named.map((file) => ({ ...fileWithKey(file), type: 'refused', reason: unposted }) as const),
      ...failed.map(({ key, type: card, files, reason, failure }) => ({
        key,
        card,
        ...(files && { files }),
        type: failure,
        reason,
      })),
      ...uncertain.flatMap((entry) => {
        const { key, type: card, files, unsent } = entry
        const lost = unsent?.map(fileWithKey) ?? [{ key, card, ...(files && { files }) }]
        return lost.map((one) => ({ ...one, type: 'ambiguous', reason: unconfirmed(entry) }) as const)
      }),
      ...messages.map((message) => ({ ...message, type, reason: reasons[type] })),
    ]),
    doubtful: ledger.doubtful + ledger.entries.filter((entry) => entry.state === 'intent' && !isWaiting(entry)).length,
    calls: ledger.calls,
    rateLimited: ledger.rateLimited,
  }
}

/** Adds up two deliveries. */
export function addDeliveries(a: Delivery, b: Delivery): Delivery {
  return {
    shown: a.shown + b.shown,
    undelivered: [...a.undelivered, ...b.undelivered],
    doubtful: a.doubtful + b.doubtful,
    calls: a.calls + b.calls,
    rateLimited: a.rateLimited + b.rateLimited,
    ...((a.saysStopped ?? b.saysStopped) && { saysStopped: true }),
  }
}
