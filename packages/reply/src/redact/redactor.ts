import { type Swallow, secretMark } from './run.ts'
import { openers, otherStarts, reach, readOpener, wordBegins, wordStarts } from './shapes.ts'

/** Redacts a text that arrives in pieces. */
export interface Redactor {
  /**
   * Returns the text that this piece decides. Holds back only a possible beginning of a secret, at most a few thousand
   * UTF-16 units.
   */
  push(piece: string): string
  /** Returns the rest at the end of the text. */
  end(): string
}

/** Removes secrets and the home directory's name from a text. */
export function redactText(text: string): string {
  openers.lastIndex = 0
  if (!openers.test(text)) return text
  const redactor = createRedactor()
  return redactor.push(text) + redactor.end()
}

/** The same, but keeps the paths of home directories: for the errors of an operator's own machine. */
export function redactTokens(text: string): string {
  const redactor = createRedactor({ keepsHome: true })
  return redactor.push(text) + redactor.end()
}

/**
 * The joined output doesn't depend on how the text was split. Takes time linear in the text: every search after an
 * opener is bounded.
 */
export function createRedactor({ keepsHome = false }: { readonly keepsHome?: boolean } = {}): Redactor {
  /** The end of the text read so far: it includes the held-back text and possible beginnings of openers. */
  let kept = ''
  /** The offset in `kept` up to which text was returned. */
  let given = 0
  /** The offset up to which the search is done: the end of the last secret. */
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
      const isKept = keepsHome && verdict.type === 'secret' && verdict.mark !== secretMark
      if (verdict.type === 'no' || isKept) from = found.index + 1
      else if (verdict.type === 'growing') {
        // What grows may itself end an opener that begins before it: `ya2` in `ya29.`
        out += give(text, Math.min(verdict.from, text.length - startLength(text, given)))
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
    // Two units more than an opener: the character before it decides whether it begins a word.
    const start = Math.max(0, given - reach - 2)
    kept = text.slice(start)
    given -= start
    passed = Math.max(0, passed - start)
  }
}

const words = beginningsOf(wordStarts)
const others = beginningsOf(otherStarts)
const longest = Math.max(...[...words, ...others].map((start) => start.length))

/** Every proper prefix that a text can end with before the next piece completes one of these. */
function beginningsOf(starts: readonly string[]): ReadonlySet<string> {
  return new Set(starts.flatMap((start) => Array.from(start, (_, at) => start.slice(0, at)).slice(1)))
}

/** How many units at the text's end may be the beginning of an opener. */
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
