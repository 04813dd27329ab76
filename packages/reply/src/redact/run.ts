/** The result of reading a possible secret. */
export type Verdict =
  | { readonly type: 'no' }
  /** Undecided at the end of the text: everything from `from` on is held back. */
  | { readonly type: 'growing'; readonly from: number }
  /** `mark` replaces everything from `from` to `end`, and what `swallow` consumes after that. */
  | {
      readonly type: 'secret'
      readonly from: number
      readonly end: number
      readonly mark: string
      readonly swallow?: Swallow | undefined
    }

/**
 * Consumes the rest of a secret whose beginning was replaced already. `end` is the decided end so far; `isOver` is true
 * if the secret doesn't continue.
 */
export type Swallow = (text: string, at: number, isEnd: boolean) => { readonly end: number; readonly isOver: boolean }

export interface Span {
  /** Where the replacement begins. */
  readonly from: number
  /** Where the reading begins. */
  readonly at: number
  /** Whether this is the end of the text. */
  readonly isEnd: boolean
}

/** A run of characters of one class, of `min` to `max` UTF-16 units. */
export interface Run {
  readonly pattern: RegExp
  readonly rest: RegExp
  readonly min: number
  readonly max: number
}

export const secretMark = '[redacted]'

/** How far a secret's last run is read ahead, in UTF-16 units; the rest is swallowed. */
const most = 4096

export function run(charClass: string, min: number, max = most): Run {
  const pattern = new RegExp(`${charClass}{0,${max}}`, 'y')
  return { pattern, rest: new RegExp(`${charClass}*`, 'y'), min, max }
}

/** Exactly this one character. */
export const one = (charClass: string): Run => run(charClass, 1, 1)

/** Matches consecutive runs. The last one is open: it is replaced as soon as its minimum length is reached. */
export function readRuns(text: string, { from, at, isEnd }: Span, runs: readonly Run[]): Verdict {
  let end = at
  for (const [index, current] of runs.entries()) {
    const length = lengthOf(current.pattern, text, end)
    const canGrow = !isEnd && end + length === text.length && length < current.max
    const isOpen = index === runs.length - 1 && length >= current.min
    if (canGrow && !isOpen) return { type: 'growing', from }
    if (length < current.min) return { type: 'no' }
    end += length
  }
  const last = runs.at(-1)
  return { type: 'secret', from, end, mark: secretMark, swallow: last && swallowing(last.rest) }
}

export function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}

function swallowing(rest: RegExp): Swallow {
  return (text, at, isEnd) => {
    const end = at + lengthOf(rest, text, at)
    return { end, isOver: isEnd || end < text.length }
  }
}
