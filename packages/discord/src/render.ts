import { cachedRender, type Dialect, lazyPlain, type Render, renderMarkdown } from '@reply/sink/channel'
import { contentLength } from './limits.ts'
import {
  type Element,
  gap,
  linesOf,
  mark,
  type Node,
  nodesOf,
  replaceDelimiters,
  replaceMark,
  type Surroundings,
  unmarkFirst,
  type Written,
  writeLiteral,
} from './markup.ts'

const LANGUAGE = /^[\w+#.-]+$/

/** Only marks the kinds. `writeLines` writes them later, because the syntax depends on the neighbors. */
const marking: Dialect = {
  text: replaceDelimiters,
  strong: (content) => mark('strong', content),
  em: (content) => mark('em', content),
  del: (content) => mark('del', content),
  codespan: (text) => mark('codespan', replaceDelimiters(text)),
  code(text, lang) {
    if (text.trim() === '') return ''
    return mark('code', replaceDelimiters(text), lang !== undefined && LANGUAGE.test(lang) ? lang : '')
  },
  link: (content, href) => mark('link', content, href),
  image: (text, href) => mark('link', replaceDelimiters(text), href),
  heading: (content, depth) => mark('heading', content, String(depth)),
  paragraph: (content) => content,
  item(content, { ordered, number, depth, checked }) {
    const box = checked === undefined ? '' : checked ? '☑ ' : '☐ '
    const bullet = ordered ? mark('raw', `${number}. `, `${number}. `) : mark('raw', '• ', '- ')
    // In a list item, Discord's client renders no headings or quotes, and no second bullet beside the first.
    const inner = replaceMark(replaceMark(content.trimStart(), 'heading', 'strong'), 'quote', 'group')
    const rest = `${box}${unmarkFirst(inner, 'raw')}`
    const lead = '  '.repeat(depth)
    return `${lead}${bullet}${rest}`
  },
  list: (items) => items.join('\n'),
  // Discord doesn't nest quotes, and shows headings in them as plain text.
  blockquote: (content, depth) => (depth > 0 ? content : mark('quote', replaceMark(content, 'heading', 'strong'))),
  hr: () => '———',
  br: () => '\n',
  html: markSmallTag,
}

/**
 * Renders Markdown in Discord's syntax. `length` is in UTF-16 units of the sent text, as in the limit.
 *
 * The result is longer than the source only through tables and escapes. `<small>` becomes small text.
 */
export const renderDiscord: Render = cachedRender((source) => {
  const lines = writeLines(withSmall(renderMarkdown(source, marking)))
  const text = joinLines(lines.map((line) => line.text)).trim()
  return lazyPlain({ text, length: text.length }, () => joinLines(lines.map(({ plain }) => plain)).trim())
})

/** Escapes plain text, so that Discord shows it unchanged. */
export function escapeDiscord(source: string): string {
  return writeLiteral(source, true, { hasBrackets: true, hasUnderscores: true }).text
}

/** Escapes plain text and cuts it to one message, never inside a surrogate pair or an escape. */
export function oneMessage(source: string): string {
  const text = escapeDiscord(source)
  return text.length <= contentLength ? text : text.slice(0, contentLength).replace(/[\ud800-\udbff\\]$/, '')
}

/** Placeholders of the tags, which `withSmall` resolves. */
const smallTags = { open: mark('raw', '', 'small'), close: mark('raw', '', '/small') } as const

/** Marks a `<small>` tag. All other tags stay text. */
function markSmallTag(tag: string): string {
  if (/^<small>$/i.test(tag)) return smallTags.open
  return /^<\/small>$/i.test(tag) ? smallTags.close : replaceDelimiters(tag)
}

/** Marks lines that are entirely inside `<small>`. Unpaired tags, and those in the middle of a line, are shown literally. */
function withSmall(marked: string): string {
  if (!marked.includes(smallTags.open) && !marked.includes(smallTags.close)) return marked
  const lines = marked.split('\n').map((line) => {
    if (!line.startsWith(smallTags.open) || !line.endsWith(smallTags.close)) return line
    return mark('small', line.slice(smallTags.open.length, -smallTags.close.length))
  })
  return lines.join('\n').replaceAll(smallTags.open, '<small>').replaceAll(smallTags.close, '</small>')
}

/** What surrounds a node. */
interface Place extends Surroundings {
  /** The last line of the preceding text, if a mark could still begin there. */
  readonly before: string
  /** The next character. Empty at the end. */
  readonly next: string
  /** The enclosing marks. */
  readonly inside: readonly Element['kind'][]
}

const nothing: Written = { text: '', plain: '' }

/**
 * The patterns by which Discord's client reads each whole mark. It uses patterns, not a grammar, so text that it would
 * read differently is written without the mark.
 */
const clientPatterns = {
  strong: /^\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/,
  em: /^\*(?=\S)((?:\*\*|\s+(?:[^*\s]|\*\*)|[^\s*])+?)\*(?!\*)/,
  del: /^~~([\s\S]+?)~~(?!_)/,
  codespan: /^(`+)([\s\S]*?[^`])\1(?!`)/,
  heading: /^#{1,3} ((?!#+)[^\n]+?)#*\s*(?:\n|$)/,
  small: /^-# +(?!-#)([^\n]+?)$/,
  link: /^\[((?:\[[^\]]*\]|[^[\]]|\](?=[^[]*\]))*)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?(?:\s+['"]([\s\S]*?)['"])?\s*\)/,
} as const

const marks = { strong: '**', em: '*', del: '~~' } as const

/** Writes marked text in Discord's syntax, with its visible text, line by line. */
function writeLines(marked: string): readonly Written[] {
  const hasBrackets = marked.includes('](')
  const hasUnderscores = marked.includes('_') && nodesOf(marked).some(hasWordEndingInUnderscore)
  const withBrackets = hasUnderscores ? writers.both : writers.brackets
  const withoutBrackets = hasUnderscores ? writers.underscores : writers.simple
  const writeLine = hasBrackets ? withBrackets : withoutBrackets
  return linesOf(marked).map(writeLine)
}

/** Joins lines of `linesOf`, without the second of the line feeds that two lines share. */
function joinLines(lines: readonly string[]): string {
  let all = ''
  for (const [index, line] of lines.entries()) all += index === 0 ? line : line.slice(1)
  return all
}

const writers = {
  simple: lineWriter({ hasBrackets: false, hasUnderscores: false }),
  brackets: lineWriter({ hasBrackets: true, hasUnderscores: false }),
  underscores: lineWriter({ hasBrackets: false, hasUnderscores: true }),
  both: lineWriter({ hasBrackets: true, hasUnderscores: true }),
}

/**
 * Returns a writer that caches its lines, because a growing text is written again for each word with most lines unchanged.
 */
function lineWriter(around: Surroundings): (line: string) => Written {
  return cachedRender((line) => {
    const { text, plain } = writeNodes(nodesOf(line), { before: '', next: '', inside: [], ...around })
    // Both were concatenated letter by letter. Comparing them flattens the strings, which saves memory.
    return { text, plain: plain === text ? text : plain, length: text.length }
  })
}

/**
 * Writes nodes one after the other. Keeps neighboring marks apart, which would otherwise form another mark. A bullet without
 * text directly after it is written as the character.
 */
function writeNodes(nodes: readonly Node[], place: Place): Written {
  let text = ''
  let plain = ''
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index] ?? ''
    const previous = nodes[index - 1]
    const before = lastLineOf(place.before, text)
    const written =
      typeof node === 'string'
        ? writeLiteral(node, isLineStart(before), place)
        : writeElement(node, { ...place, before, next: firstCharacterOf(nodes[index + 1]) ?? place.next })
    const isBeside = previous !== undefined && typeof previous !== 'string' && typeof node !== 'string'
    const apart = isBeside && wouldMerge(text, written.text) ? gap : ''
    if (isBullet(previous) && !/^\S/.test(written.text)) text = withLiteralBullet(text)
    text += apart + written.text
    plain += apart + written.plain
  }
  return { text: isBullet(nodes.at(-1)) ? withLiteralBullet(text) : text, plain }
}

/** Whether the node is the bullet of a list item. */
function isBullet(node: Node | undefined): boolean {
  return node !== undefined && typeof node !== 'string' && node.kind === 'raw' && node.attribute === '- '
}

/** Returns the text with a literal bullet for a "- " at its end, which is a bullet only with text after it. */
function withLiteralBullet(text: string): string {
  return text.replace(/- $/, '• ')
}

/** Writes a mark by its kind, or only its content where Discord would not read the mark. A `raw` one becomes its attribute. */
function writeElement(element: Element, place: Place): Written {
  const { kind, attribute, nodes } = element
  switch (kind) {
    case 'strong':
    case 'em':
    case 'del':
      return writeMark(element, kind, place)
    case 'codespan':
      return writeCodespan(plainTextOf(nodes), place)
    case 'code':
      return writeCodeBlock(plainTextOf(nodes), attribute, place)
    case 'heading':
      return writeHeading(element, place)
    case 'link':
      return writeLink(element, place)
    case 'quote':
      return writeQuote(writeNodes(nodes, { ...place, before: '' }), place)
    case 'small': {
      const inner = writeNodes(nodes, place)
      const text = `-# ${inner.text.trim()}`
      return isLineStart(place.before) && isReadWhole('small', text) ? { text, plain: inner.plain } : inner
    }
    case 'raw':
      return { text: attribute, plain: plainTextOf(nodes) }
    case 'group':
      return writeNodes(nodes, place)
    default:
      return kind satisfies never
  }
}

