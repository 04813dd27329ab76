import type { MessageRef } from '../port/port.ts'
import type { PortErrorType } from '../port/port-error.ts'
import type { CardType } from './card.ts'

/** One message that the sink posted or is about to post. Its state says what is known about it on the platform. */
export type Entry = IntentEntry | ShownEntry | DoubtfulEntry | GoneEntry | FailedEntry

/** A message that is about to be posted. After a restart, it is unknown whether it was posted. */
export interface IntentEntry extends EntryFields {
  readonly state: 'intent'
  /** Since when the result of a try is unknown, in ms since the epoch. */
  readonly unsureSince?: number | undefined
}

/** A message that the platform accepted. */
export interface ShownEntry extends EntryFields {
  readonly state: 'shown'
  /** The platform's reference. */
  readonly ref: MessageRef
  /** How its text can change. */
  readonly access: Access
  /** A change may have been applied without confirmation. */
  readonly isUnsure?: true | undefined
  /**
   * When the first try was made, in ms since the epoch. Set if that try had no result, because the message may be that
   * old.
   */
  readonly since?: number | undefined
  /** How many further messages of its tries the platform reported. Each is counted as doubtful. */
  readonly copies?: number | undefined
}

/** A message that may be in the chat. Its post is not tried again. */
export interface DoubtfulEntry extends EntryFields {
  readonly state: 'doubtful'
}

/** A message that a person removed or the sink emptied. It counts as shown. */
export interface GoneEntry extends EntryFields {
  readonly state: 'gone'
  /** The platform's reference. */
  readonly ref: MessageRef
  /** It was a closed stream that certainly showed its text. More text goes into another message. */
  readonly isClosed?: true | undefined
}

/** A message that is not in the chat and will not be. */
export interface FailedEntry extends EntryFields {
  readonly state: 'failed'
  /** Why, as a sentence for people. */
  readonly reason: string
  /** Set if the chat may show the reason. */
  readonly isForPeople?: true | undefined
  /** The error's type. */
  readonly failure: PortErrorType
  /** Set if a message with an older text may be in its place that can no longer be edited. */
  readonly olderRef?: MessageRef | undefined
}

/** The fields of a message in every state. */
export interface EntryFields {
  /** The `Slot.key` of its content. */
  readonly key: string
  /** The key of the card that it shows in whole or in part. */
  readonly card: string
  /** The type of that card. */
  readonly type: CardType
  /** The same for each try of its post. */
  readonly id: string
  /** How it is posted, or was. Default: as a message. */
  readonly kind?: 'file' | 'stream' | undefined
  /** How often its post was tried, from 1. */
  readonly tries: number
  /** How many of the tries were interrupted: the process ended or froze before the platform could answer. Default 0. */
  readonly interrupted?: number | undefined
  /** How many of the tries ended without a clear answer of the platform, and a look-up found none either. Default 0. */
  readonly unclear?: number | undefined
  /** When its post was last tried or confirmed, in ms since the epoch. */
  readonly at: number
  /** Whether it was posted to notify. */
  readonly isLoud: boolean
  /** Its content, as hashes. */
  readonly content: Content
  /** Set for an answer: its slice of the text, and the hash of the text up to its end. */
  readonly piece?: Piece | undefined
  /** Set for a permission: the position among its messages. */
  readonly part?: Part | undefined
  /** Whether one of its buttons allows something. */
  readonly isAllowing?: true | undefined
  /**
   * Set for a message of an ask with buttons: hashes of the secrets of their tokens. More than one while the result of
   * a post or an edit is unknown, because the message may then have either tokens.
   */
  readonly secretHashes?: readonly string[] | undefined
  /** It continues a text that has other messages below it. */
  readonly isContinued?: true | undefined
  /** The position of its card in the text: ids of the parts before it. */
  readonly before?: readonly string[] | undefined
  /** Set for a notice: the tool calls that it reports, as `partID:status`. */
  readonly reported?: readonly string[] | undefined
  /** Set for a post of files: their keys. */
  readonly files?: readonly string[] | undefined
  /** Set for a note in place of files that are not posted: their keys. */
  readonly unsent?: readonly string[] | undefined
  /** Another message has its key, or may get it. This one no longer counts for its card, but may still be on the screen. */
  readonly isReplaced?: true | undefined
}

/** Hashes of the content of a message. */
export type Content =
  | {
      readonly type: 'known'
      /** Without its footer. */
      readonly body: string
      /** With its footer. Equal to `body` without one. */
      readonly whole: string
    }
  | {
      /** An earlier try of its post may have left an older text under its id. */
      readonly type: 'newest-or-older'
      /** The newest text, without its footer. */
      readonly body: string
    }

/**
 * How the text of a message can change:
 * - `editable`: by edits.
 * - `open-stream`: by appending.
 * - `closed-stream`: by edits, but more text goes into another message.
 * - `fixed`: no longer.
 */
export type Access =
  | { readonly type: 'editable' | 'closed-stream' | 'fixed' }
  | { readonly type: 'open-stream'; readonly sent: Sent }

/** The content of a stream so far. */
export interface Sent {
  readonly openedAt: number
  /** Length of the text sent, in UTF-16 units. */
  readonly length: number
  readonly hash: string
  readonly plan?: string | undefined
}

/** One of the messages that show a permission. */
export interface Part {
  /** Identifies the full content that it was cut from. */
  readonly of: string
  readonly index: number
  readonly count: number
}

/** A slice of an answer's text. */
export interface Piece {
  readonly from: number
  readonly to: number
  /** Hash of the text up to `to`. */
  readonly upTo: string
}

/** Whether the message is, was or may be on the screen. False while its post still has no result. */
export function isOrWasThere({ state }: Entry): boolean {
  return state !== 'failed' && state !== 'intent'
}

/** Whether the platform can still change the message, if the port can edit. */
export function isEditable(entry: Entry): entry is ShownEntry {
  return entry.state === 'shown' && entry.access.type !== 'fixed'
}

/** Returns what an open stream contains so far. Undefined for other messages. */
export function openStream(entry: Entry): Sent | undefined {
  return entry.state === 'shown' && entry.access.type === 'open-stream' ? entry.access.sent : undefined
}

/**
 * Returns the reference of the message, also if it was removed or only its older text is in the chat. Undefined if the
 * platform gave none.
 */
export function refOf(entry: Entry): MessageRef | undefined {
  switch (entry.state) {
    case 'shown':
    case 'gone':
      return entry.ref
    case 'failed':
      return entry.olderRef
    case 'intent':
    case 'doubtful':
      return undefined
    default:
      return entry satisfies never
  }
}

/** Returns the entry with its key freed for another message. The message stays on the screen. */
export function asReplaced<E extends Entry>(entry: E): E {
  return { ...entry, isReplaced: true }
}

/** Returns the entry of a message that was removed. */
export function asGone({ access, isUnsure, ...entry }: ShownEntry): GoneEntry {
  return { ...entry, state: 'gone', ...(access.type === 'closed-stream' && !isUnsure && { isClosed: true }) }
}
