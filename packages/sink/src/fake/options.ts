import type { Clock } from '@reply/core'
import type { Limits } from '../limits.ts'
import type { PortErrorType } from '../port.ts'

/** What goes wrong with one call, counted from 1 over all verbs but typing. */
export interface FakeFault {
  readonly call: number
  /** An error without the call being done; `done`: it is done, and then nobody says so; `deleted`: a person removes the newest message first; `fixed`: open streams are closed, too. */
  readonly type: PortErrorType | 'done' | 'deleted'
  readonly retryAfterMs?: number | undefined
}

export interface FakeOptions {
  readonly clock: Clock
  /** Over those of a chat that edits, a message a second, 400 units each. */
  readonly limits?: Partial<Limits> | undefined
  readonly faults?: readonly FakeFault[] | undefined
  /** How it shows what grows by itself. Default `preview`. */
  readonly stream?: 'preview' | 'append' | undefined
  /** Verbs that it does without. */
  readonly lacks?: readonly ('edit' | 'remove' | 'upload' | 'typing' | 'stream')[] | undefined
}

export const fakeLimits: Limits = {
  maxLength: 400,
  edits: true,
  editIntervalMs: 1000,
  perChat: { calls: 5, perMs: 5000 },
  typingMs: 5000,
  buttons: { perRow: 3, rows: 8, label: 40, data: 64 },
  idempotent: false,
}
