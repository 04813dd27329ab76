import { cachedRender, type Dialect, lazyPlain, type Render, type Rendered, renderMarkdown } from '@reply/sink/channel'
import { itemText } from '@reply/sink/internal'

/**
 * Placeholders for marks, whose final form depends on their neighbors. They are Unicode noncharacters, which
 * `renderWhatsApp` removes from the source.
 */
const placeholders = {
  bold: ['\ufdd0', '\ufdd1'],
  italic: ['\ufdd2', '\ufdd3'],
  struck: ['\ufdd4', '\ufdd5'],
} as const satisfies Readonly<Record<Mark, readonly [string, string]>>
/** These three are followed by content and `contentEnd`. */
const codeStart = '\ufdd6'
const blockStart = '\ufdd7'
const linkStart = '\ufdd8'
const contentEnd = '\ufdd9'
const quoteMark = '\ufdda'

const codeBlocks = /(\ufdd7[^\ufdd9]*\ufdd9)/
const reserved = /[\ufdd0-\ufdef\u2060]/g
/** Servers refuse them. */
const loneSurrogates = /\p{Surrogate}/gu
const anyPlaceholder = /[\ufdd0-\ufdd5\ufdda]|[\ufdd6-\ufdd8]([^\ufdd9]*)\ufdd9/g

const dialect: Dialect = {
  text: (text) => text,
  strong: (content) => enclose('bold', content),
  em: (content) => enclose('italic', content),
  del: (content) => enclose('struck', content),
  codespan: (text) => (text.trim() === '' ? text : `${codeStart}${text.replaceAll('\n', ' ')}${contentEnd}`),
  code: (text) => (text.trim() === '' ? '' : `${blockStart}${text}${contentEnd}`),
  link: withAddress,
  image: withAddress,
  heading: (content) => enclose('bold', content),
  paragraph: (content) => content,
  item: itemText,
  list: (items) => items.join('\n'),
  // A quote mark covers one line, and quotes don't nest. Code blocks stay unquoted, because a mark inside would break
  // them.
  blockquote: (content, depth) => (depth > 0 ? content : changeLines(content, (line) => `${quoteMark}${line}`)),
  hr: () => '———',
  br: () => '\n',
}

/**
 * Renders Markdown with WhatsApp's marks. `length` is in UTF-16 units of the sent text with its marks, as in the limit.
 *
 * The result may be longer than the source because of disabled characters, tables, tabs, indented code and list numbers
 * that gain digits.
 */
export const renderWhatsApp: Render = cachedRender((source) => {
  const written = renderMarkdown(source.replace(reserved, '').replace(loneSurrogates, '\ufffd'), dialect).trim()
  if (!markOrPlaceholder.test(written)) return { text: written, plain: written, length: written.length }
  const lines = linesOf(written).map(renderLine)
  const text = lines.map((line) => line.text).join('\n')
  return lazyPlain({ text, length: text.length }, () => lines.map(({ plain }) => plain).join('\n'))
})

