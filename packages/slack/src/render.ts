import { type Dialect, lazyPlain, type Render, remembering, renderMarkdown, visible } from '@reply/sink'
import type { SlackFields } from './api.ts'

/** Invisible, and of no width: between `<` and `!` it makes words of what would ring. */
const joiner = '\u2060'

/** What rings everybody, a group or a person, or names a channel, wherever it stands: Slack looks into code, too. */
const markup = /<(?=!(?:channel|here|everyone|subteam)\b|@[UWB][A-Z\d]|#[CGD][A-Z\d])/gi

/** Bare words ring with `link_names` alone, which is never set; other people's tools may set it. */
const names = /@(?=(?:channel|here|everyone)\b)/gi

/** A link whose address is a mention becomes one. */
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
 * Markdown for a markdown block, which takes it as it is: only what would ring somebody is made harmless, by an invisible
 * character (U+2060) in it. `length` is in UTF-16 units of the source; `plain` is what is to be read.
 */
export const renderSlack: Render = remembering((source) => {
  const text = quieted(source)
  return lazyPlain({ text, length: text.length }, () => renderMarkdown(text, shown).trim())
})

/** The same text, which rings nobody. */
export function quieted(source: string): string {
  const text = wellFormed(source)
  if (!/[<@!]/.test(text)) return text
  return text.replace(markup, `<${joiner}`).replace(names, `@${joiner}`).replace(links, `$1${joiner}`)
}

/** Words in a block, which Slack formats in no way. */
export function plainText(text: string): SlackFields {
  return { type: 'plain_text', text, emoji: false }
}

/** The same, cut to a length in characters, with hidden characters written out. */
export function plainLabel(text: string, most: number): SlackFields {
  return plainText(clipped(visible(text), most))
}

/** For Slack's own markup, in which three characters have a meaning. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The same, and no longer than that: what is written in four or five characters is not cut in two. */
export function escapedTo(text: string, most: number): string {
  return clipped(escaped(clipped(text, most)), most).replace(/&[a-z]*…$/, '…')
}

/** As many characters, no letter cut in two. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return wellFormed(text)
  const end = text.slice(0, most - 1)
  return wellFormed(`${/[\uD800-\uDBFF]$/.test(end) ? end.slice(0, -1) : end}…`)
}

/** Half a letter is refused by the client, which can't write it in a form. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}

function same(content: string): string {
  return content
}
