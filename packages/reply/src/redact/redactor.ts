import { type Swallow, secretMark } from './character-run.ts'
import { longestOpener, openers, otherStarts, readOpener, wordBegins, wordStarts } from './shapes.ts'

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

/** Removes secrets from a text, but keeps the paths of home directories: for errors on the operator's own machine. */
export function redactTokens(text: string): string {
  const redactor = createRedactor({ keepsHome: true })
  return redactor.push(text) + redactor.end()
}

/**
 * Creates a redactor of secrets and of the home directory's name, which `keepsHome` leaves in. The joined output
 * doesn't depend on how the text was split. Takes time linear in the text: every search after an opener is bounded.
 */
export function createRedactor({ keepsHome = false }: { readonly keepsHome?: boolean } = {}): Redactor {
  /** The end of the text read so far: it includes the held-back text and possible beginnings of openers. */
  let buffer = ''
  /** The offset in `buffer` up to which text was returned. */
  let returned = 0
  /** The offset up to which the search is done: the end of the last secret. */
  let searched = 0
  let swallow: Swallow | undefined
  return { push: (piece) => redactNext(buffer + piece, false), end: () => redactNext(buffer, true) }

  /** Returns the redacted text that is decided once `text`, the buffer with the next piece, is known. */
  function redactNext(text: string, isEnd: boolean): string {
    let out = ''
    let searchFrom = Math.max(searched, returned - longestOpener, 0)
    for (;;) {
      if (swallow) {
        const { end, isOver } = swallow(text, returned, isEnd)
        returned = end
        searched = end
        searchFrom = end
        if (!isOver) break
        swallow = undefined
      }
      openers.lastIndex = searchFrom
      const found = openers.exec(text)
      if (!found) {
        out += returnUpTo(text, isEnd ? text.length : text.length - partialOpenerLength(text, returned))
        break
      }
      const verdict = readOpener(text, found, isEnd)
      const isKept = keepsHome && verdict.type === 'secret' && verdict.mark !== secretMark
      if (verdict.type === 'no' || isKept) searchFrom = found.index + 1
      else if (verdict.type === 'growing') {
        // What grows may itself end an opener that begins before it: `ya2` in `ya29.`
        out += returnUpTo(text, Math.min(verdict.from, text.length - partialOpenerLength(text, returned)))
        break
      } else {
        out += returnUpTo(text, verdict.from) + verdict.mark
        returned = verdict.end
        searched = verdict.end
        searchFrom = verdict.end
        swallow = verdict.swallow
      }
    }
    trimBuffer(text)
    return out
  }

  /** Returns the text from `returned` to `end`, and moves `returned` there. */
  function returnUpTo(text: string, end: number): string {
    const piece = text.slice(returned, Math.max(returned, end))
    returned += piece.length
    return piece
  }

  /** Keeps only the end of the text that later searches need, and moves the offsets accordingly. */
  function trimBuffer(text: string): void {
    // Two units more than an opener: the character before it decides whether it begins a word.
    const start = Math.max(0, returned - longestOpener - 2)
    buffer = text.slice(start)
    returned -= start
    searched = Math.max(0, searched - start)
  }
}

const wordBeginnings = beginningsOf(wordStarts)
const otherBeginnings = beginningsOf(otherStarts)
const longestBeginning = Math.max(...[...wordBeginnings, ...otherBeginnings].map((start) => start.length))

/** The proper prefixes of these texts. A text that ends with one may continue as an opener in the next piece. */
function beginningsOf(starts: readonly string[]): ReadonlySet<string> {
  return new Set(starts.flatMap((start) => Array.from(start, (_, at) => start.slice(0, at)).slice(1)))
}

/** How many UTF-16 units at the text's end, from `from` on, may be the beginning of an opener. 0 if none. */
function partialOpenerLength(text: string, from: number): number {
  for (let length = Math.min(longestBeginning, text.length - from); length > 0; length--) {
    const at = text.length - length
    const end = text.slice(at)
    if (otherBeginnings.has(end)) return length
    wordBegins.lastIndex = at
    if (wordBeginnings.has(end) && wordBegins.test(text)) return length
  }
  return 0
}
