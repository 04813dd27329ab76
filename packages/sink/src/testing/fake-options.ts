import type { Clock } from '@reply/core'
import type { Limits } from '../port/limits.ts'
import type { Bubble } from '../port/port.ts'
import type { PortErrorType } from '../port/port-error.ts'

/** A fault of one call. Calls of all verbs but typing are counted, from 1. */
export interface FakeFault {
  /** Which call it hits, from 1. */
  readonly call: number
  /**
   * An error type: the call fails without being executed. `done`: it is executed but fails as ambiguous. `deleted`: a
   * person first removes the newest message. `fixed` also closes open streams. `undelivered`: the post is accepted, and
   * with `reports` reported as refused.
   */
  readonly type: PortErrorType | 'done' | 'deleted' | 'undelivered'
  /** With `rate-limited`: the time to wait that the error names, in ms. Default 2,000. */
  readonly retryAfterMs?: number | undefined
}

/** What the chat allows, and what goes wrong in it. */
export interface FakeOptions {
  /** The time of the chat: limits, typing and streams count by it. */
  readonly clock: Clock
  /** Overrides for the default: a chat with edits, a call a second, 400 units each. */
  readonly limits?: Partial<Limits> | undefined
  /** What goes wrong. Default: nothing. */
  readonly faults?: readonly FakeFault[] | undefined
  /** The kind of its native stream. Default `preview`. */
  readonly stream?: 'preview' | 'append' | undefined
  /**
   * Whether its port has `lookUp`, and what that answers: `exact`: whether the post is there; `probe`: only that it can't
   * tell. Default: none.
   */
  readonly lookUp?: 'exact' | 'probe' | undefined
  /** Whether its port reports what became of posts, as soon as their calls are over. Default false. */
  readonly reports?: boolean | undefined
  /** Verbs that it does not have. */
  readonly lacks?: readonly ('edit' | 'remove' | 'upload' | 'typing' | 'stream')[] | undefined
}

/** The limits of a chat by default: small, so that tests reach them soon. */
export const fakeLimits: Limits = {
  maxLength: 400,
  edits: true,
  editIntervalMs: 1000,
  perChat: { calls: 5, perMs: 5000 },
  typingMs: 5000,
  buttons: { perRow: 3, rows: 8, label: 40, data: 64 },
  idempotent: false,
}

/** The fake's markup for people to notify: `@id` for each, on a line above the text. */
export function withMentions(bubble: Bubble): Bubble {
  const { mentions = [], text } = bubble
  return mentions.length === 0
    ? bubble
    : { ...bubble, text: `${mentions.map(({ id }) => `@${id}`).join(' ')}\n${text}` }
}
