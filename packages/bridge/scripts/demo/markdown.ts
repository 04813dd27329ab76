import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import { element, link, type Markup, type MarkupTag } from './view.ts'

/** Returns Markdown as elements, as a chat shows it. HTML in it stays text. */
export function readMarkdown(source: string): readonly Markup[] {
  return new Lexer({ gfm: true, breaks: true }).lex(source).flatMap(markupOf)
}

/** Returns Discord's Markdown as elements. Unlike `readMarkdown`, shows lines that begin with `-# ` small. */
export function readDiscordMarkdown(source: string): readonly Markup[] {
  return source
    .split(/^(-# .*)$/m)
    .flatMap((part) =>
      part.startsWith('-# ')
        ? [element('p', [element('small', inlineOf(part.slice(3)))])]
        : readMarkdown(part.replace(/^\n+/, '')),
    )
}

/** Returns Markdown without blocks as elements. */
function inlineOf(source: string): readonly Markup[] {
  return Lexer.lexInline(source, { gfm: true, breaks: true }).flatMap(markupOf)
}

/** Whether a token is one of the lexer's own, not of an extension. */
function isKnown(token: Token): token is MarkedToken {
  return token.type !== 'generic'
}

/** Returns the elements of a token's children. Without children, returns its text. */
function childrenOf(tokens: readonly Token[] | undefined, text: string): readonly Markup[] {
  return tokens ? tokens.flatMap(markupOf) : [text]
}

const headings: readonly MarkupTag[] = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']

/**
 * Returns the elements of a token. Empty for white space and link definitions. A token of an unknown type stays as it was
 * written.
 */
function markupOf(token: Token): readonly Markup[] {
  if (!isKnown(token)) return [token.raw]
  switch (token.type) {
    case 'space':
    case 'def':
      return []
    case 'paragraph':
      return [element('p', childrenOf(token.tokens, token.text))]
    case 'heading':
      return [element(headings[token.depth - 1] ?? 'h6', childrenOf(token.tokens, token.text))]
    case 'list':
      return [listOf(token)]
    case 'list_item':
      return [itemOf(token)]
    case 'checkbox':
      return [element('check', [], { isChecked: token.checked })]
    case 'blockquote':
      return [element('blockquote', childrenOf(token.tokens, token.text))]
    case 'code':
      return [element('pre', [token.text], token.lang ? { language: token.lang } : {})]
    case 'table':
      return [tableOf(token)]
    case 'hr':
      return [element('hr')]
    case 'br':
      return [element('br')]
    case 'strong':
    case 'em':
    case 'del':
      return [element(token.type, childrenOf(token.tokens, token.text))]
    case 'codespan':
      return [element('code', [token.text])]
    case 'link':
      return [link(token.href, childrenOf(token.tokens, token.text))]
    case 'image':
      return [link(token.href, [token.text || token.href])]
    case 'text':
      return childrenOf(token.tokens, decoded(token.text))
    case 'escape':
      return [token.text]
    case 'html':
      return [token.block ? element('p', [token.text.trimEnd()]) : token.text]
    default:
      return [rawOf(token satisfies never)]
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** Returns a text with the five entities that the lexer escapes decoded. */
function decoded(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => entities[name] ?? whole)
}

/** Returns the source of a token that a later version of the lexer may add. */
function rawOf(token: { readonly raw: string }): string {
  return token.raw
}

/** Returns a list. An ordered one has the number of its first item. */
function listOf({ ordered, start, items }: Tokens.List): Markup {
  const more = ordered && typeof start === 'number' ? { start } : {}
  return element(ordered ? 'ol' : 'ul', items.map(itemOf), more)
}

/** Returns an item of a list. */
function itemOf({ tokens }: Tokens.ListItem): Markup {
  return element('li', tokens.flatMap(markupOf))
}

/** Returns a table with the alignment of its columns. */
function tableOf({ header, rows, align }: Tokens.Table): Markup {
  const cell = (tag: 'th' | 'td') => (each: Tokens.TableCell, index: number) => {
    const side = align[index]
    return element(tag, each.tokens.flatMap(markupOf), side ? { align: side } : {})
  }
  return element('table', [
    element('thead', [element('tr', header.map(cell('th')))]),
    element(
      'tbody',
      rows.map((row) => element('tr', row.map(cell('td')))),
    ),
  ])
}