/**
 * Writes marks around a text, or only the text where Discord would not read them. White space at its ends goes outside of
 * the marks, which must touch text.
 */
function writeMark({ nodes }: Element, kind: keyof typeof marks, place: Place): Written {
  const inner = writeNodes(nodes, { ...place, inside: [...place.inside, kind] })
  const core = { text: inner.text.trim(), plain: inner.plain.trim() }
  const text = `${marks[kind]}${core.text}${marks[kind]}`
  if (core.text === '' || place.inside.includes(kind) || !isReadWhole(kind, text)) return inner
  const start = inner.text.slice(0, inner.text.length - inner.text.trimStart().length)
  const end = inner.text.slice(inner.text.trimEnd().length)
  return { text: start + text + end, plain: start + core.plain + end }
}

/**
 * Writes inline code, with separated backticks in it. Writes literal text if it is blank or Discord would not read it as
 * code.
 */
function writeCodespan(source: string, place: Place): Written {
  const plain = source.replace(/`{2,}/g, (run) => [...run].join(gap))
  const fence = plain.includes('`') ? '``' : '`'
  const text = `${fence}${/^`/.test(plain) ? ' ' : ''}${plain}${/`$/.test(plain) ? ' ' : ''}${fence}`
  return plain.trim() !== '' && isReadWhole('codespan', text)
    ? { text, plain }
    : writeLiteral(source, isLineStart(place.before), place)
}

/** Writes a block of code on lines of its own, and separates backticks that would end it. Writes nothing for blank code. */
function writeCodeBlock(source: string, lang: string, { before }: Place): Written {
  const plain = source.replace(/^\n+/, '').replace(/`{3,}/g, (run) => [...run].join(gap))
  if (plain.trim() === '') return nothing
  const start = currentLine(before) === '' ? '' : '\n'
  return { text: `${start}\`\`\`${lang}\n${plain}\n\`\`\``, plain: start + plain }
}

