/** What a text holds at a place where a secret may begin. */
export type Verdict =
  | { readonly type: 'no' }
  /** The text ends before this can be decided: everything from `from` on has to wait. */
  | { readonly type: 'growing'; readonly from: number }
  /** `mark` replaces everything from `from` to `end`, and what `swallow` takes after that. */
  | {
      readonly type: 'secret'
      readonly from: number
      readonly end: number
      readonly mark: string
      readonly swallow?: Swallow | undefined
    }

/**
 * Takes the rest of a secret whose beginning was replaced already. `end` is where it ends as far as that is decided;
 * `isOver` tells that it does not go on.
 */
export type Swallow = (text: string, at: number, isEnd: boolean) => { readonly end: number; readonly isOver: boolean }

export interface Span {
  /** Where the replacement begins. */
  readonly from: number
  /** Where the reading begins. */
  readonly at: number
  /** No more text follows. */
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

/** Runs that follow on each other. The last one is open: it is replaced as soon as its least length is there. */
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
