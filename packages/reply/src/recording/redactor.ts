import type { Swallow } from './run.ts'
import { openers, otherStarts, reach, readOpener, wordBegins, wordStarts } from './shapes.ts'

/** Redacts a text that comes in pieces. */
export interface Redactor {
  /** What is decided with this piece. Only what may be the beginning of a secret is kept back, at most some thousand UTF-16 units. */
  push(piece: string): string
  /** The rest, when no more comes. */
  end(): string
}

/** The text without secrets, and without the name in the home directory. */
export function redactText(text: string): string {
  openers.lastIndex = 0
  if (!openers.test(text)) return text
  const redactor = createRedactor()
  return redactor.push(text) + redactor.end()
}

/**
 * What comes out, put together, is the same however the text was cut. Takes time in proportion to the text: every search
 * after an opener has a bound.
 */
export function createRedactor(): Redactor {
  /** The end of what was read: openers may have begun in it, and what waits is its end. */
  let kept = ''
  /** Up to where `kept` was given out. */
  let given = 0
  /** Up to where nothing is looked for any more: the end of the last secret. */
  let passed = 0
  let swallow: Swallow | undefined
  return { push: (piece) => read(kept + piece, false), end: () => read(kept, true) }

  function read(text: string, isEnd: boolean): string {
    let out = ''
    let from = Math.max(passed, given - reach, 0)
    for (;;) {
      if (swallow) {
        const { end, isOver } = swallow(text, given, isEnd)
        given = end
        passed = end
        from = end
        if (!isOver) break
        swallow = undefined
      }
      openers.lastIndex = from
      const found = openers.exec(text)
      if (!found) {
        out += give(text, isEnd ? text.length : text.length - startLength(text, given))
        break
      }
      const verdict = readOpener(text, found, isEnd)
      if (verdict.type === 'no') from = found.index + 1
      else if (verdict.type === 'growing') {
        out += give(text, verdict.from)
        break
      } else {
        out += give(text, verdict.from) + verdict.mark
        given = verdict.end
        passed = verdict.end
        from = verdict.end
        swallow = verdict.swallow
      }
    }
    forget(text)
    return out
  }

  function give(text: string, end: number): string {
    const piece = text.slice(given, Math.max(given, end))
    given += piece.length
    return piece
  }

  function forget(text: string): void {
    // Two units more than an opener: what stands before it tells whether it begins a word.
    const start = Math.max(0, given - reach - 2)
    kept = text.slice(start)
    given -= start
    passed = Math.max(0, passed - start)
  }
}

const words = beginningsOf(wordStarts)
const others = beginningsOf(otherStarts)
const longest = Math.max(...[...words, ...others].map((start) => start.length))

/** All that a text can end with when the next piece completes one of these. */
function beginningsOf(starts: readonly string[]): ReadonlySet<string> {
  return new Set(starts.flatMap((start) => Array.from(start, (_, at) => start.slice(0, at)).slice(1)))
}

/** How much of the text's end may be the beginning of an opener. */
function startLength(text: string, from: number): number {
  for (let length = Math.min(longest, text.length - from); length > 0; length--) {
    const at = text.length - length
    const end = text.slice(at)
    if (others.has(end)) return length
    wordBegins.lastIndex = at
    if (words.has(end) && wordBegins.test(text)) return length
  }
  return 0
}
