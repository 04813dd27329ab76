import {
  cachedRender,
  type Dialect,
  lazyPlain,
  type Render,
  type Rendered,
  renderMarkdown,
  type Table,
} from '@reply/sink/channel'
import { itemText, tableText } from '@reply/sink/internal'
import { mostEntities, richBlocks, richColumns, richDepth, richLength } from './limits.ts'

const LANGUAGE = /^[\w+#.-]+$/

/**
 * Matches a web address, which is kept. Also matches an @ before a name, or before markup with one, that would mention
 * a person, and an address of the app, which Telegram detects in text.
 */
const ACTING =
  /(https?:\/\/[\w.:-]+(?:\/[\w.~%@/?=&#+:-]*)?)|(?<!\w)@(?=[\w@*_~`[\\<]|&#?\w+;|$)|\b(?:tg|ton|tonsite):(?=\/\/)/gi

/** Invisible, and can't be part of a username. */
const JOINER = '\u2060'

const dialect: Dialect = {
  text: (text) => escaped(disableMentions(text)),
  strong: (content) => taggedContent('b', content),
  em: (content) => taggedContent('i', content),
  del: (content) => taggedContent('s', content),
  codespan: (text) => taggedContent('code', escaped(text)),
  code(text, lang) {
    if (text.trim() === '') return ''
    const code = escaped(text)
    if (lang === undefined || !LANGUAGE.test(lang)) return `<pre>${code}</pre>`
    return `<pre><code class="language-${lang}">${code}</code></pre>`
  },
  link: anchor,
  image: (text, href) => anchor(escaped(disableMentions(text)), href),
  heading: (content) => taggedContent('b', content),
  paragraph: (content) => content,
  item: itemText,
  list: (items) => items.join('\n'),
  // Telegram rejects nested quotes.
  blockquote: (content, depth) => (depth > 0 ? content : taggedContent('blockquote', content)),
  hr: () => '———',
  br: () => '\n',
}

/** Returns the content as it is. */
const unchanged = (content: string): string => content

const unemphasised: Dialect = {
  ...dialect,
  strong: unchanged,
  em: unchanged,
  del: unchanged,
  heading: unchanged,
  blockquote: unchanged,
}

/** From all formats to the fewest. Code blocks and links stay. */
const dialects: readonly Dialect[] = [dialect, unemphasised, { ...unemphasised, codespan: escaped }]

/**
 * Renders Markdown as Telegram's HTML. `length` is in UTF-16 units after entities parsing, which is what the limit
 * counts. A text with too many formats loses emphasis first, then code spans. After that, links show their
 * address, unless that would make the text longer than its source: then they lose it.
 *
 * The result is longer than the source only through tables, tabs, list numbers that gain digits, and an @ before a
 * name, which gets an invisible character so that it doesn't notify.
 */
export const renderHtml: Render = cachedRender(renderAsHtml)

/** Renders as HTML. If Telegram would ignore some formats, uses fewer, or writes links as addresses. */
function renderAsHtml(source: string): Rendered {
  const made = firstWithinFormats(dialects.map((each) => () => disableAppLinks(renderMarkdown(source, each).trim())))
  const all = dropExcessFormats(made, (href) => ` (${href})`)
  const plain = visibleText(all)
  if (all === made || plain.length <= source.length) return { text: all, plain, length: plain.length }
  // Addresses of reference links are defined elsewhere in the source, so they would make the text longer.
  const text = dropExcessFormats(made, () => '')
  return { text, plain: visibleText(text), length: visibleText(text).length }
}

/**
 * Renders Markdown as the HTML of a rich message, with a fixed list of tags and all other text escaped, so that nothing
 * in it loads, acts or mentions. `length` is in code points of the text, or the share of the block limit scaled to code
 * points if that is larger.
 */
export const renderRich: Render = cachedRender((source) => {
  const blocks = estimateBlocks(source)
  // Far too many lines. The splitter only needs to know by how much, which needs no rendering.
  return blocks > 1.2 * richBlocks ? lazyRich(source, blocksAsCodePoints(blocks)) : renderAsRich(source)
})

/** Renders as a rich message. Its length also counts the blocks, which have a limit of their own. */
function renderAsRich(source: string): Rendered {
  const text = visibleRichHtml(source)
  const length = Math.max(codePointsOfHtml(text), blocksAsCodePoints(countBlocks(text)))
  return lazyPlain({ text, length }, () => renderAsHtml(source).plain)
}

/** Returns a rich message of this length, which is only rendered when its text is read. */
function lazyRich(source: string, length: number): Rendered {
  let made: Rendered | undefined
  const whole = (): Rendered => {
    made ??= renderAsRich(source)
    return made
  }
  return {
    length,
    get text() {
      return whole().text
    },
    get plain() {
      return whole().plain
    },
  }
}

/** Returns the rich message's HTML. Lists become lines if it is nested too deeply. Empty if nothing in it would be visible. */
function visibleRichHtml(source: string): string {
  const written = renderMarkdown(source, richDialect).trim()
  const made = nestingDepth(written) <= richDepth ? written : renderMarkdown(source, flatDialect).trim()
  return /(?:^|>)\s*[^<\s]|<(?:hr|li|t[dh])\b/.test(made) ? made : ''
}

/**
 * Returns the code points that take as large a share of their limit as the blocks take of theirs, rounded up. The splitter
 * knows only one limit, so a message with too many blocks must count as too long.
 */
function blocksAsCodePoints(blocks: number): number {
  return Math.ceil((blocks / richBlocks) * richLength)
}

/**
 * Estimates the blocks of a source by its lines, so that a source with far too many needs no rendering: two for each item,
 * and one for each row and heading. Lines in a fence don't count.
 */
function estimateBlocks(source: string): number {
  let blocks = 0
  let fence: string | undefined
  for (const [, fenceMark, item] of source.matchAll(LINE)) {
    if (fence !== undefined) {
      if (fenceMark?.startsWith(fence)) fence = undefined
    } else if (fenceMark !== undefined) fence = fenceMark
    else blocks += item === undefined ? 1 : 2
  }
  return blocks
}

const LINE = /^[ \t>]*(?:(`{3,}|~{3,})|((?:[-*+]|\d{1,9}[.)])[ \t]+\S)|#{1,6}[ \t]|\|)/gm

/** Escapes a text, with a `<br>` for each line feed, because HTML shows those as spaces. */
function richText(text: string): string {
  const html = escaped(text)
  return html.includes('\n') ? html.replaceAll('\n', '<br>') : html
}

const richDialect: Dialect = {
  ...dialect,
  text: richText,
  link: (content, href) => anchor(content, href),
  image: (text, href) => anchor(richText(text), href),
  heading: (content, depth) => taggedContent(`h${depth}`, content),
  paragraph: (content) => taggedContent('p', content),
  item(content, { ordered, number, checked }) {
    const box = checked === undefined ? '' : checked ? '<input type="checkbox" checked>' : '<input type="checkbox">'
    // Telegram may reject empty blocks.
    const inner = `${box}${content.trimStart() || '&nbsp;'}`
    return `${ordered ? `<li value="${number}">` : '<li>'}${inner}</li>`
  },
  list(items) {
    const tag = items[0]?.startsWith('<li value=') ? 'ol' : 'ul'
    return `<${tag}>${items.join('')}</${tag}>`
  },
  blockquote: (content) => taggedContent('blockquote', content),
  richTable(table) {
    if (table.header.length > richColumns)
      return taggedContent('pre', tableText({ ...table, ...cellsWithoutTags(table) }))
    const rowOf = (tag: 'th' | 'td', cells: readonly string[]): string =>
      `<tr>${cells.map((cell, at) => `<${tag}${alignAttribute(table.align[at])}>${cell}</${tag}>`).join('')}</tr>`
    return `<table>${rowOf('th', table.header)}${table.rows.map((row) => rowOf('td', row)).join('')}</table>`
  },
  hr: () => '<hr/>',
  br: () => '<br>',
}

/** Returns the cells without tags, each in one line. A line break becomes a space, and the text stays escaped. */
function cellsWithoutTags({ header, rows }: Table): Pick<Table, 'header' | 'rows'> {
  const withoutTags = (cells: readonly string[]): readonly string[] =>
    cells.map((cell) => cell.replaceAll('<br>', ' ').replace(/<[^>]*>/g, ''))
  return { header: withoutTags(header), rows: rows.map(withoutTags) }
}

/** Returns the attribute that aligns a cell, with a space before it. Empty without an alignment. */
function alignAttribute(align: 'left' | 'right' | 'center' | null | undefined): string {
  return align ? ` align="${align}"` : ''
}

/** For text that is nested deeper than Telegram accepts. Lists and inner quotes become lines. */
const flatDialect: Dialect = {
  ...richDialect,
  strong: unchanged,
  em: unchanged,
  del: unchanged,
  item: itemText,
  list: (items) => items.join('<br>'),
  blockquote: (content, depth) => (depth > 0 ? content : taggedContent('blockquote', content)),
}

/** Counts the blocks of a rich message. Text next to blocks counts as a paragraph. */
function countBlocks(html: string): number {
  return countMatches(BLOCKS, html) + countMatches(BARE_TEXTS, html)
}

const BLOCKS = /<(?:p|h\d|pre|ul|ol|li|blockquote|table|tr|hr)\b/g

/** Text that directly follows the beginning or end of a block. */
const BARE_TEXTS =
  /(?:^|<(?:li|blockquote)[^>]*>(?:<input[^>]*>)?|<\/(?:p|h\d|pre|[uo]l|blockquote|table)>|<hr\/>)\s*(?!\s|<\/?(?:p|h\d|pre|[uo]l|li|blockquote|table|hr|t[rdh])\b|$)[\s\S]/g

/** Counts matches without an array of them. The pattern never matches an empty text. */
function countMatches(pattern: RegExp, text: string): number {
  let count = 0
  pattern.lastIndex = 0
  while (pattern.test(text)) count++
  return count
}

/** Returns the nesting depth of elements, with an implicit paragraph around bare text. */
function nestingDepth(html: string): number {
  let depth = 0
  let most = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) {
    if (html.charAt(at + 1) === '/') depth -= 1
    else if (!isVoid(html, at + 1)) most = Math.max(most, ++depth)
  }
  return most + 1
}

/** Whether the tag at that index has no content. */
function isVoid(html: string, at: number): boolean {
  return html.startsWith('br', at) || html.startsWith('hr', at) || html.startsWith('input', at)
}

/** Tags between the letters of an address. Telegram detects addresses in the text without tags. */
const TAGS = '(?:<[^>]*>)*'

/** Matches code and tags, which are skipped, or an address of the app up to its colon. */
const APP = new RegExp(
  `<pre>[^]*?</pre>|<code>[^<]*</code>|<[^>]*>|(?<![a-z\\d])(?:${['tg', 'ton', 'tonsite']
    .map((scheme) => [...scheme].join(TAGS))
    .join('|')})${TAGS}:(?=${TAGS}/${TAGS}/)`,
  'gi',
)

/** Disables addresses of the app in HTML. */
function disableAppLinks(text: string): string {
  if (!/[gne](?:<[^>]*>)*:(?:<[^>]*>)*\//i.test(text)) return text
  return text.replace(APP, (found) => (found.endsWith(':') ? `${found}${JOINER}` : found))
}

/** Returns the content in a tag. Empty for empty content. */
function taggedContent(tag: string, content: string): string {
  return content === '' ? '' : `<${tag}>${content}</${tag}>`
}

/** Returns a link. The content must already be HTML, and the address is escaped. */
function anchor(content: string, href: string): string {
  return `<a href="${escaped(href).replaceAll('"', '&quot;')}">${content}</a>`
}

/** Disables mentions and addresses of the app in a text without markup, or before it is escaped. */
export function disableMentions(text: string): string {
  if (!/@|[gne]:\/\//i.test(text)) return text
  return text.replace(ACTING, (found, address: string | undefined) => address ?? `${found}${JOINER}`)
}

/** Escapes the three special characters of HTML text. */
export function escaped(text: string): string {
  if (!/[&<>]/.test(text)) return text
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Returns the first text within the limit of formats, or else the last. Later ones are only made if needed. */
function firstWithinFormats([make, ...simpler]: readonly (() => string)[]): string {
  const text = make?.() ?? ''
  return simpler.length === 0 || countFormats(text) <= mostEntities ? text : firstWithinFormats(simpler)
}

/** Counts the formats. A `pre` and the `code` in it are one. */
function countFormats(text: string): number {
  let count = 0
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) {
    if (text.charAt(at + 1) !== '/' && !text.startsWith('code class=', at + 1)) count++
  }
  return count
}

/**
 * Returns the text with no more formats than Telegram takes. Further formats and code blocks become text. A further link
 * becomes its text, followed by what `addressOf` returns for its address unless the text is the address.
 */
function dropExcessFormats(text: string, addressOf: (href: string) => string): string {
  if (countFormats(text) <= mostEntities) return text
  const open: { readonly isBeyond: boolean; readonly href: string | undefined; readonly from: number }[] = []
  const written: string[] = []
  let at = 0
  let count = 0
  for (const { 0: tag, 1: close, 2: name, 3: attributes = '', index } of text.matchAll(/<(\/?)([a-z]+)([^>]*)>/g)) {
    written.push(text.slice(at, index))
    at = index + tag.length
    const begun = close ? open.pop() : undefined
    if (!close && !(name === 'code' && attributes !== '')) count += 1
    const isBeyond = begun?.isBeyond ?? count > mostEntities
    if (!isBeyond) written.push(tag)
    if (!close) open.push({ isBeyond, href: /^ href="([^"]*)"$/.exec(attributes)?.[1], from: written.length })
    if (begun?.isBeyond && begun.href !== undefined && written.slice(begun.from).join('') !== begun.href)
      written.push(addressOf(begun.href.replaceAll('&quot;', '"')))
  }
  return written.join('') + text.slice(at)
}

/** Returns the text without tags and entities. Removing every `<…>` is safe: brackets outside tags were escaped before. */
function visibleText(text: string): string {
  const bare = text.includes('<') ? text.replaceAll('<br>', '\n').replace(/<[^>]*>/g, '') : text
  if (!bare.includes('&')) return bare
  return bare.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&nbsp;', ' ').replaceAll('&amp;', '&')
}

/** Returns the number of code points of the text in HTML. */
function codePointsOfHtml(html: string): number {
  if (/[&\ud800-\udfff]/.test(html)) return countCodePoints(visibleText(html))
  let letters = html.length
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at)) {
    const end = html.indexOf('>', at) + 1
    letters -= html.startsWith('<br>', at) ? 3 : end - at
    at = end
  }
  return letters
}

/** Returns the number of code points. Half of a surrogate pair counts as one. */
function countCodePoints(text: string): number {
  if (!/[\ud800-\udfff]/.test(text)) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}
