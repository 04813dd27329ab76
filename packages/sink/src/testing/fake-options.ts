import type { Clock } from '@reply/core'
import type { Limits } from '../port/limits.ts'
import type { Bubble } from '../port/port.ts'
import type { PortErrorType } from '../port/port-error.ts'

/** A fault of one call. All calls except `typing` are counted. */
export interface FakeFault {
  /** The number of the call that fails, from 1. */
  readonly call: number
  /**
   * How it fails:
   * - an error type: it fails without being executed. `fixed` also closes open streams.
   * - `done`: it is executed but fails as `ambiguous`.
   * - `deleted`: a person removes the newest message before the call.
   * - `undelivered`: the post is accepted and, with the option `reports`, reported as refused.
   */
  readonly type: PortErrorType | 'done' | 'deleted' | 'undelivered'
  /** With `rate-limited`: the error's `retryAfterMs`. Default 2,000. */
  readonly retryAfterMs?: number | undefined
}

/** Options of `createFake`. */
export interface FakeOptions {
  /** Times the limits, the typing notice and streams. */
  readonly clock: Clock
  /** Overrides of the default limits: edits, 5 calls per 5 s, and 400 UTF-16 units per message. */
  readonly limits?: Partial<Limits> | undefined
  /** The calls that fail. Default: none. */
  readonly faults?: readonly FakeFault[] | undefined
  /** The kind of its native stream. Default `preview`. */
  readonly stream?: 'preview' | 'append' | undefined
  /**
   * How the port's `lookUp` answers. `exact`: whether the post is there. `probe`: always `unknown`. Default: the port has no
   * `lookUp`.
   */
  readonly lookUp?: 'exact' | 'probe' | undefined
  /** Whether the port reports the delivery of each post, right after its call. Default false. */
  readonly reports?: boolean | undefined
  /** Methods that the port lacks. Default: none. */
  readonly lacks?: readonly ('edit' | 'remove' | 'upload' | 'typing' | 'stream')[] | undefined
}

/** The default limits. They are small, so that tests reach them soon. */
export const fakeLimits: Limits = {
  maxLength: 400,
  edits: true,
  editIntervalMs: 1000,
  perChat: { calls: 5, perMs: 5000 },
  typingMs: 5000,
  buttons: { perRow: 3, rows: 8, label: 40, data: 64 },
  files: { maxBytes: 1_000_000, perPost: 4, postBytes: 2_000_000 },
  idempotent: false,
}

/** Returns the bubble with its mentions as the fake shows them: `@id` for each person, on a line above the text. */
export function withMentions(bubble: Bubble): Bubble {
  const { mentions = [], text } = bubble
  return mentions.length === 0
    ? bubble
    : { ...bubble, text: `${mentions.map(({ id }) => `@${id}`).join(' ')}\n${text}` }
}
