import { escapeInvisible } from '@reply/core'
import { Lexer, type MarkedToken, type Token, Tokenizer, type Tokens } from 'marked'
import { Component, type ComponentChildren, createElement, Fragment } from 'preact'
import { texts } from '../texts.ts'
import { type Chunk, type CutText, cutText } from './chunks.ts'
import { CodeBlock } from './code.tsx'
import { memo } from './memo.ts'
import { rasterOf } from './raster.ts'

/** Shows a whole text of Markdown. */
export const Markdown = memo(({ text }: { readonly text: string }): ComponentChildren => {
  const { chunks, definitions }: CutText = cutText(text)
  return chunks.map((chunk) => <MarkdownChunk key={chunk.start} chunk={chunk} definitions={definitions} />)
})

interface MarkdownChunkProps {
  readonly chunk: Chunk
  /** Definitions of links from the whole text. */
  readonly definitions: string
}

/**
 * Shows a chunk of Markdown. Everything becomes elements that this file names, and texts: HTML in it is text. Blocks that did
 * not change keep their elements.
 */
export const MarkdownChunk = memo(({ chunk, definitions }: MarkdownChunkProps): ComponentChildren => {
  if (chunk.type === 'code') return <CodeBlock code={chunk.text} isContinued />
  return (
    <div class="markdown" dir="auto">
      {withLevels(blocksOf(chunk.text, definitions)).map(({ token, level }, index) => (
        <Block key={index} token={token} level={level} definitions={definitions} />
      ))}
    </div>
  )
})

interface BlockProps {
  readonly token: Token
  /** The level in the page's outline, if it is a heading. */
  readonly level: number
  readonly definitions: string
}

/** A block that is rendered again only if its source is another one. */
class Block extends Component<BlockProps> {
  override shouldComponentUpdate(next: Readonly<BlockProps>): boolean {
    const { token, level, definitions } = this.props
    const isSame = next.token.raw === token.raw && next.token.type === token.type && next.level === level
    return !isSame || next.definitions !== definitions
  }
  override render(): ComponentChildren {
    const { token, level } = this.props
    if (!isMarked(token) || token.type !== 'heading') return nodeOf(token)
    return createElement(`h${level}`, { class: `heading-${token.depth}` }, nodes(token.tokens))
  }
}

/** Headings of an answer are below those of the page. None is more than one level below the one before it. */
function withLevels(tokens: readonly Token[]): readonly { readonly token: Token; readonly level: number }[] {
  let last = 2
  return tokens.map((token) => {
    if (isMarked(token) && token.type === 'heading') last = Math.min(6, token.depth + 2, last + 1)
    return { token, level: last }
  })
}

