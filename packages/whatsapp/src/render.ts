import { cachedRender, type Dialect, lazyPlain, type Render, type Rendered, renderMarkdown } from '@reply/sink/channel'
import { literal, type Mark, type Piece, writeMarks } from './marks.ts'

/**
 * Placeholders for marks, because how to write one depends on its neighbors. Unicode noncharacters, which no text
 * contains.
 */
const mark = {
  bold: ['\ufdd0', '\ufdd1'],
  italic: ['\ufdd2', '\ufdd3'],
  struck: ['\ufdd4', '\ufdd5'],
} as const satisfies Readonly<Record<Mark, readonly [string, string]>>
const [code, block, link, endOfSign] = ['\ufdd6', '\ufdd7', '\ufdd8', '\ufdd9']
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
  item(content, { ordered, number, depth, checked }) {
    const box = checked === undefined ? '•' : checked ? '☑' : '☐'
    const bullet = ordered ? `${number}.${checked === undefined ? '' : ` ${box}`}` : box
    return `${'  '.repeat(depth)}${bullet} ${content.trimStart()}`.trimEnd()
  },
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
