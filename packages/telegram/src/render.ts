import { type Dialect, type Rendered, renderMarkdown } from '@reply/sink'
import { richBlocks, richLength } from './limits.ts'

/** Where a link may go. `tg://user` would ring somebody's phone. */
const LINKS = /^(?:https?:\/\/[^\s]+|mailto:[^\s]+|tg:\/\/(?!user\b)[^\s]+)$/i

const LANGUAGE = /^[\w+#.-]+$/

/** What would ring somebody's phone: a name after an @ that no letter stands before. */
const MENTION = /(^|[^\w@./])@(?=\w)/g

/** Of Markdown, what code keeps as it is, mentions, and links to people. */
const RINGING =
  /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`)|(^|[^\w@./])@(?=\w)|\]\(\s*<?\s*tg(?=:\/\/user)/gi

/** Nothing to see, and no part of a name. */
const JOINER = '\u2060'

const html: Dialect = {
  text: (text) => escaped(text.includes('@') ? text.replace(MENTION, `$1@${JOINER}`) : text),
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
export function renderHtml(source: string): Rendered {
  const text = renderMarkdown(source, html).trim()
  const plain = plainOf(text)
  return { text, plain, length: plain.length }
}

/**
 * Markdown for a rich message, which takes it as it is. `length` is in code points of the source, or, where it has more
 * blocks than letters would fill, what the blocks take of the room.
 */
export function renderRich(markdown: string): Rendered {
  const source = markdown.replace(RINGING, (found, code: string | undefined, before: string | undefined) => {
    if (code !== undefined) return code
    return before === undefined ? `${found}${JOINER}` : `${before}@${JOINER}`
  })
  const length = Math.max(codePoints(source), Math.ceil((blocksOf(source) / richBlocks) * richLength))
  return { text: source, plain: plainOf(renderMarkdown(source, html).trim()), length }
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
