/** Kinds of marked text, before it is written in Discord's syntax. */
export type Kind =
  | 'strong'
  | 'em'
  | 'del'
  | 'codespan'
  /** Attribute: the language. */
  | 'code'
  /** Attribute: the depth. */
  | 'heading'
  /** Attribute: the address. */
  | 'link'
  | 'quote'
  | 'small'
  /** Sent as its attribute. Its content is the visible text. */
  | 'raw'
  | 'group'

export type Node = string | Element

/** A mark and its content. */
export interface Element {
  readonly kind: Kind
  readonly attribute: string
  readonly nodes: readonly Node[]
}

/** Delimiters from Unicode's private use area, which `replaceDelimiters` keeps out of texts. */
const open = '\ue000'
const inside = '\ue001'
const close = '\ue002'
const delimiters = /[\ue000-\ue002]/g

/** Returns the content in a mark, as a string, because a dialect returns strings. It may contain other marks. */
export function mark(kind: Kind, content: string, attribute = ''): string {
  return `${open}${kind} ${replaceDelimiters(attribute)}${inside}${content}${close}`
}

/** Replaces each delimiter in a text with U+FFFD. */
export function replaceDelimiters(text: string): string {
  return text.replace(delimiters, '\ufffd')
}

/** Changes every mark of one kind to another. */
export function replaceMark(content: string, from: Kind, to: Kind): string {
  return content.includes(open) ? content.replaceAll(`${open}${from} `, `${open}${to} `) : content
}

const groups = new RegExp(`^(?:${open}group ${inside})*`)

/**
 * Returns the content with its first element unwrapped if that has the kind, also inside leading groups: for a list item that
 * begins with another bullet. Otherwise unchanged.
 */
export function unmarkFirst(content: string, kind: Kind): string {
  if (!content.startsWith(open)) return content
  const lead = groups.exec(content)?.[0] ?? ''
  const first = content.slice(lead.length)
  if (!first.startsWith(`${open}${kind} `)) return content
  const end = first.indexOf(close)
  return lead + first.slice(first.indexOf(inside) + 1, end) + first.slice(end + 1)
}

const openCode = open.charCodeAt(0)
const insideCode = inside.charCodeAt(0)
const closeCode = close.charCodeAt(0)
const lineFeed = '\n'.charCodeAt(0)

/** Returns the lines of marked text, each with the line feeds on both sides. A line feed inside a mark ends no line. */
export function linesOf(marked: string): readonly string[] {
  const lines: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < marked.length; at++) {
    const code = marked.charCodeAt(at)
    if (code === openCode) depth++
    else if (code === closeCode) depth--
    else if (code === lineFeed && depth === 0) {
      lines.push(marked.slice(start, at + 1))
      start = at
    }
  }
  lines.push(marked.slice(start))
  return lines
}

/** Parses marked text into a tree. Leaves out marks of an unknown kind with their content. */
export function nodesOf(marked: string): readonly Node[] {
  const root: Node[] = []
  const above: Node[][] = []
  let nodes = root
  for (let at = 0; at < marked.length; ) {
    const code = marked.charCodeAt(at)
    if (code === openCode) {
      const space = marked.indexOf(' ', at)
      const start = marked.indexOf(inside, space)
      const kind = marked.slice(at + 1, space)
      const own: Node[] = []
      if (isKind(kind)) nodes.push({ kind, attribute: marked.slice(space + 1, start), nodes: own })
      above.push(nodes)
      nodes = own
      at = start + 1
    } else if (code === closeCode) {
      nodes = above.pop() ?? root
      at++
    } else {
      const end = textEnd(marked, at)
      if (end > at) nodes.push(marked.slice(at, end))
      at = Math.max(end, at + 1)
    }
  }
  return root
}

/** Returns the index of the next delimiter, or the length. */
function textEnd(marked: string, start: number): number {
  let at = start
  while (at < marked.length && !isDelimiter(marked.charCodeAt(at))) at++
  return at
}

/** Whether the code is that of one of the three delimiters. */
function isDelimiter(code: number): boolean {
  return code === openCode || code === insideCode || code === closeCode
}

const kinds: Readonly<Record<Kind, true>> = {
  strong: true,
  em: true,
  del: true,
  codespan: true,
  code: true,
  heading: true,
  link: true,
  quote: true,
  small: true,
  raw: true,
  group: true,
}

/** Whether a text is the name of a kind. */
function isKind(kind: string): kind is Kind {
  return kind in kinds
}

/** Invisible: separates characters that would form a mark together. */
export const gap = '\u200b'

/** Characters elsewhere in the message that affect escaping. */
export interface Surroundings {
  /** The message contains brackets that Discord could read as a link. */
  readonly hasBrackets: boolean
  /** Code or an address has an underscore at the end of a word. One inside an earlier word could pair with it. */
  readonly hasUnderscores: boolean
}

/** Text in Discord's syntax. */
export interface Written {
  readonly text: string
  /** The visible text. */
  readonly plain: string
}

/**
 * Writes text without marks. Only escapes characters that Discord's client would read as markup, because each backslash
 * counts towards the length. Disables `@everyone`, `@here`, and mentions of people and roles.
 */
export function writeLiteral(source: string, isAtLineStart: boolean, around: Surroundings): Written {
  let text = ''
  let plain = ''
  let isLineStart = isAtLineStart
  for (let at = 0; at < source.length; at++) {
    const letter = source.charAt(at)
    const isEscaped = special.has(letter) && needsEscape(source, at, isLineStart, around)
    const after = beginsMention(source, at) ? gap : ''
    text += `${isEscaped ? '\\' : ''}${letter}${after}`
    plain += letter + after
    isLineStart = letter === '\n' || (isLineStart && letter === ' ')
  }
  return { text, plain }
}

const special: ReadonlySet<string> = new Set('\\*_~|`[<:#>-')

/**
 * Whether Discord's client could read the special character at `at` as markup. Decides by the characters beside it, for `#`,
 * `>`, `-` and `*` also by whether a line starts there (`isStart`). Always true for a backtick.
 */
function needsEscape(
  source: string,
  at: number,
  isStart: boolean,
  { hasBrackets, hasUnderscores }: Surroundings,
): boolean {
  const before = source.charAt(at - 1)
  const letter = source.charAt(at)
  const after = source.charAt(at + 1)
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
      return /^<(?:[@#]|a?:\w|t:|id:|\/[^\n:>]+:\d|https?:)/i.test(source.slice(at, at + 100))
    case ':':
      return source.startsWith('://', at)
    case '#':
    case '>':
      return isStart && (after === letter || !/\S/.test(after))
    case '-':
      return isStart && (after === '#' || !/\S/.test(after))
    default:
      return true
  }
}

/** Whether the @ there begins a mention, by the text around it. False for other characters. */
function beginsMention(source: string, at: number): boolean {
  if (source.charAt(at) !== '@') return false
  return source.charAt(at - 1) === '<' || /^@(?:$|everyone|here)/.test(source.slice(at, at + 9))
}