/** Placeholders, and characters that could be marks. */
const markOrPlaceholder = /[*_~`>\ufdd0-\ufdda]/

/** Splits a text into lines. A code block stays within the line that it begins in. */
function linesOf(written: string): readonly string[] {
  const lines = ['']
  for (const chunk of written.split(codeBlocks)) {
    const [first = '', ...more] = chunk.startsWith(blockStart) ? [chunk] : chunk.split('\n')
    lines[lines.length - 1] += first
    for (const line of more) lines.push(line)
  }
  return lines
}

/** Renders a line. One without placeholders and possible marks is unchanged. */
function renderLine(line: string): Pick<Rendered, 'text' | 'plain'> {
  return markOrPlaceholder.test(line) ? renderMarkedLine(line) : { text: line, plain: line }
}

/** Cached, because a line renders the same in any text, and growing texts repeat most of their lines. */
const renderMarkedLine = cachedRender((line) => {
  const { text, plain } = writeMarks(piecesOf(line))
  return { text, plain, length: text.length }
})

/** Escapes plain text, so that WhatsApp shows it unchanged. */
export function escapeWhatsApp(text: string): string {
  return disableMarks(text)
}

/** Puts each line between the placeholders of a mark, because marks can't span lines. Empty lines get none. */
function enclose(kind: Mark, content: string): string {
  const [open, close] = placeholders[kind]
  if (!content.includes('\n')) return content === '' ? '' : `${open}${content}${close}`
  const lines = content.split('\n').map((line) => (line === '' ? '' : `${open}${line}${close}`))
  return lines.join('\n')
}

/** Returns the content with its address in parentheses, or only the address if the content is the same. */
function withAddress(content: string, href: string): string {
  const address = href.replace(/^mailto:/i, '')
  // Unescaped, these characters would be marks.
  const target = `${linkStart}${address.replace(/[*~`]/g, percentEncoded)}${contentEnd}`
  return content.replace(/[\ufdd0-\ufdd5]/g, '') === address ? target : `${content} (${target})`
}

/** Returns an ASCII character as a URL encodes it, for example `%2A`. */
function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

/** Returns the content with its lines changed, except those in code blocks, and empty ones beside a block or at an edge. */
function changeLines(content: string, change: (line: string) => string): string {
  const chunks = content.split(codeBlocks)
  return chunks.map((chunk) => (chunk.startsWith(blockStart) ? chunk : changeChunk(chunk, change))).join('')
}

/** Changes each line of a text without code blocks, except an empty first or last one. */
function changeChunk(chunk: string, change: (line: string) => string): string {
  const lines = chunk.split('\n')
  const isEdge = (at: number): boolean => at === 0 || at === lines.length - 1
  return lines.map((line, at) => (line === '' && isEdge(at) ? line : change(line))).join('\n')
}

/** Splits a line at its placeholders. */
function piecesOf(line: string): readonly LinePiece[] {
  const pieces: LinePiece[] = []
  let from = 0
  for (const match of line.matchAll(anyPlaceholder)) {
    if (match.index > from) pieces.push({ type: 'text', text: line.slice(from, match.index) })
    pieces.push(pieceOf(match[0], match[1] ?? ''))
    from = match.index + match[0].length
  }
  if (from < line.length) pieces.push({ type: 'text', text: line.slice(from) })
  return pieces
}

/**
 * Returns the piece for a match of `anyPlaceholder`, with the `content` that it encloses. Code with a backtick becomes a block,
 * which can contain one.
 */
function pieceOf(placeholder: string, content: string): LinePiece {
  if (placeholder === quoteMark) return { type: 'quote' }
  if (placeholder.startsWith(linkStart)) return { type: 'verbatim', text: content, plain: content, as: 'link' }
  if (placeholder.startsWith(codeStart) && !content.includes('`'))
    return { type: 'verbatim', text: `\`${content}\``, plain: content }
  if (placeholder.startsWith(codeStart)) return { type: 'verbatim', text: fenced(content), plain: content, as: 'block' }
  if (placeholder.startsWith(blockStart))
    return { type: 'verbatim', text: fenced(`\n${content}\n`), plain: content, as: 'block' }
  for (const kind of ['bold', 'italic', 'struck'] as const) {
    if (placeholder === placeholders[kind][0]) return { type: 'open', mark: kind }
    if (placeholder === placeholders[kind][1]) return { type: 'close', mark: kind }
  }
  return { type: 'text', text: placeholder }
}

/**
 * Returns the text in three backticks. Separates backticks in it that would end the block: three in a row, or one at either
 * end.
 */
function fenced(text: string): string {
  const inner = text.replace(/`{3,}/g, (ticks) => [...ticks].join('\u2060'))
  return `\`\`\`${inner.replace(/^`/, '\u2060`').replace(/`$/, '`\u2060')}\`\`\``
}

/** Kinds of WhatsApp's marks. */
type Mark = 'bold' | 'italic' | 'struck'

const signs: Readonly<Record<Mark, string>> = { bold: '*', italic: '_', struck: '~' }

/** A part of a line whose marks aren't written yet. `verbatim` is sent unchanged, and shows as `plain`. */
type LinePiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'verbatim'; readonly text: string; readonly plain: string; readonly as?: 'link' | 'block' }
  | { readonly type: 'open' | 'close'; readonly mark: Mark }
  /** Quotes the line that begins here. */
  | { readonly type: 'quote' }

/** Invisible, and not a letter: disables the mark before it. WhatsApp has no escape character. */
const joiner = '\u2060'

const letter = /[\p{L}\p{N}]/u

/**
 * Writes the marks of a line where WhatsApp recognizes them: around text that doesn't begin or end with white space, and
 * not within a word. Omits all other marks. Disables literal characters that WhatsApp would read as marks.
 */
function writeMarks(allPieces: readonly LinePiece[]): { readonly text: string; readonly plain: string } {
  const hasMarks = allPieces.some(({ type }) => type === 'open' || type === 'close')
  const pieces = hasMarks ? withoutUnrecognized(allPieces) : allPieces
  let text = ''
  let plain = ''
  let index = -1
  for (const piece of pieces) {
    index++
    if (piece.type === 'text') {
      text += disableMarks(piece.text, sentTextBeside(pieces, index, -1), sentTextBeside(pieces, index, 1))
      plain += piece.text
    } else if (piece.type === 'verbatim') {
      text += piece.text
      plain += piece.plain
    } else if (piece.type === 'quote') {
      // A quote mark only works at the start of a line.
      if (text === '') text += '> '
    } else text += signs[piece.mark]
  }
  return { text, plain }
}

/** Returns the pieces without marks that WhatsApp would not recognize. */
function withoutUnrecognized(allPieces: readonly LinePiece[]): readonly LinePiece[] {
  const pieces = withoutNested(allPieces)
  const unrecognized = unrecognizedMarks(pieces)
  return unrecognized.size === 0 ? pieces : pieces.filter((_, at) => !unrecognized.has(at))
}

/**
 * Returns the text with every character disabled that WhatsApp could read as a mark. `before` and `after` are the texts
 * around this one.
 */
function disableMarks(text: string, before = '', after = ''): string {
  if (!/[*_~`>]/.test(text)) return text
  return text.replace(/`+|[*_~]|(?<=^|\n)>/g, (sign, at: number) => {
    if (sign.startsWith('`')) return sign.replaceAll('`', `\`${joiner}`)
    const previous = at === 0 ? before : text.slice(Math.max(0, at - 2), at)
    const next = at + 1 === text.length ? after : text.slice(at + 1, at + 3)
    return couldBeMark(sign, previous, next) ? `${sign}${joiner}` : sign
  })
}

/**
 * Whether WhatsApp could read the sign as a mark, by the texts around it: `>` at the start of a line, `*` also as a bullet,
 * and each sign that may open or close a mark.
 */
function couldBeMark(sign: string, before: string, after: string): boolean {
  const startsLine = before === '' || before.endsWith('\n')
  if (sign === '>') return startsLine
  // A bullet.
  if (sign === '*' && startsLine && after.startsWith(' ')) return true
  const couldOpen = !endsInLetter(before) && after !== '' && !/^\s/.test(after)
  const couldClose = before !== '' && !/\s$/.test(before) && !beginsWithLetter(after)
  return couldOpen || couldClose
}

/** Returns the pieces without marks inside marks of the same kind, which would end those. Their text stays. */
function withoutNested(pieces: readonly LinePiece[]): readonly LinePiece[] {
  const open: Mark[] = []
  let nested: Mark[] = []
  return pieces.filter((piece) => {
    if (piece.type === 'open') {
      const isNested = open.includes(piece.mark)
      if (isNested) nested.push(piece.mark)
      else open.push(piece.mark)
      return !isNested
    }
    if (piece.type !== 'close') return true
    const inner = nested.lastIndexOf(piece.mark)
    if (inner >= 0) nested = nested.toSpliced(inner, 1)
    else open.splice(open.lastIndexOf(piece.mark), 1)
    return inner < 0
  })
}

/** Returns the indexes of the marks that WhatsApp would not recognize, or that lack their other half. */
function unrecognizedMarks(pieces: readonly LinePiece[]): ReadonlySet<number> {
  const unrecognized = new Set<number>()
  const opened: number[] = []
  for (const [at, piece] of pieces.entries()) {
    if (piece.type === 'open') opened.push(at)
    if (piece.type !== 'close') continue
    const from = opened.pop()
    if (from === undefined) unrecognized.add(at)
    else if (!isRecognized(pieces, from, at)) unrecognized.add(from).add(at)
  }
  return unrecognized
}

/**
 * Whether WhatsApp recognizes the marks at these two positions as a pair: there is text between them without white space at
 * its ends, without the same mark at its start, without a block of code, and without a link at its end, and no letter
 * directly outside.
 */
function isRecognized(pieces: readonly LinePiece[], openIndex: number, closeIndex: number): boolean {
  const inside = pieces.slice(openIndex + 1, closeIndex).filter(({ type }) => type === 'text' || type === 'verbatim')
  const first = inside[0]
  const last = inside.at(-1)
  if (!first || !last) return false
  // A mark right after a link would become part of it.
  if (last.type === 'verbatim' && last.as === 'link') return false
  // Marks don't work around three backticks.
  if (inside.some((piece) => piece.type === 'verbatim' && piece.as === 'block')) return false
  const start = plainOf(first)
  const end = plainOf(last)
  if (/^\s/.test(start) || /\s$/.test(end)) return false
  // A doubled mark character opens nothing.
  const opening = pieces[openIndex]
  if (opening?.type === 'open' && first.type === 'text' && start.startsWith(signs[opening.mark])) return false
  return (
    !endsInLetter(visibleTextBeside(pieces, openIndex, -1)) &&
    !beginsWithLetter(visibleTextBeside(pieces, closeIndex, 1))
  )
}

/**
 * Returns the visible text before (-1) or after (1) a position in the line, ignoring marks. Empty at the ends of the line.
 */
function visibleTextBeside(pieces: readonly LinePiece[], position: number, step: 1 | -1): string {
  for (let at = position + step; at >= 0 && at < pieces.length; at += step) {
    const piece = pieces[at]
    if (!piece || piece.type === 'quote') return ''
    if (piece.type === 'text' || piece.type === 'verbatim') return plainOf(piece)
  }
  return ''
}

/** Returns the sent text directly before (-1) or after (1) a piece. Any mark counts as "*", because it isn't a letter. */
function sentTextBeside(pieces: readonly LinePiece[], position: number, step: 1 | -1): string {
  const piece = pieces[position + step]
  if (!piece || piece.type === 'quote') return ''
  return piece.type === 'text' || piece.type === 'verbatim' ? piece.text : '*'
}

/** Returns the visible text of a piece. Marks have none. */
function plainOf(piece: LinePiece): string {
  return piece.type === 'text' ? piece.text : piece.type === 'verbatim' ? piece.plain : ''
}

/** Whether the last character is a letter or a digit. False for an empty text. */
function endsInLetter(text: string): boolean {
  return letter.test([...text.slice(-2)].at(-1) ?? '')
}

/** Whether the first character is a letter or a digit. False for an empty text. */
function beginsWithLetter(text: string): boolean {
  return letter.test([...text.slice(0, 2)][0] ?? '')
}
