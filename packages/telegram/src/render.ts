import { type Dialect, lazyPlain, type Render, type Rendered, remembering, renderMarkdown } from '@reply/sink'
import { richBlocks, richLength } from './limits.ts'

/** Where a link may go. `tg://user` would ring somebody's phone. */
const LINKS = /^(?:https?:\/\/[^\s]+|mailto:[^\s]+|tg:\/\/(?!user\b)[^\s]+)$/i

const LANGUAGE = /^[\w+#.-]+$/

/** An address on the web, which stays as it is, or what would ring somebody's phone: an @ before a name, or before markup that has one. */
const MENTION = /(https?:\/\/[\w.:-]+(?:\/[\w.~%@/?=&#+:-]*)?)|(?<!\w)@(?=[\w@*_~`[\\<]|&#?\w+;|$)/gi

/** The same letter where Markdown has it in others. */
const AT = /&#0*64;|&#x0*40;|&commat;/gi

/** The address of a person. */
const PERSON = /\btg(?=(?:[:/\\]|&#?\w+;)+user)/gi

/**
 * What Markdown keeps as it is: a fence with its lines, in a quote those that belong to it, in a list those that are
 * indented; a span of code, which ends with its block; and what is escaped, as that begins neither. In doubt it is none.
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

/** Nothing to see, and no part of a name. */
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
  // Quotes inside quotes are refused.
  blockquote: (content, depth) => (depth > 0 ? content : tagged('blockquote', content)),
  hr: () => '———',
  br: () => '\n',
}

/**
 * Markdown as Telegram's HTML. `length` is in UTF-16 units after parsing, which is what the limit counts.
 *
 * It is never longer than the source but for tables, tabs, numbers that grow, and names after an @, which are kept from
 * ringing.
 */
export const renderHtml: Render = remembering(html)

function html(source: string): Rendered {
  const text = renderMarkdown(source, dialect).trim()
  const plain = plainOf(text)
  return { text, plain, length: plain.length }
}

/**
 * Markdown for a rich message, which takes it as it is. `length` is in code points of the source, or, where it has more
 * blocks than letters would fill, what the blocks take of the room.
 */
export const renderRich: Render = remembering(rich)

function rich(markdown: string): Rendered {
  const source = quiet(markdown)
  const length = Math.max(codePoints(source), Math.ceil((blocksOf(source) / richBlocks) * richLength))
  return lazyPlain({ text: source, length }, () => plainOf(renderMarkdown(source, dialect).trim()))
}

/** The same, so that nobody's phone rings for it. */
function quiet(markdown: string): string {
  if (!/[@&]|tg/i.test(markdown)) return markdown
  const quieted = (text: string): string => unnamed(text.replace(AT, '@')).replace(PERSON, `$&${JOINER}`)
  let text = ''
  let from = 0
  for (const { 0: kept, index } of markdown.matchAll(KEPT)) {
    text += quieted(markdown.slice(from, index)) + kept
    from = index + kept.length
  }
  return text + quieted(markdown.slice(from))
}

function unnamed(text: string): string {
  return text.replace(MENTION, (found, address: string | undefined) => address ?? `${found}${JOINER}`)
}

/** The blocks of a rich message, rather more than fewer: paragraphs, and each line that makes one of its own. */
function blocksOf(source: string): number {
  let blocks = 0
  let before = ''
  let fence: string | undefined
  for (const line of source.split('\n')) {
    const mark = /^[ \t>]*(`{3,}|~{3,})/.exec(line)?.[1]
    const kind = fence !== undefined || mark !== undefined ? 'code' : kindOf(line)
    const isNew = kind !== before
    // A list, a table and a quote are blocks, and so is each thing in them.
    if (kind === 'part') blocks += isNew ? 2 : 1
    else if (kind !== '' && isNew) blocks += 1
    before = kind
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence)) fence = undefined
  }
  return blocks
}

function kindOf(line: string): string {
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

/** Every bracket that is no tag's was escaped above. */
function plainOf(text: string): string {
  const bare = text.includes('<') ? text.replace(/<[^>]*>/g, '') : text
  return bare.includes('&') ? bare.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&') : bare
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
