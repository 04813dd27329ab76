/**
 * What a platform allows. Each channel has one of these in its `limits.ts`, with the source of each number; whoever
 * measured better gives their own.
 */
export interface Limits {
  /** The most that one message takes, in what `Render` measures: mostly UTF-16 units after rendering. */
  readonly maxLength: number
  /** Letters of which `Render` may make two each: a pattern with `g`. What is cut then stays cut as it is. Default: none. */
  readonly swells?: RegExp | undefined
  /** Whether messages can be edited. Without it nothing is shown before it is whole, and what was said stays said. */
  readonly edits: boolean
  /** So long after its posting a message can be edited, in ms. Undefined: for ever. */
  readonly editWindowMs?: number | undefined
  /** Edits of a text that grows come no closer than this in one chat, in ms. */
  readonly editIntervalMs: number
  /** What one chat takes. */
  readonly perChat: Budget
  /** What all chats of one client take together. Undefined: as much as there is. */
  readonly perClient?: Budget | undefined
  /** A typing notice goes out by itself after so long, in ms; it is renewed before. Undefined: there is none. */
  readonly typingMs?: number | undefined
  /** The notice says what is being done, in words: no message has to. */
  readonly typingTells?: boolean | undefined
  /** Buttons below a message. Undefined: none; asks are answered by text alone. */
  readonly buttons?: ButtonLimits | undefined
  /** The port shows `Bubble.form` with fields of the platform's own. Default: asks are buttons, or answered by text. */
  readonly forms?: boolean | undefined
  /** Posts can be silent. Default true; without it each one rings, so a status stands below a text and is no message of its own. */
  readonly silent?: boolean | undefined
  /** A status line as Markdown that `Render` knows how to make small. Default: emphasised. */
  readonly small?: ((line: string) => string) | undefined
  /** A post with a key that the platform has seen already posts nothing again: an ambiguous one is simply repeated. */
  readonly idempotent: boolean
}

/** So many calls in so many ms. */
export interface Budget {
  readonly calls: number
  readonly perMs: number
}

export interface ButtonLimits {
  readonly perRow: number
  readonly rows: number
  /** UTF-16 units of a label. */
  readonly label: number
  /** Bytes of what a button carries. */
  readonly data: number
  /** How long a message with buttons may be, in what `Render` measures. Default: `Limits.maxLength`. */
  readonly maxLength?: number | undefined
}
