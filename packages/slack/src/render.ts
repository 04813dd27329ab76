import { escapeInvisible } from '@reply/core'
import { cachedRender, type Dialect, isOpenable, lazyPlain, type Render, renderMarkdown } from '@reply/sink/channel'
import {
  addressOf,
  clip,
  decodeReferences,
  isMisleading,
  itemText,
  knownTokens,
  lex,
  mayMislead,
  type Token,
  wellFormed,
} from '@reply/sink/internal'
import type { SlackFields } from './api.ts'

/** Invisible, zero width. Between `<` and `!` it turns a mention into plain text. */
const joiner = '\u2060'

/**
 * Slack's own markup, which it also resolves in code: mentions of everyone, a group, a person or a channel, dates,
 * which can be links, and links with a text.
 */
const markup =
  /<(?=!(?:channel|here|everyone|subteam|date)\b|@[UWB][A-Z\d]|#[CGD][A-Z\d]|[a-z][a-z\d+.-]*:[^\s<>|]*\|[^<>\n]*>)/gi

/** Addresses that open something in Slack's app. */
const deepLinks = /\bslack:(?=\/\/)/gi

/**
 * Bare names, which mention only with `link_names`. This package never sets it, but other tools that repost the text
 * may.
 */
const bareNames = /@(?=(?:channel|here|everyone)\b)/gi

/** A link whose address is a mention: Slack would turn it into a mention. */
const mentionLinks = /(\]\([ \t]*<?|^[ \t]*\[[^\]\n]+\]:[ \t]*<?)(?=[!@]\w)/gm

const visibleDialect: Dialect = {
  text: unchanged,
  strong: unchanged,
  em: unchanged,
  del: unchanged,
  codespan: unchanged,
  code: (text) => text,
  link: unchanged,
  image: unchanged,
  heading: unchanged,
  paragraph: unchanged,
  item: itemText,
  list: (items) => items.join('\n'),
  blockquote: unchanged,
  hr: () => '———',
  br: () => '\n',
}

/**
 * Renders Markdown for a markdown block, which accepts Markdown directly and shows pictures as links. An invisible
 * character (U+2060) disables mentions. Links that can't be opened become the text that was written. A link whose text
 * names another address is followed by its own. `length` is in UTF-16 units of that text. `plain` is the visible text.
 */
export const renderSlack: Render = cachedRender((source) => {
  const text = disableMentions(replaceUnsafeLinks(source))
  return lazyPlain({ text, length: text.length }, () => renderMarkdown(text, visibleDialect).trim())
})

/** Disables mentions and links into Slack's app. Replaces lone surrogates. */
export function disableMentions(source: string): string {
  const text = wellFormed(source)
  if (!/[<@!]|slack:/i.test(text)) return text
  return text
    .replace(markup, `<${joiner}`)
    .replace(bareNames, `@${joiner}`)
    .replace(mentionLinks, `$1${joiner}`)
    .replace(deepLinks, `$&${joiner}`)
}

type LinkToken = Extract<Token, { readonly type: 'link' | 'image' }>

/**
 * Returns the source with unsafe links replaced by text: those that must not be opened or mislead. If one of them can't be
 * replaced for certain, all links become text.
 */
function replaceUnsafeLinks(source: string): string {
  if (!mayHaveUnsafeLink(source)) return source
  const unsafe = unsafeLinks(lex(source))
  if (unsafe.length === 0) return source
  let text = ''
  let from = 0
  for (const token of unsafe) {
    const at = source.indexOf(token.raw, from)
    if (at < 0) continue
    text +=
      source.slice(from, at) + (isOpenable(addressOf(token)) ? misleadingLinkAsText(token) : disabledSource(token))
    from = at + token.raw.length
  }
  text += source.slice(from)
  // If the same characters occur in code before the link, or across lines of a quote, all links are disabled.
  const isOpen = !mayHaveUnsafeLink(text) || unsafeLinks(lex(text)).length === 0
  return isOpen ? text : source.replace(ANY_LINK, `$&${joiner}`)
}

/**
 * Whether a text may have an unsafe link: a quick check, without parsing the Markdown. A bare address may be unsafe for its
 * scheme, or for an @ in it.
 */
function mayHaveUnsafeLink(source: string): boolean {
  return MAY_HAVE_LINKS.test(source) || (/[@&]/.test(source) && /:\/\/|www\./i.test(source))
}

