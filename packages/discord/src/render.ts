import { cachedRender, type Dialect, lazyPlain, type Render, renderMarkdown } from '@reply/sink/channel'
import { contentLength } from './limits.ts'
import { literal } from './markup/escape.ts'
import { clean, mark, replaceMark, unmarkFirst } from './markup/mark.ts'
import { joined, writeLines } from './write.ts'

const LANGUAGE = /^[\w+#.-]+$/

/** Only marks the kinds: how to write each depends on its neighbors, so `writeLines` does that later. */
const marking: Dialect = {
  text: clean,
  strong: (content) => mark('strong', content),
  em: (content) => mark('em', content),
  del: (content) => mark('del', content),
  codespan: (text) => mark('codespan', clean(text)),
  code(text, lang) {
    if (text.trim() === '') return ''
    return mark('code', clean(text), lang !== undefined && LANGUAGE.test(lang) ? lang : '')
  },
  link: (content, href) => mark('link', content, href),
  image: (text, href) => mark('link', clean(text), href),
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
  html: small,
}

/**
 * Renders Markdown in Discord's syntax. `length` is in UTF-16 units of the sent text, which is what the limit counts.
 *
 * The result is longer than the source only through tables and escapes. `<small>` becomes small text.
 */
export const renderDiscord: Render = cachedRender((source) => {
  const lines = writeLines(withSmall(renderMarkdown(source, marking)))
  const text = joined(lines.map((line) => line.text)).trim()
  return lazyPlain({ text, length: text.length }, () => joined(lines.map(({ plain }) => plain)).trim())
})

/** Escapes plain text, so that Discord shows it unchanged. */
export function escapeDiscord(words: string): string {
  return literal(words, true, { hasBrackets: true, hasUnderscores: true }).text
}

/** Escapes plain text and cuts it to one message, never inside a surrogate pair or an escape. */
export function oneMessage(words: string): string {
  const text = escapeDiscord(words)
  return text.length <= contentLength ? text : text.slice(0, contentLength).replace(/[\ud800-\udbff\\]$/, '')
}

const tags = { open: mark('raw', '', 'small'), close: mark('raw', '', '/small') } as const

function small(tag: string): string {
  if (/^<small>$/i.test(tag)) return tags.open
  return /^<\/small>$/i.test(tag) ? tags.close : clean(tag)
}

/**
 * Marks lines that are entirely inside `<small>`. Unpaired tags, and those in the middle of a line, are shown
 * literally.
 */
function withSmall(marked: string): string {
  if (!marked.includes(tags.open) && !marked.includes(tags.close)) return marked
  const lines = marked.split('\n').map((line) => {
    if (!line.startsWith(tags.open) || !line.endsWith(tags.close)) return line
    return mark('small', line.slice(tags.open.length, -tags.close.length))
  })
  return lines.join('\n').replaceAll(tags.open, '<small>').replaceAll(tags.close, '</small>')
}
