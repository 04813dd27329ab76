import type { Slot } from '../layout/slot.ts'
import type { IntentEntry, ShownEntry } from '../ledger/entry.ts'
import type { CallKind } from '../port/limits.ts'
import type { StreamChange } from './streaming.ts'

/** How urgent an operation is, most urgent first. */
export type Priority = 'final' | 'ask' | 'text' | 'status'

/** One difference between what the chat shows and what it should show. */
export type Operation = Post | Edit | Remove | Preview | LookUp

export interface Post {
  readonly type: 'post'
  readonly slot: Slot
  readonly isLoud: boolean
  readonly priority: Priority
}

export interface Edit {
  readonly type: 'edit'
  readonly slot: Slot
  /** The message to edit. A status message may become the message of another slot. */
  readonly entry: ShownEntry
  readonly priority: Priority
  /** Set if the message is an open stream. */
  readonly streamChange?: StreamChange | undefined
}

export interface Remove {
  readonly type: 'remove'
  readonly entry: ShownEntry
  readonly priority: Priority
}

export interface Preview {
  readonly type: 'preview'
  readonly slot: Slot
  readonly priority: Priority
}

/** Looks for a post with an unknown result. */
export interface LookUp {
  readonly type: 'look-up'
  readonly entry: IntentEntry
  /** The message should still be shown. */
  readonly isWanted: boolean
  readonly priority: Priority
}

/** Whether the operation posts files of the reply. */
export function isFilePost(operation: Operation): operation is Post {
  return operation.type === 'post' && operation.slot.attachments !== undefined
}

/** Whether the operation posts a question or a permission request. */
export function isAskPost(operation: Operation): operation is Post {
  return operation.type === 'post' && operation.slot.card.type === 'ask'
}

/** Returns the kind of call that performs the operation. `postedAs` says how a post's slot is posted. */
export function callKindOf(operation: Operation, postedAs?: IntentEntry['kind']): CallKind {
  switch (operation.type) {
    case 'post':
      return postedAs === 'stream' ? 'open' : 'post'
    case 'edit':
      if (operation.streamChange === undefined) return 'edit'
      return operation.streamChange === 'append' ? 'append' : 'close'
    case 'remove':
    case 'preview':
    case 'look-up':
      return operation.type
    default:
      return operation satisfies never
  }
}
