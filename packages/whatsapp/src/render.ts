import { cachedRender, type Dialect, lazyPlain, type Render, type Rendered, renderMarkdown } from '@reply/sink/channel'
import { itemText } from '@reply/sink/internal'

/**
 * Placeholders for marks, because how to write one depends on its neighbors. Unicode noncharacters, which no text
 * contains.
 */
const mark = {
  bold: ['\ufdd0', '\ufdd1'],
  italic: ['\ufdd2', '\ufdd3'],
  struck: ['\ufdd4', '\ufdd5'],
} as const satisfies Readonly<Record<Mark, readonly [string, string]>>
const code = '\ufdd6'
const block = '\ufdd7'
const link = '\ufdd8'
const endOfSign = '\ufdd9'
const quote = '\ufdda'

const BLOCKS = /(\ufdd7[^\ufdd9]*\ufdd9)/
const taken = /[\ufdd0-\ufdef\u2060]/g
/** Lone surrogates, which servers refuse. */
const halves = /\p{Surrogate}/gu
const parts = /[\ufdd0-\ufdd5\ufdda]|[\ufdd6-\ufdd8]([^\ufdd9]*)\ufdd9/g

const dialect: Dialect = {
  text: (text) => text,
  strong: (content) => marked('bold', content),
  em: (content) => marked('italic', content),
  del: (content) => marked('struck', content),
  codespan: (text) => (text.trim() === '' ? text : `${code}${text.replaceAll('\n', ' ')}${endOfSign}`),
  code: (text) => (text.trim() === '' ? '' : `${block}${text}${endOfSign}`),
  link: linked,
  image: linked,
  heading: (content) => marked('bold', content),
  paragraph: (content) => content,
  item: itemText,
  list: (items) => items.join('\n'),
  // A quote mark covers one line, and quotes don't nest. Code blocks stay unquoted, because a mark inside would break
  // them.
  blockquote: (content, depth) => (depth > 0 ? content : eachLine(content, (line) => `${quote}${line}`)),
  hr: () => '———',
  br: () => '\n',
}

/**
 * Renders Markdown with WhatsApp's marks. `length` is in UTF-16 units of the sent text with its marks, which is what
 * the limit counts.
 *
 * The result is longer than the source through disabled characters, tables, tabs, indented code and list numbers that
 * gain digits.
 */
export const renderWhatsApp: Render = cachedRender((source) => {
  const written = renderMarkdown(source.replace(taken, '').replace(halves, '\ufffd'), dialect).trim()
  if (!MARKED.test(written)) return { text: written, plain: written, length: written.length }
  const lines = linesOf(written).map(writtenLine)
  const text = lines.map((line) => line.text).join('\n')
  return lazyPlain({ text, length: text.length }, () => lines.map(({ plain }) => plain).join('\n'))
})