/** Writes a heading. One deeper than 3, or that Discord would not read as a heading, becomes bold. */
function writeHeading(element: Element, place: Place): Written {
  const depth = Number(element.attribute)
  const inner = writeNodes(element.nodes, { ...place, before: '# ' })
  const text = `${'#'.repeat(depth)} ${inner.text.trim()}`
  const isHeading =
    depth <= 3 && currentLine(place.before) === '' && isReadWhole('heading', text) && !/#\s*$/.test(text)
  return isHeading ? { text, plain: inner.plain } : writeMark(element, 'strong', place)
}

/** Writes a quote at a line's start. Elsewhere, writes the content without a quote. */
function writeQuote(inner: Written, { before }: Place): Written {
  if (inner.text.trim() === '' || currentLine(before) !== '') return inner
  return { text: inner.text.trim().replace(/^/gm, '> '), plain: inner.plain.trim() }
}

/**
 * Writes a link, or its text with the address in parentheses where Discord would not make a link. A link whose text is its
 * address becomes the address. A mail address is text. Leaves out an address that is not http, https or mailto, or has invisible
 * characters.
 */
function writeLink({ nodes, attribute: href }: Element, place: Place): Written {
  const inner = writeNodes(nodes, { ...place, inside: [...place.inside, 'link'] })
  if (/^mailto:/i.test(href)) {
    const address = href.slice('mailto:'.length)
    return inner.plain.includes(address) ? inner : withAddress(inner, writeLiteral(address, false, place))
  }
  const url = escapedAddress(href)
  if (url === undefined) return inner
  const whole = { text: `<${url}>`, plain: url }
  if (inner.plain === href) {
    const isApart = place.inside.length === 0 && /^\s?$/.test(place.next) && /[^<.,:;"')\]]$/.test(url)
    return isApart ? { text: url, plain: url } : whole
  }
  const label = inner.text.replace(/\s+/g, ' ')
  const isLabel =
    !place.hasBrackets && !/[[\]]/.test(label) && !/https?:\/\//i.test(inner.plain) && inner.plain.trim() !== ''
  const written = isLabel && [`[${label}](${url})`, `[${label}](<${url}>)`].find((text) => isLink(text, url))
  return written ? { text: written, plain: inner.plain } : withAddress(inner, whole)
}

/** Returns the label with its address in parentheses. */
function withAddress(label: Written, address: Written): Written {
  return { text: `${label.text} (${address.text})`, plain: `${label.plain} (${address.plain})` }
}

/**
 * Returns an address with escapes. Undefined for addresses other than http and https, and for those with invisible
 * characters.
 */
function escapedAddress(href: string): string | undefined {
  if (!/^https?:\/\/[^\s/]/i.test(href) || /\p{C}/u.test(href)) return undefined
  return href.replace(/[\s\\<>"]|@(?=everyone|here)/g, (letter) =>
    letter === '@' ? '%40' : encodeURIComponent(letter),
  )
}

/** Whether Discord's client reads the whole text as one link to that address. */
function isLink(text: string, url: string): boolean {
  const found = clientPatterns.link.exec(text)
  return found?.[0] === text && found[2] === url
}

/** Whether Discord's client reads the whole text as one mark of that kind. */
function isReadWhole(kind: keyof typeof clientPatterns, text: string): boolean {
  return clientPatterns[kind].exec(text)?.[0] === text
}

/** Whether code or an address in the node has an underscore at the end of a word. Neither can be escaped. */
function hasWordEndingInUnderscore(node: Node): boolean {
  if (typeof node === 'string') return false
  const { kind, attribute, nodes } = node
  const raw = kind === 'code' || kind === 'codespan' ? plainTextOf(nodes) : kind === 'link' ? attribute : ''
  return /_(?!\w)/.test(raw) || nodes.some(hasWordEndingInUnderscore)
}

/** Returns the text of the nodes without marks. */
function plainTextOf(nodes: readonly Node[]): string {
  return nodes.map((node) => (typeof node === 'string' ? node : plainTextOf(node.nodes))).join('')
}

/** Returns the first character of a text. "*" for an element, because a mark isn't a letter. Undefined for no node. */
function firstCharacterOf(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined
  return typeof node === 'string' ? node.charAt(0) : '*'
}

/** Whether mark characters on both sides would read as one longer mark. */
function wouldMerge(before: string, after: string): boolean {
  const letter = before.charAt(before.length - 1)
  return /[*~`]/.test(letter) && after.startsWith(letter)
}

/** A longer line can't be the start of a mark, so a single letter replaces it. */
const longestStart = 80

/** Returns the unfinished last line of the text, or a placeholder if the line is longer than any mark. */
function lastLineOf(before: string, text: string): string {
  const tail = text.slice(-longestStart)
  const isLine = text.length <= longestStart && !text.includes('\n')
  const line = isLine ? before + tail : tail
  const end = line.slice(line.lastIndexOf('\n') + 1)
  return end.length > longestStart ? 'x' : end
}

/** Returns the last line, trimmed. */
function currentLine(before: string): string {
  return before.slice(before.lastIndexOf('\n') + 1).trim()
}

/** Whether Discord reads line marks there: at a line's start, and after a list bullet. */
function isLineStart(before: string): boolean {
  return /^(?:(?:-|\d+\.)$)?$/.test(currentLine(before))
}
