/** Nothing is seen of it; it keeps apart what would mean something together. */
export const gap = '\u200b'

export interface Surroundings {
  /** A line begins with it. */
  readonly isStart: boolean
  /** Somewhere in the message brackets could be taken for a link. */
  readonly hasBrackets: boolean
  /** Somewhere, in code or an address, an underscore ends a word: one in the middle of another could begin with it. */
  readonly hasUnderscores: boolean
}

export interface Written {
  readonly text: string
  /** What is read of it. */
  readonly plain: string
}

/**
 * Words as they are: whatever Discord's client would take for markup is escaped, and nothing else, as each mark counts
 * towards the length. Nobody is called by `@everyone`, `@here` or the mark of a person or role.
 */
export function literal(words: string, { isStart, ...around }: Surroundings): Written {
  let text = ''
  let plain = ''
  let isLineStart = isStart
  for (let at = 0; at < words.length; at++) {
    const letter = words.charAt(at)
    const isMark = special.has(letter) && needsEscape(words, at, { isStart: isLineStart, ...around })
    const after = calls(words, at) ? gap : ''
    text += `${isMark ? '\\' : ''}${letter}${after}`
    plain += letter + after
    isLineStart = letter === '\n' || (isLineStart && letter === ' ')
  }
  return { text, plain }
}

const special: ReadonlySet<string> = new Set('\\*_~|`[<:#>-')

function needsEscape(words: string, at: number, { isStart, hasBrackets, hasUnderscores }: Surroundings): boolean {
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

/** An at sign that the words after it make a call of. */
function calls(words: string, at: number): boolean {
  if (words.charAt(at) !== '@') return false
  return words.charAt(at - 1) === '<' || /^@(?:$|everyone|here)/.test(words.slice(at, at + 9))
}
