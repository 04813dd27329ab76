/** Invisible: separates characters that would form a mark together. */
export const gap = '\u200b'

/** What else the message contains. */
export interface Surroundings {
  /** The message contains brackets that Discord could read as a link. */
  readonly hasBrackets: boolean
  /** Code or an address contains an underscore at the end of a word: one inside an earlier word could pair with it. */
  readonly hasUnderscores: boolean
}

export interface Written {
  readonly text: string
  /** The visible text. */
  readonly plain: string
}

/**
 * Escapes what Discord's client would read as markup, and nothing else, because each backslash counts towards the
 * length. Disables `@everyone`, `@here`, and mentions of people and roles. `isStart`: the text begins a line.
 */
export function literal(words: string, isStart: boolean, around: Surroundings): Written {
  let text = ''
  let plain = ''
  let isLineStart = isStart
  for (let at = 0; at < words.length; at++) {
    const letter = words.charAt(at)
    const isMark = special.has(letter) && needsEscape(words, at, isLineStart, around)
    const after = calls(words, at) ? gap : ''
    text += `${isMark ? '\\' : ''}${letter}${after}`
    plain += letter + after
    isLineStart = letter === '\n' || (isLineStart && letter === ' ')
  }
  return { text, plain }
}

const special: ReadonlySet<string> = new Set('\\*_~|`[<:#>-')

function needsEscape(
  words: string,
  at: number,
  isStart: boolean,
  { hasBrackets, hasUnderscores }: Surroundings,
): boolean {
  const [before, letter, after] = [words.charAt(at - 1), words.charAt(at), words.charAt(at + 1)]
  switch (letter) {
    case '\\':
      return !/[0-9A-Za-z\s]/.test(after)
    case '*':
      return isStart || !(/[ \t]/.test(before) && /\s/.test(after))
    case '_':
      return hasUnderscores || !(/[0-9A-Za-z]/.test(before) && /[0-9A-Za-z]/.test(after))
    case '~':
    case '|':
      return before === letter || before === '' || after === letter || after === ''
    case '[':
      return hasBrackets
    case '<':
      return /^<(?:[@#]|a?:\w|t:|id:|\/[^\n:>]+:\d|https?:)/i.test(words.slice(at, at + 100))
    case ':':
      return words.startsWith('://', at)
    case '#':
    case '>':
      return isStart && (after === letter || !/\S/.test(after))
    case '-':
      return isStart && (after === '#' || !/\S/.test(after))
    default:
      return true
  }
}

/** True for an @ that the following text turns into a mention. */
function calls(words: string, at: number): boolean {
  if (words.charAt(at) !== '@') return false
  return words.charAt(at - 1) === '<' || /^@(?:$|everyone|here)/.test(words.slice(at, at + 9))
}
