import type { Render } from '@reply/sink'
import { cachedRender, clip, type Dialect, lazyPlain, renderMarkdown, visible, wellFormed } from '@reply/sink/channel'
import type { SlackFields } from './api.ts'

/** Invisible, zero width. Between `<` and `!` it turns a mention into plain text. */
const joiner = '\u2060'

/** Mentions of everyone, a group, a person or a channel. Slack resolves them in code too. */
const markup = /<(?=!(?:channel|here|everyone|subteam)\b|@[UWB][A-Z\d]|#[CGD][A-Z\d])/gi

/**
 * Bare @-words mention only with `link_names`. This package never sets it, but other tools that repost the text may.
 */
const names = /@(?=(?:channel|here|everyone)\b)/gi

/** A link whose address is a mention: Slack would turn it into a mention. */
const links = /(\]\([ \t]*<?|^[ \t]*\[[^\]\n]+\]:[ \t]*<?)(?=[!@]\w)/gm

const shown: Dialect = {
  text: same,
  strong: same,
  em: same,
  del: same,
  codespan: same,
  code: (text) => text,
  link: same,
  image: same,
  heading: same,
  paragraph: same,
  item(content, { ordered, number, depth, checked }) {
    const box = checked === undefined ? '•' : checked ? '☑' : '☐'
    const bullet = ordered ? `${number}.${checked === undefined ? '' : ` ${box}`}` : box
    return `${'  '.repeat(depth)}${bullet} ${content.trimStart()}`.trimEnd()
  },
  list: (items) => items.join('\n'),
  blockquote: same,
  hr: () => '———',
  br: () => '\n',
}

/**
 * Markdown for a markdown block, which takes Markdown directly. Only mentions are disabled, by an invisible character
 * (U+2060). `length` is in UTF-16 units of that text; `plain` is the visible text.
 */
export const renderSlack: Render = cachedRender((source) => {
  const text = quieted(source)
  return lazyPlain({ text, length: text.length }, () => renderMarkdown(text, shown).trim())
})

/** The same text with its mentions disabled. */
export function quieted(source: string): string {
  const text = wellFormed(source)
  if (!/[<@!]/.test(text)) return text
  return text.replace(markup, `<${joiner}`).replace(names, `@${joiner}`).replace(links, `$1${joiner}`)
}

/** A block's text that Slack doesn't format. */
export function plainText(text: string): SlackFields {
  return { type: 'plain_text', text, emoji: false }
}

/** The same, with hidden characters made visible, cut to `most` UTF-16 units. Slack refuses a blank label. */
export function plainLabel(text: string, most: number): SlackFields {
  const shown = clipped(visible(text), most)
  return plainText(shown.trim() === '' ? '…' : shown)
}

/** Escapes the three special characters of Slack's own markup. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The same, cut to `most` UTF-16 units, never inside an escape of four or five characters. */
export function escapedTo(text: string, most: number): string {
  return clipped(escaped(clipped(text, most)), most).replace(/&[a-z]*…$/, '…')
}

/** Cuts to `most` UTF-16 units and replaces lone surrogates. */
export function clipped(text: string, most: number): string {
  return wellFormed(clip(text, most))
}

function same(content: string): string {
  return content
}
