import type { Render } from '@reply/sink'
import { cachedRender, type Dialect, lazyPlain, type Rendered, renderMarkdown } from '@reply/sink/channel'
import { mostEntities, richBlocks, richLength } from './limits.ts'

/** Allowed link targets. `tg://user` would mention, and so notify, a person. */
const LINKS = /^(?:https?:\/\/[^\s]+|mailto:[^\s]+|tg:\/\/(?!user\b)[^\s]+)$/i

const LANGUAGE = /^[\w+#.-]+$/

/**
 * Matches a web address, which is kept, or an @ that would mention a person: before a name, or before markup with one.
 */
const MENTION = /(https?:\/\/[\w.:-]+(?:\/[\w.~%@/?=&#+:-]*)?)|(?<!\w)@(?=[\w@*_~`[\\<]|&#?\w+;|$)/gi

/** An @ written as a character reference. */
const AT = /&#0*64;|&#x0*40;|&commat;/gi

/** A `tg://user` address, in which the colon and slashes may be character references. */
const PERSON = /\btg(?=(?:[:/\\]|&#?\w+;)+user)/gi

/**
 * Text that Markdown keeps verbatim: a fence with its lines (in a quote the quoted lines, in a list the indented ones),
 * a code span, which ends with its block at the latest, and an escaped backslash or backtick, which can't open a span.
 * Ambiguous text doesn't match.
 */
const KEPT = new RegExp(
  [
    /^(?<top>`{3,}(?![^\n]*`)|~{3,})[^\n]*(?:\n(?! {0,3}\k<top>[`~]*[ \t]*$)[^\n]*)*(?:\n {0,3}\k<top>[`~]*[ \t]*$)?/,
    /^[ \t]*>[ \t>]*(?<quoted>`{3,}(?![^\n]*`)|~{3,})[^\n]*(?:\n(?![ \t>]*\k<quoted>[`~]*[ \t]*$)[ \t]*>[^\n]*)*(?:\n[ \t>]*\k<quoted>[`~]*[ \t]*$)?/,
    /^(?:[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t])+(?<listed>`{3,}(?![^\n]*`)|~{3,})[^\n]*(?:\n(?![ \t]*\k<listed>[`~]*[ \t]*$)(?:[ \t][^\n]*)?(?=\n|$))*(?:\n[ \t]*\k<listed>[`~]*[ \t]*$)?/,
    /(?<!`)(?<span>`+)(?!`)(?:(?!\n[ \t]*(?:\n|[-*+>#|]|\d+[.)]|`{3}|~{3}))[\s\S])*?(?<!`)\k<span>(?!`)/,
    /\\[\\`]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
)

/** Invisible, and can't be part of a username. */
const JOINER = '\u2060'

const dialect: Dialect = {
  text: (text) => escaped(text.includes('@') ? unnamed(text) : text),
  strong: (content) => tagged('b', content),
  em: (content) => tagged('i', content),
  del: (content) => tagged('s', content),
  codespan: (text) => tagged('code', escaped(text)),
  code(text, lang) {
    if (text.trim() === '') return ''
    const code = escaped(text)
    if (lang === undefined || !LANGUAGE.test(lang)) return `<pre>${code}</pre>`
    return `<pre><code class="language-${lang}">${code}</code></pre>`
  },
  link: anchor,
  image: (text, href) => anchor(escaped(text), href),
  heading: (content) => tagged('b', content),
  paragraph: (content) => content,
  item(content, { ordered, number, depth, checked }) {
    const box = checked === undefined ? '•' : checked ? '☑' : '☐'
    const bullet = ordered ? `${number}.${checked === undefined ? '' : ` ${box}`}` : box
    return `${'  '.repeat(depth)}${bullet} ${content.trimStart()}`.trimEnd()
  },
  list: (items) => items.join('\n'),
  // Telegram refuses nested quotes.
  blockquote: (content, depth) => (depth > 0 ? content : tagged('blockquote', content)),
  hr: () => '———',
  br: () => '\n',
}

const same = (content: string): string => content

const unemphasised: Dialect = { ...dialect, strong: same, em: same, del: same, heading: same, blockquote: same }

/** From all formats to the fewest: blocks of code and links stay. */
const dialects: readonly Dialect[] = [dialect, unemphasised, { ...unemphasised, codespan: escaped }]

/**
 * Renders Markdown as Telegram's HTML. `length` is in UTF-16 units after entities parsing, which is what the limit
 * counts. A text with too many formats loses emphasis first, then code spans; then links show their address.
 *
 * The result is longer than the source only through tables, tabs, list numbers that gain digits, and an @ before a
 * name, which gets an invisible character so that it doesn't notify.
 */
export const renderHtml: Render = cachedRender(html)

function html(source: string): Rendered {
  const made = fewFormats(dialects.map((one) => () => renderMarkdown(source, one).trim()))
  const all = withoutMore(made, (href) => ` (${href})`)
  const plain = plainOf(all)
  if (all === made || plain.length <= source.length) return { text: all, plain, length: plain.length }
  // Addresses that the source names elsewhere would make it longer.
  const text = withoutMore(made, () => '')
  return { text, plain: plainOf(text), length: plainOf(text).length }
}

/**
 * Markdown for a rich message, which takes Markdown directly. `length` is in code points of the source, or the share of
 * the block limit scaled to code points if that is larger.
 */
export const renderRich: Render = cachedRender(rich)

function rich(markdown: string): Rendered {
  const source = quiet(markdown)
  const length = Math.max(codePoints(source), Math.ceil((blocksOf(source) / richBlocks) * richLength))
  return lazyPlain({ text: source, length }, () => plainOf(renderMarkdown(source, dialect).trim()))
}

/** Disables mentions outside code, so that the text notifies no one. */
function quiet(markdown: string): string {
  if (!/[@&]|tg/i.test(markdown)) return markdown
  let text = ''
  let [copied, end] = [0, 0]
  const add = (to: number): void => {
    const between = markdown.slice(end, to)
    const quieted = quietText(between)
    // Most texts mention no one, and are not copied.
    if (quieted === between) return
    text += markdown.slice(copied, end) + quieted
    copied = to
  }
  for (const { 0: kept, index } of markdown.matchAll(KEPT)) {
    add(index)
    end = index + kept.length
  }
  add(markdown.length)
  return copied === 0 ? markdown : text + markdown.slice(copied)
}

function quietText(text: string): string {
  const spelled = text.includes('&') ? text.replace(AT, '@') : text
  const unmentioned = spelled.includes('@') ? unnamed(spelled) : spelled
  return /tg/i.test(unmentioned) ? unmentioned.replace(PERSON, `$&${JOINER}`) : unmentioned
}

function unnamed(text: string): string {
  return text.replace(MENTION, (found, address: string | undefined) => address ?? `${found}${JOINER}`)
}

/** Counts a rich message's blocks, rather too many than too few: paragraphs, and each line that is its own block. */
function blocksOf(source: string): number {
  let blocks = 0
  let before = ''
  let fence: string | undefined
  const hasFences = source.includes('```') || source.includes('~~~')
  for (const line of source.split('\n')) {
    const mark = hasFences ? /^[ \t>]*(`{3,}|~{3,})/.exec(line)?.[1] : undefined
    const kind = fence !== undefined || mark !== undefined ? 'code' : kindOf(line)
    const isNew = kind !== before
    // A list, table or quote is a block, and so is each item in it.
    if (kind === 'part') blocks += isNew ? 2 : 1
    else if (kind !== '' && isNew) blocks += 1
    before = kind
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence)) fence = undefined
  }
  return blocks
}

function kindOf(line: string): string {
  if (/^[a-z]/i.test(line)) return 'text'
  if (line.trim() === '') return ''
  return /^[ \t]*(?:[>|#]|(?:[-*+]|\d+[.)])(?:[ \t]|$))/.test(line) ? 'part' : 'text'
}

function tagged(tag: string, content: string): string {
  return content === '' ? '' : `<${tag}>${content}</${tag}>`
}

function anchor(content: string, href: string): string {
  if (!LINKS.test(href)) return content
  return `<a href="${escaped(href).replaceAll('"', '&quot;')}">${content}</a>`
}

function escaped(text: string): string {
  if (!/[&<>]/.test(text)) return text
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The first text that Telegram formats to its end, else the last. */
function fewFormats([make, ...simpler]: readonly (() => string)[]): string {
  const text = make?.() ?? ''
  return simpler.length === 0 || entitiesOf(text) <= mostEntities ? text : fewFormats(simpler)
}

/** The code in a `pre` is one format with it. */
function entitiesOf(text: string): number {
  let count = 0
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) {
    if (text.charAt(at + 1) !== '/' && !text.startsWith('code class=', at + 1)) count++
  }
  return count
}

/** The formats that Telegram takes; further code blocks become text, and further links their text and address. */
function withoutMore(text: string, addressOf: (href: string) => string): string {
  if (entitiesOf(text) <= mostEntities) return text
  const open: { readonly isOver: boolean; readonly href: string | undefined; readonly from: number }[] = []
  let [written, at, count] = ['', 0, 0]
  for (const { 0: tag, 1: close, 2: name, 3: attributes = '', index } of text.matchAll(/<(\/?)([a-z]+)([^>]*)>/g)) {
    written += text.slice(at, index)
    at = index + tag.length
    const begun = close ? open.pop() : undefined
    if (!close && !(name === 'code' && attributes !== '')) count += 1
    const isOver = begun?.isOver ?? count > mostEntities
    if (!isOver) written += tag
    if (!close) open.push({ isOver, href: /^ href="([^"]*)"$/.exec(attributes)?.[1], from: written.length })
    if (begun?.isOver && begun.href !== undefined && written.slice(begun.from) !== begun.href)
      written += addressOf(begun.href.replaceAll('&quot;', '"'))
  }
  return written + text.slice(at)
}

/** Removing every `<…>` is safe: brackets outside tags were escaped before. */
function plainOf(text: string): string {
  const bare = text.includes('<') ? text.replace(/<[^>]*>/g, '') : text
  return bare.includes('&') ? bare.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&') : bare
}

function codePoints(text: string): number {
  if (!/[\ud800-\udfff]/.test(text)) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}
