import type { Change, ReplyEvent } from '@reply/core'

/** What a frame is shown as in the list and on the time line: by the most telling thing that it did. */
export const frameKinds = [
  /** It concerns no reply, or repeats an earlier frame. */
  'none',
  /** It can't be read, or could not be applied. */
  'malformed',
  /** Its events wait for their message or their session. */
  'held',
  /** Its events changed no reply. */
  'quiet',
  'status',
  'text',
  'reasoning',
  'tool',
  'ask',
  'agent',
  'start',
  'end',
  'error',
] as const

/** What a frame is shown as. */
export type FrameKind = (typeof frameKinds)[number]

/**
 * Why `decode` made nothing of a frame:
 * - `other`: frames of this type concern no reply.
 * - `repeated`: a frame with the same id came before.
 * - `copy`: the second copy of a stored event, which servers send as `sync`.
 * - `empty`: frames of this type are read, but this one says nothing about a reply.
 * - `malformed`: see the errors.
 */
export type NoEvents = 'other' | 'repeated' | 'copy' | 'empty' | 'malformed'

/** A frame, and what `decode` made of it. */
export interface ReadFrame {
  /** Its data as it arrived. */
  readonly data: string
  /** When it arrived, in ms since the epoch. 0 if that is unknown. */
  readonly at: number
  /** Its events. */
  readonly events: readonly ReplyEvent[]
  /** Why there are no events. Undefined if there are some. */
  readonly noEvents?: NoEvents | undefined
  /** What could not be read, in sentences. Also of lines between the frame before and this one. */
  readonly errors: readonly string[]
}

/** A frame of a recording, with everything that became of it. */
export interface InspectedFrame {
  /** From 0. The moment of the same number is the one right after it. */
  readonly index: number
  /** Its data as it arrived. */
  readonly data: string
  /** Its type on the wire. Empty if it has none. */
  readonly type: string
  /** When it arrived, in ms since the epoch. 0 if that is unknown. */
  readonly at: number
  /** What it is shown as. */
  readonly kind: FrameKind
  /** What `decode` made of it. */
  readonly events: readonly ReplyEvent[]
  /** Why there are no events. Undefined if there are some. */
  readonly noEvents?: NoEvents | undefined
  /** What could not be read or applied, in sentences. Also of lines between the frame before and this one. */
  readonly errors: readonly string[]
  /** Set if `track` held events of it because their message or session was not known yet. */
  readonly held?: HeldFrame | undefined
  /** The frames whose held events were placed by this one. */
  readonly released: readonly number[]
  /** What it changed, in order, also by the held events that it released. */
  readonly steps: readonly InspectedStep[]
}

/** What became of a frame's held events. */
export interface HeldFrame {
  /** The frame that placed or dropped them, or the number of frames if the recording's end did. Undefined while they wait. */
  readonly until?: number | undefined
  /** Whether they were dropped, because too many waited or their session was removed. */
  readonly dropped: boolean
}

/** What one event changed in one reply. */
export interface InspectedStep {
  /** The root session of the reply. */
  readonly sessionID: string
  /** The number of the reply in its session, from 1. */
  readonly run: number
  /** What `reduce` reported. Empty if only the `raw` fields changed. */
  readonly changes: readonly Change[]
}

/** Returns the change of the part's own reply: a change inside of a sub-agent's reply is wrapped. */
export function innerChange(change: Change): Change {
  return change.type === 'childChanged' ? change.change : change
}

/** Returns the id of the part that a change is about. Undefined for a change of anything else. */
export function partOfChange(change: Change): string | undefined {
  const inner = innerChange(change)
  return 'part' in inner ? inner.part.id : undefined
}

/** Returns what a frame with these changes is shown as. `quiet` without changes. */
export function kindOfChanges(changes: readonly Change[]): FrameKind {
  return changes.reduce<FrameKind>((kind, change) => {
    const next = kindOfChange(innerChange(change))
    return frameKinds.indexOf(next) > frameKinds.indexOf(kind) ? next : kind
  }, 'quiet')
}

function kindOfChange(change: Change): FrameKind {
  switch (change.type) {
    case 'replyStarted':
      return 'start'
    case 'replySettled':
      return 'end'
    case 'sessionErrored':
    case 'sessionRetried':
      return 'error'
    case 'questionAsked':
    case 'questionReplied':
    case 'questionRejected':
    case 'permissionAsked':
    case 'permissionReplied':
    case 'askChanged':
    case 'askWithdrawn':
      return 'ask'
    case 'childStarted':
    case 'childSettled':
      return 'agent'
    case 'toolProgressed':
      return 'tool'
    case 'partAdded':
    case 'partChanged':
    case 'partFinalized':
    case 'partRemoved': {
      const { type } = change.part
      return type === 'text' || type === 'reasoning' || type === 'tool' ? type : 'status'
    }
    default:
      return 'status'
  }
}