/** Whether a text has marks, placeholders of marks, or characters that could be marks. */
const MARKED = /[*_~`>\ufdd0-\ufdda]/

/** A code block is part of a line. */
function linesOf(written: string): readonly string[] {
  const lines = ['']
  for (const chunk of written.split(BLOCKS)) {
    const [first = '', ...more] = chunk.startsWith(block) ? [chunk] : chunk.split('\n')
    lines[lines.length - 1] += first
    for (const line of more) lines.push(line)
  }
  return lines
}

function writtenLine(line: string): Pick<Rendered, 'text' | 'plain'> {
  return MARKED.test(line) ? markedLine(line) : { text: line, plain: line }
}

/** Marks can't span lines, so a line reads the same in any text. A slice that is measured again has most lines again. */
const markedLine = cachedRender((line) => {
  const { text, plain } = writeMarks(piecesOf(line))
  return { text, plain, length: text.length }
})

/** Plain text with all its marks disabled. */
export function asWritten(words: string): string {
  return literal(words)
}

function marked(kind: Mark, content: string): string {
  const [open, close] = mark[kind]
  if (!content.includes('\n')) return content === '' ? '' : `${open}${content}${close}`
  // Marks can't span lines.
  const lines = content.split('\n').map((line) => (line === '' ? '' : `${open}${line}${close}`))
  return lines.join('\n')
}

function linked(content: string, href: string): string {
  const address = href.replace(/^mailto:/i, '')
  // Unescaped, these characters would be marks.
  const target = `${link}${address.replace(/[*~`]/g, encoded)}${endOfSign}`
  return content.replace(/[\ufdd0-\ufdd5]/g, '') === address ? target : `${content} (${target})`
}

function encoded(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
}

/** Changes each line outside of code blocks. */
function eachLine(content: string, change: (line: string) => string): string {
  const chunks = content.split(BLOCKS)
  return chunks.map((chunk) => (chunk.startsWith(block) ? chunk : changed(chunk, change))).join('')
}

function changed(chunk: string, change: (line: string) => string): string {
  const lines = chunk.split('\n')
  const isEdge = (at: number): boolean => at === 0 || at === lines.length - 1
  return lines.map((line, at) => (line === '' && isEdge(at) ? line : change(line))).join('\n')
}

function piecesOf(written: string): readonly Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const found of written.matchAll(parts)) {
    if (found.index > from) pieces.push({ type: 'words', text: written.slice(from, found.index) })
    pieces.push(pieceOf(found[0], found[1] ?? ''))
    from = found.index + found[0].length
  }
  if (from < written.length) pieces.push({ type: 'words', text: written.slice(from) })
  return pieces
}

function pieceOf(sign: string, content: string): Piece {
  if (sign === quote) return { type: 'quote' }
  if (sign.startsWith(link)) return { type: 'written', text: content, shown: content, as: 'link' }
  if (sign.startsWith(code) && !content.includes('`'))
    return { type: 'written', text: `\`${content}\``, shown: content }
  if (sign.startsWith(code)) return { type: 'written', text: ticked(content), shown: content, as: 'block' }
  if (sign.startsWith(block)) return { type: 'written', text: ticked(`\n${content}\n`), shown: content, as: 'block' }
  for (const kind of ['bold', 'italic', 'struck'] as const) {
    if (sign === mark[kind][0]) return { type: 'open', mark: kind }
    if (sign === mark[kind][1]) return { type: 'close', mark: kind }
  }
  return { type: 'words', text: sign }
}

/**
 * Wraps text in three backticks. Separates backticks in it that would end the block: three in a row, or one at either
 * end.
 */
function ticked(text: string): string {
  const inner = text.replace(/`{3,}/g, (ticks) => [...ticks].join('\u2060'))
  return `\`\`\`${inner.replace(/^`/, '\u2060`').replace(/`$/, '`\u2060')}\`\`\``
}

/** Kinds of WhatsApp's marks. */
type Mark = 'bold' | 'italic' | 'struck'

const signs: Readonly<Record<Mark, string>> = { bold: '*', italic: '_', struck: '~' }

/** A part of a line whose marks aren't written yet. `written` is sent unchanged, and shows as `shown`. */
type Piece =
  | { readonly type: 'words'; readonly text: string }
  | { readonly type: 'written'; readonly text: string; readonly shown: string; readonly as?: 'link' | 'block' }
  | { readonly type: 'open' | 'close'; readonly mark: Mark }
  /** Quotes the line that begins here. */
  | { readonly type: 'quote' }

/** Invisible, and not a letter: disables the mark before it. WhatsApp has no escape character. */
const joiner = '\u2060'

const letter = /[\p{L}\p{N}]/u

/**
 * Writes the marks of a line where WhatsApp recognizes them: around text that doesn't begin or end with white space, and
 * not within a word. Elsewhere, omits them. Disables literal characters that WhatsApp would read as marks.
 */
function writeMarks(given: readonly Piece[]): { readonly text: string; readonly plain: string } {
  const pieces = given.some(({ type }) => type === 'open' || type === 'close') ? recognized(given) : given
  let text = ''
  let plain = ''
  let index = -1
  for (const piece of pieces) {
    index++
    if (piece.type === 'words') {
      text += literal(piece.text, edgeOf(pieces, index, -1), edgeOf(pieces, index, 1))
      plain += piece.text
    } else if (piece.type === 'written') {
      text += piece.text
      plain += piece.shown
    } else if (piece.type === 'quote') {
      // A quote mark only works at the start of a line.
      if (text === '') text += '> '
    } else text += signs[piece.mark]
  }
  return { text, plain }
}

/** The pieces without marks that WhatsApp would not recognize. */
function recognized(given: readonly Piece[]): readonly Piece[] {
  const all = withoutNested(given)
  const dropped = droppedIn(all)
  return dropped.size === 0 ? all : all.filter((_, at) => !dropped.has(at))
}

/** Disables every character in a plain text that WhatsApp could read as a mark. */
function literal(words: string, before = '', after = ''): string {
  if (!/[*_~`>]/.test(words)) return words
  return words.replace(/`+|[*_~]|(?<=^|\n)>/g, (sign, at: number) => {
    if (sign.startsWith('`')) return sign.replaceAll('`', `\`${joiner}`)
    const previous = at === 0 ? before : words.slice(Math.max(0, at - 2), at)
    const next = at + 1 === words.length ? after : words.slice(at + 1, at + 3)
    return isMark(sign, previous, next) ? `${sign}${joiner}` : sign
  })
}

function isMark(sign: string, before: string, after: string): boolean {
  const isFirst = before === '' || before.endsWith('\n')
  if (sign === '>') return isFirst
  if (sign === '*' && isFirst && after.startsWith(' ')) return true
  const opens = !endsInLetter(before) && after !== '' && !/^\s/.test(after)
  const closes = before !== '' && !/\s$/.test(before) && !beginsWithLetter(after)
  return opens || closes
}

/** Leaves out marks nested in their own kind. */
function withoutNested(given: readonly Piece[]): readonly Piece[] {
  const open: Mark[] = []
  let nested: Mark[] = []
  return given.filter((piece) => {
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

/** Indexes of the marks that WhatsApp would not recognize. */
function droppedIn(pieces: readonly Piece[]): ReadonlySet<number> {
  const dropped = new Set<number>()
  const opened: number[] = []
  for (const [at, piece] of pieces.entries()) {
    if (piece.type === 'open') opened.push(at)
    if (piece.type !== 'close') continue
    const from = opened.pop()
    if (from === undefined) dropped.add(at)
    else if (!isTaken(pieces, from, at)) dropped.add(from).add(at)
  }
  return dropped
}

function isTaken(pieces: readonly Piece[], from: number, to: number): boolean {
  const inside = pieces.slice(from + 1, to).filter(({ type }) => type === 'words' || type === 'written')
  const first = inside[0]
  const last = inside.at(-1)
  if (!first || !last) return false
  // A mark right after a link would become part of it.
  if (last.type === 'written' && last.as === 'link') return false
  // Marks don't work around three backticks.
  if (inside.some((piece) => piece.type === 'written' && piece.as === 'block')) return false
  const begins = shownOf(first)
  const ends = shownOf(last)
  if (/^\s/.test(begins) || /\s$/.test(ends)) return false
  // A doubled mark character opens nothing.
  const opening = pieces[from]
  if (opening?.type === 'open' && first.type === 'words' && begins.startsWith(signs[opening.mark])) return false
  return !endsInLetter(seenOf(pieces, from, -1)) && !beginsWithLetter(seenOf(pieces, to, 1))
}

/** The text next to a position in the line, ignoring marks. */
function seenOf(pieces: readonly Piece[], from: number, step: 1 | -1): string {
  for (let at = from + step; at >= 0 && at < pieces.length; at += step) {
    const piece = pieces[at]
    if (!piece || piece.type === 'quote') return ''
    if (piece.type === 'words' || piece.type === 'written') return shownOf(piece)
  }
  return ''
}

/** The text directly next to a piece. A mark counts as a character that isn't a letter. */
function edgeOf(pieces: readonly Piece[], from: number, step: 1 | -1): string {
  const piece = pieces[from + step]
  if (!piece || piece.type === 'quote') return ''
  return piece.type === 'words' || piece.type === 'written' ? piece.text : '*'
}

function shownOf(piece: Piece): string {
  return piece.type === 'words' ? piece.text : piece.type === 'written' ? piece.text : ''
}

function endsInLetter(text: string): boolean {
  return letter.test([...text.slice(-2)].at(-1) ?? '')
}

function beginsWithLetter(text: string): boolean {
  return letter.test([...text.slice(0, 2)][0] ?? '')
}
