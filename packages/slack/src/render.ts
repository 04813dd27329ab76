import type { Render } from '@reply/sink'
import {
  cachedRender,
  clip,
  type Dialect,
  isMisleading,
  isOpenable,
  knownTokens,
  lazyPlain,
  lex,
  mayMislead,
  renderMarkdown,
  type Token,
  visible,
  wellFormed,
} from '@reply/sink/channel'
import type { SlackFields } from './api.ts'

/** Invisible, zero width. Between `<` and `!` it turns a mention into plain text. */
const joiner = '\u2060'

/**
 * Slack's own markup: mentions of everyone, a group, a person or a channel, dates, which can be links, and links with a
 * text. Slack resolves them in code too.
 */
const markup =
  /<(?=!(?:channel|here|everyone|subteam|date)\b|@[UWB][A-Z\d]|#[CGD][A-Z\d]|[a-z][a-z\d+.-]*:[^\s<>|]*\|[^<>\n]*>)/gi

/** Addresses that open something in Slack's app. */
const deepLinks = /\bslack:(?=\/\/)/gi

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
 * Markdown for a markdown block, which takes Markdown directly and shows pictures as links. Mentions are disabled by an
 * invisible character (U+2060); links to other schemes than http, https and mailto become text, and a link whose text
 * names another address is followed by its own. `length` is in UTF-16 units of that text; `plain` is the visible text.
 */
export const renderSlack: Render = cachedRender((source) => {
  const text = quieted(withOpenLinks(source))
  return lazyPlain({ text, length: text.length }, () => renderMarkdown(text, shown).trim())
})

/** The same text with its mentions disabled. */
export function quieted(source: string): string {
  const text = wellFormed(source)
  if (!/[<@!]|slack:/i.test(text)) return text
  return text
    .replace(markup, `<${joiner}`)
    .replace(names, `@${joiner}`)
    .replace(links, `$1${joiner}`)
    .replace(deepLinks, `$&${joiner}`)
}

type LinkToken = Extract<Token, { readonly type: 'link' | 'image' }>

/** Replaces links that may not be links, and those that mislead. */
function withOpenLinks(source: string): string {
  if (!/\](?:\(|:|\[)|<[a-z][a-z\d+.-]*:/i.test(source)) return source
  const closed = closedIn(lex(source))
  if (closed.length === 0) return source
  let [text, from] = ['', 0]
  for (const token of closed) {
    const at = source.indexOf(token.raw, from)
    if (at < 0) continue
    text += source.slice(from, at) + openly(token)
    from = at + token.raw.length
  }
  text += source.slice(from)
  // The same characters may stand in code before the link, or over several lines of a quote: then no link is kept.
  return closedIn(lex(text)).length === 0 ? text : source.replace(/\](?=[([:])|<(?=[a-z])/gi, `$&${joiner}`)
}

/** The text of a link as it was written, and its address if that may be opened. */
function openly(token: LinkToken): string {
  const words =
    token.type === 'image'
      ? token.text
      : knownTokens(token.tokens)
          .map(({ raw }) => raw)
          .join('')
  const shown = words.replace(/:(?=\/\/)/g, isOpenable(words) ? ':' : `:${joiner}`)
  return isOpenable(token.href) && token.raw.endsWith(')') ? `${shown} (<${token.href}>)` : shown
}

function closedIn(tokens: readonly Token[]): readonly LinkToken[] {
  return tokens.flatMap((token): readonly LinkToken[] => {
    switch (token.type) {
      case 'link':
        return isClosed(token) ? [token] : closedIn(knownTokens(token.tokens))
      case 'image':
        return isOpenable(token.href) && !isMisleading(token.text, token.href) ? [] : [token]
      case 'list':
        return token.items.flatMap((item) => closedIn(knownTokens(item.tokens)))
      case 'table':
        return [token.header, ...token.rows].flatMap((row) => row.flatMap((cell) => closedIn(knownTokens(cell.tokens))))
      default:
        return 'tokens' in token && token.tokens ? closedIn(knownTokens(token.tokens)) : []
    }
  })
}

function isClosed({ href, text, tokens }: Extract<LinkToken, { readonly type: 'link' }>): boolean {
  return !isOpenable(href) || (mayMislead(text, href) && isMisleading(plainOf(tokens), href))
}

/** The text of a link without its formats. */
function plainOf(tokens: Parameters<typeof knownTokens>[0]): string {
  return knownTokens(tokens)
    .map((token) => ('tokens' in token && token.tokens ? plainOf(token.tokens) : 'text' in token ? token.text : ''))
    .join('')
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
