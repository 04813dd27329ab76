/** The result of reading a possible secret. */
export type SecretReading =
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
 * Consumes the rest of a secret whose beginning was replaced already. `end` is the offset up to which it was consumed.
 * `isOver` is true if the secret doesn't continue in the next piece.
 */
export type Swallow = (text: string, at: number, isEnd: boolean) => { readonly end: number; readonly isOver: boolean }

/** Where to read a possible secret. */
export interface ReadPosition {
  /** Where the replacement begins. */
  readonly from: number
  /** Where the reading begins. */
  readonly at: number
  /** Whether this is the end of the text. */
  readonly isEnd: boolean
}

/** A run of characters of one class, of `min` to `max` UTF-16 units. */
export interface CharacterRun {
  readonly pattern: RegExp
  /** Matches the characters after the pattern that continue the run, without a limit. */
  readonly rest: RegExp
  readonly min: number
  readonly max: number
}

export const secretMark = '[redacted]'

/** How far a secret's last run is read ahead, in UTF-16 units. A `Swallow` consumes the rest. */
const longestRun = 4096

/** Describes a run of `min` to `max` characters of a class, written as in a regular expression: `[\w-]`. */
export function characterRun(charClass: string, min: number, max = longestRun): CharacterRun {
  const pattern = new RegExp(`${charClass}{0,${max}}`, 'y')
  return { pattern, rest: new RegExp(`${charClass}*`, 'y'), min, max }
}

/** Exactly this one character. */
export const oneCharacter = (charClass: string): CharacterRun => characterRun(charClass, 1, 1)

/**
 * Reads consecutive runs of characters as one secret. A text that ends within it is `growing`, except that the last run
 * is a secret as soon as it has its minimum length, and may continue after that.
 */
export function readRuns(
  text: string,
  { from, at, isEnd }: ReadPosition,
  runs: readonly CharacterRun[],
): SecretReading {
  let end = at
  for (const [index, current] of runs.entries()) {
    const length = matchLength(current.pattern, text, end)
    const canGrow = !isEnd && end + length === text.length && length < current.max
    const isOpen = index === runs.length - 1 && length >= current.min
    if (canGrow && !isOpen) return { type: 'growing', from }
    if (length < current.min) return { type: 'no' }
    end += length
  }
  const last = runs.at(-1)
  return { type: 'secret', from, end, mark: secretMark, swallow: last && swallowRun(last.rest) }
}

/** The length of a sticky pattern's match at this offset, in UTF-16 units. 0 if it doesn't match. */
export function matchLength(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}

/**
 * Returns a function that consumes the rest of a secret whose beginning was replaced: the characters that continue its
 * last run, piece by piece. It is over where another character follows, or at the last piece.
 */
function swallowRun(rest: RegExp): Swallow {
  return (text, at, isEnd) => {
    const end = at + matchLength(rest, text, at)
    return { end, isOver: isEnd || end < text.length }
  }
}