/** Nested deeper than this, or with more marks, a chunk is shown as plain text: reading it could take long. */
const mostNested = 24
const mostMarks = 1500
const marks = /[*_~[\]`<>!|]/g
const nested = new RegExp(`^(?:[ \\t]*(?:[>*+-]|\\d{1,9}[.)])[ \\t]?){${mostNested}}`, 'm')

/** Reads the blocks of a text. Never throws. */
function blocksOf(text: string, definitions: string): readonly Token[] {
  if (nested.test(text) || (text.match(marks)?.length ?? 0) > mostMarks) return [plain(text)]
  const source = definitions === '' || !text.includes('[') ? text : `${text}\n\n${definitions}`
  try {
    return lexerOf().lex(source)
  } catch {
    return [plain(text)]
  }
}

function plain(text: string): Token {
  return { type: 'plain', raw: text, text }
}

/** HTML blocks are off: what is in them is shown as it is written, and may be Markdown. */
function lexerOf(): Lexer {
  const tokenizer = new Tokenizer()
  tokenizer.html = () => undefined
  tokenizer.tag = () => undefined
  return new Lexer({ gfm: true, breaks: false, tokenizer })
}

function nodes(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map(nodeOf)
}

function isMarked(token: Token): token is MarkedToken {
  return token.type !== 'plain'
}

function nodeOf(token: Token): ComponentChildren {
  if (!isMarked(token)) return <p class="plain">{token.raw}</p>
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      // In a quote or a list. It is not in the page's outline.
      return (
        <p>
          <strong>{nodes(token.tokens)}</strong>
        </p>
      )
    case 'paragraph':
      return <p>{nodes(token.tokens)}</p>
    case 'code':
      return <CodeBlock code={token.text} language={/^\S*/.exec(token.lang ?? '')?.[0]} />
    case 'blockquote':
      return <blockquote>{nodes(token.tokens)}</blockquote>
    case 'hr':
      return <hr />
    case 'list':
      return <ListOf token={token} />
    case 'list_item':
      return <Item token={token} />
    case 'checkbox':
      return <Checkbox isChecked={token.checked} />
    case 'table':
      return <Table token={token} />
    case 'html':
    case 'text':
      return 'tokens' in token && token.tokens ? nodes(token.tokens) : textOf(token.text)
    case 'escape':
      return token.text
    case 'strong':
      return <strong>{nodes(token.tokens)}</strong>
    case 'em':
      return <em>{nodes(token.tokens)}</em>
    case 'del':
      return <del>{nodes(token.tokens)}</del>
    case 'codespan':
      return <code>{escapeInvisible(token.text)}</code>
    case 'br':
      return <br />
    case 'link':
      return <Link href={token.href}>{nodes(token.tokens)}</Link>
    case 'image':
      return <Picture href={token.href} text={token.text} />
    default:
      return token satisfies never
  }
}

/** The characters that HTML names, in texts that marked leaves as they are. */
function textOf(text: string): string {
  return text.includes('&') ? text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name) => references[name] ?? '') : text
}

const references: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: '\u00a0',
}

function ListOf({ token }: { readonly token: Tokens.List }): ComponentChildren {
  const items = token.items.map((item, index) => <Item key={index} token={item} />)
  if (!token.ordered) return <ul class={token.items.some(({ task }) => task) ? 'tasks' : undefined}>{items}</ul>
  return <ol start={typeof token.start === 'number' ? token.start : 1}>{items}</ol>
}

function Item({ token }: { readonly token: Tokens.ListItem }): ComponentChildren {
  const hasBox = token.tokens.some(({ type }) => type === 'checkbox')
  return (
    <li class={token.task ? 'task' : undefined}>
      {token.task && !hasBox && <Checkbox isChecked={token.checked === true} />}
      {nodes(token.tokens)}
    </li>
  )
}

function Checkbox({ isChecked }: { readonly isChecked: boolean }): ComponentChildren {
  return (
    <span class="checkbox" role="img" aria-label={isChecked ? texts.checked : texts.unchecked}>
      {isChecked ? '☑' : '☐'}
    </span>
  )
}

function Table({ token }: { readonly token: Tokens.Table }): ComponentChildren {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
    // biome-ignore lint/a11y/useSemanticElements: it groups no fields.
    <div class="table" role="group" tabIndex={0} aria-label={texts.table}>
      <table>
        <thead>
          <tr>{token.header.map((cell, index) => cellOf('th', cell, index))}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{row.map((cell, at) => cellOf('td', cell, at))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function cellOf(tag: 'th' | 'td', { tokens, align }: Tokens.TableCell, key: number): ComponentChildren {
  return createElement(
    tag,
    { key, 'data-align': align ?? undefined, scope: tag === 'th' ? 'col' : undefined },
    nodes(tokens),
  )
}

/** A link to a page or an address for mail. Any other address is shown behind its text. */
function Link({ href, children }: { readonly href: string; readonly children: ComponentChildren }): ComponentChildren {
  const address = safeAddress(href)
  if (address === undefined)
    return (
      <Fragment>
        {children} <span class="address">({escapeInvisible(href)})</span>
      </Fragment>
    )
  return (
    <a href={address} rel="noopener noreferrer nofollow" target="_blank" title={escapeInvisible(href)}>
      {children}
    </a>
  )
}

/** A picture that is in the text itself. One elsewhere is not fetched, but linked. */
function Picture({ href, text }: { readonly href: string; readonly text: string }): ComponentChildren {
  const source = rasterOf(href)
  if (source !== undefined) return <img src={source} alt={text || texts.picture} />
  const label = text || texts.picture
  return safeAddress(href) === undefined ? (
    <span class="address">{label}</span>
  ) : (
    <Link href={href}>
      {label} <span class="address">({texts.pictureNotLoaded})</span>
    </Link>
  )
}

/** Returns the address of a link that may be followed. Undefined for any other, such as `javascript:`. */
function safeAddress(href: string): string | undefined {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href) || !URL.canParse(href)) return undefined
  const { href: address, protocol } = new URL(href)
  return protocol === 'https:' || protocol === 'http:' || protocol === 'mailto:' ? address : undefined
}