const MAY_HAVE_LINKS = /\](?:\(|:|\[)|<[a-z][a-z\d+.-]*:|\bftp:\/\//i

const ANY_LINK = /\](?=[([:])|<(?=[a-z])|:(?=\/\/)|\bwww(?=\.)/gi

/**
 * Returns the text that replaces a link whose label names another address, so that people see where it leads: the label as
 * it was written, followed by the address for `[label](address)`. An address in the label that must not be opened gets an
 * invisible character.
 */
function misleadingLinkAsText(token: LinkToken): string {
  const label =
    token.type === 'image'
      ? token.text
      : knownTokens(token.tokens)
          .map(({ raw }) => raw)
          .join('')
  const shown = label.replace(/:(?=\/\/)/g, isOpenable(label) ? ':' : `:${joiner}`)
  return token.raw.endsWith(')') ? `${shown} (<${token.href}>)` : shown
}

/** Returns the source of a link that must not be opened, with invisible characters that keep Slack from reading it as one. */
function disabledSource({ raw }: LinkToken): string {
  const text = raw.replaceAll('](', `]${joiner}(`)
  const bare = /:\/\/|^<|^www\./i.test(text) ? text.replace(/:(?=\/\/)|^<|^www(?=\.)/gi, `$&${joiner}`) : text
  // Changes the label, so that no definition matches.
  return bare.endsWith(']') ? bare.replace(/(?<!\\)\]/g, `${joiner}]`) : bare
}

/** Returns the unsafe links in order: see `isUnsafeLink`. */
function unsafeLinks(tokens: readonly Token[]): readonly LinkToken[] {
  const found: LinkToken[] = []
  collectUnsafeLinks(tokens, found)
  return found
}

/** Adds the unsafe links to `found`: one list, because a text may have thousands of links. */
function collectUnsafeLinks(tokens: readonly Token[], found: LinkToken[]): void {
  for (const token of tokens) {
    if (token.type === 'text' && !token.tokens) continue
    if ((token.type === 'link' || token.type === 'image') && isUnsafeLink(token)) found.push(token)
    else if (token.type === 'list') for (const item of token.items) collectUnsafeLinks(knownTokens(item.tokens), found)
    else if (token.type === 'table') {
      for (const row of [token.header, ...token.rows])
        for (const cell of row) collectUnsafeLinks(knownTokens(cell.tokens), found)
    } else if (token.type !== 'image' && 'tokens' in token && token.tokens)
      collectUnsafeLinks(knownTokens(token.tokens), found)
  }
}

/** Whether a link must not be opened, or its text names another address. */
function isUnsafeLink(token: LinkToken): boolean {
  const href = addressOf(token)
  return !isOpenable(href) || (mayMislead(token.text, href) && isMisleading(visibleText(token.tokens), href))
}

/** Returns the text of a link without formats. */
function visibleText(tokens: Parameters<typeof knownTokens>[0]): string {
  return knownTokens(tokens)
    .map((token) => {
      if ('tokens' in token && token.tokens) return visibleText(token.tokens)
      return token.type === 'text' ? decodeReferences(token.raw) : 'text' in token ? token.text : ''
    })
    .join('')
}

/** Returns a text object that Slack doesn't format. */
export function plainText(text: string): SlackFields {
  return { type: 'plain_text', text, emoji: false }
}

/**
 * Returns a `plainText` with hidden characters made visible, cut to `maxLength` UTF-16 units. Never blank, because Slack
 * refuses that.
 */
export function plainLabel(text: string, maxLength: number): SlackFields {
  const shown = clipWellFormed(escapeInvisible(text), maxLength)
  return plainText(shown.trim() === '' ? '…' : shown)
}

/** Escapes the three special characters of Slack's own markup. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Escapes a text and cuts it to `maxLength` UTF-16 units, never inside an escape. */
export function escapeAndClip(text: string, maxLength: number): string {
  return clipWellFormed(escaped(clipWellFormed(text, maxLength)), maxLength).replace(/&[a-z]*…$/, '…')
}

/** Cuts to `maxLength` UTF-16 units and replaces lone surrogates. */
export function clipWellFormed(text: string, maxLength: number): string {
  return wellFormed(clip(text, maxLength))
}

/** Returns the content as it is. */
function unchanged(content: string): string {
  return content
}
