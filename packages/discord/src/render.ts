import { type Dialect, type Render, remembering, renderMarkdown } from '@reply/sink'
import { literal } from './escape.ts'
import { contentLength } from './limits.ts'
import { clean, mark, remark, unmarkFirst } from './mark.ts'
import { write } from './write.ts'

const LANGUAGE = /^[\w+#.-]+$/

/** Marks what each thing is: how it is to be written depends on what stands beside it. */
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
    // Below the mark of a list the client knows no headings and quotes, and no second mark beside it.
    const inner = remark(remark(content.trimStart(), 'heading', 'strong'), 'quote', 'group')
    const rest = `${box}${unmarkFirst(inner, 'raw')}`
    const lead = '  '.repeat(depth)
    return `${lead}${bullet}${rest}`
  },
  list: (items) => items.join('\n'),
  // Quotes inside quotes are none, and headings in them look like the others' words.
  blockquote: (content, depth) => (depth > 0 ? content : mark('quote', remark(content, 'heading', 'strong'))),
  hr: () => '———',
  br: () => '\n',
  html: small,
}

/**
 * Markdown as Discord's client reads it. `length` is in UTF-16 units of what is sent, which is what the limit counts.
 *
 * It is longer than the source only by tables, and where words have to be kept from being markup. `<small>` is small text.
 */
export const renderDiscord: Render = remembering((source) => {
  const written = write(withSmall(renderMarkdown(source, marking)))
  const text = written.text.trim()
  return { text, plain: written.plain.trim(), length: text.length }
})

/** Words that are no Markdown: they are read as they are. */
export function escapeDiscord(words: string): string {
  return literal(words, { isStart: true, hasBrackets: true, hasUnderscores: true }).text
}

/** As many of them as one message takes, with no letter or escape cut in two. */
export function oneMessage(words: string): string {
  const text = escapeDiscord(words)
  return text.length <= contentLength ? text : text.slice(0, contentLength).replace(/[\ud800-\udbff\\]$/, '')
}

const tags = { open: mark('raw', '', 'small'), close: mark('raw', '', '/small') } as const

function small(tag: string): string {
  if (/^<small>$/i.test(tag)) return tags.open
  return /^<\/small>$/i.test(tag) ? tags.close : clean(tag)
}

/** A line that is all of it small. A tag without its other one, or in the middle of a line, is shown as it was written. */
function withSmall(marked: string): string {
  if (!marked.includes(tags.open) && !marked.includes(tags.close)) return marked
  const lines = marked.split('\n').map((line) => {
    if (!line.startsWith(tags.open) || !line.endsWith(tags.close)) return line
    return mark('small', line.slice(tags.open.length, -tags.close.length))
  })
  return lines.join('\n').replaceAll(tags.open, '<small>').replaceAll(tags.close, '</small>')
}
