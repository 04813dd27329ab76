import { Marked, type TokenizerAndRendererExtension } from 'marked'
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5'
import { limits } from './limits.ts'
import { badRequest } from './refusal.ts'

// Telegram reads rich messages on its servers, whose code is not public. Each rule names the page that documents it, or
// was measured by others. For anything else, the fake reads as the HTML standard does, because that finds the most in a
// text.

/** A part of a rich message: text, or an element under the name of its tag. */
export type TelegramRichNode = string | TelegramRichElement

/** An element of a rich message. */
export interface TelegramRichElement {
  /** Its HTML tag, in lower case. */
  readonly tag: string
  /** Its attributes, by name. */
  readonly attributes: Readonly<Record<string, string>>
  /** Its content, in order. */
  readonly children: readonly TelegramRichNode[]
}

/** https://core.telegram.org/bots/api#rich-html-style. Other tags are dropped, and their content stays. */
const known: ReadonlySet<string> = new Set([
  ...['a', 'b', 'strong', 'i', 'em', 'u', 'ins', 's', 'strike', 'del', 'code', 'mark', 'sub', 'sup', 'br', 'input'],
  ...['tg-spoiler', 'tg-reference', 'tg-emoji', 'tg-time', 'tg-math', 'tg-math-block', 'tg-thinking', 'tg-button'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'pre', 'footer', 'hr', 'ul', 'ol', 'li', 'blockquote', 'aside', 'cite'],
  ...['img', 'video', 'audio', 'tg-document', 'figure', 'figcaption', 'tg-map', 'tg-collage', 'tg-slideshow'],
  ...['table', 'caption', 'tr', 'th', 'td', 'details', 'summary', 'tg-button-row'],
])

/** The blocks that its limit counts: https://core.telegram.org/bots/api#rich-message-limits */
const counted: ReadonlySet<string> = new Set([
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'pre', 'footer', 'hr', 'ul', 'ol', 'li', 'blockquote', 'aside'],
  ...['img', 'video', 'audio', 'tg-document', 'tg-map', 'tg-collage', 'tg-slideshow', 'table', 'tr', 'details'],
  ...['tg-button-row', 'tg-math-block', 'tg-thinking'],
])

const blocks: ReadonlySet<string> = new Set([...counted, 'figure', 'figcaption', 'caption', 'summary', 'th', 'td'])

/** Blocks whose text is a paragraph of its own: measured by others, https://github.com/librefang/librefang/pull/8396 */
const holders: ReadonlySet<string> = new Set(['', 'li', 'blockquote', 'details'])

/** White space is kept in these alone: measured by others, https://github.com/openclaw/openclaw/pull/95532 */
const verbatim: ReadonlySet<string> = new Set(['pre', 'code', 'tg-math', 'tg-math-block'])

/** The content of a rich message. */
export function readRich(
  source: { readonly markdown: string } | { readonly html: string },
): readonly TelegramRichNode[] {
  const html = 'html' in source ? source.html : markdownReader.parse(source.markdown, { async: false })
  const all = childrenOf(parseFragment(html), false)
  return 'html' in source ? all : all.map(withOwn)
}

/** White space beside blocks shows nothing. */
function childrenOf(parent: DefaultTreeAdapterTypes.ParentNode, isVerbatim: boolean): readonly TelegramRichNode[] {
  const all = parent.childNodes.flatMap((node) => nodesOf(node, isVerbatim))
  const hasBlocks = all.some((node) => typeof node !== 'string' && blocks.has(node.tag))
  return hasBlocks ? all.filter((node) => typeof node !== 'string' || node.trim() !== '') : all
}

function nodesOf(node: DefaultTreeAdapterTypes.ChildNode, isVerbatim: boolean): readonly TelegramRichNode[] {
  if (node.nodeName === '#text' && 'value' in node)
    return [isVerbatim ? node.value : node.value.replace(/[ \t\n\f\r]+/g, ' ')]
  if (!('tagName' in node)) return []
  const children = childrenOf(node, isVerbatim || verbatim.has(node.tagName))
  if (!known.has(node.tagName)) return children
  const attributes = Object.fromEntries(node.attrs.map(({ name, value }) => [name, value]))
  return [{ tag: node.tagName, attributes, children }]
}

/** Markdown's pictures with Telegram's own addresses. https://core.telegram.org/bots/api#rich-markdown-style */
function withOwn(node: TelegramRichNode): TelegramRichNode {
  if (typeof node === 'string') return node
  const own = node.tag === 'img' ? /^tg:\/\/(emoji|time)\b/.exec(node.attributes.src ?? '')?.[1] : undefined
  if (own !== undefined) return { ...node, tag: `tg-${own}`, children: [node.attributes.alt ?? ''] }
  return { ...node, children: node.children.map(withOwn) }
}

/** Between the same marks: https://core.telegram.org/bots/api#rich-markdown-style */
function between(name: string, mark: string, tag: string): TokenizerAndRendererExtension {
  const quoted = mark.replace(/[$|]/g, '\\$&')
  const pattern = new RegExp(`^${quoted}(?=\\S)([^\\n]*?\\S)${quoted}`)
  return {
    name,
    level: 'inline',
    start: (source) => source.indexOf(mark),
    tokenizer(source) {
      const [raw, text] = pattern.exec(source) ?? []
      if (raw === undefined || text === undefined) return undefined
      return { type: name, raw, tokens: tag === 'tg-math' ? [] : this.lexer.inlineTokens(text), text }
    },
    renderer(token) {
      return `<${tag}>${token.tokens?.length ? this.parser.parseInline(token.tokens) : ''}</${tag}>`
    },
  }
}

/** GitHub's Markdown, "and can contain arbitrary HTML": https://core.telegram.org/bots/api#rich-markdown-style */
const markdownReader = new Marked({
  gfm: true,
  extensions: [
    between('spoiler', '||', 'tg-spoiler'),
    between('marked', '==', 'mark'),
    between('mathBlock', '$$', 'tg-math-block'),
    between('math', '$', 'tg-math'),
  ],
})

/** The sizes of a rich message that its limits apply to. */
interface RichMeasure {
  readonly codePoints: number
  readonly blocks: number
  /** Elements in each other. */
  readonly depth: number
  /** Columns of its widest table. */
  readonly columns: number
}

export function measureRich(nodes: readonly TelegramRichNode[]): RichMeasure {
  const inner = measureIn('', nodes)
  return { ...inner, codePoints: [...lettersOf(nodes)].length }
}

function measureIn(tag: string, children: readonly TelegramRichNode[]): Omit<RichMeasure, 'codePoints'> {
  let own = 0
  let depth = 0
  let columns = 0
  let cells = 0
  let isInText = false
  for (const child of children) {
    const isBlock = typeof child !== 'string' && blocks.has(child.tag)
    if (isBlock) isInText = false
    else if (!isInText && holders.has(tag) && lettersOf([child]).trim() !== '') {
      own += 1
      isInText = true
    }
    if (typeof child === 'string') continue
    const inside = measureIn(child.tag, child.children)
    if (child.tag === 'td' || child.tag === 'th') cells += 1
    own += inside.blocks + (counted.has(child.tag) ? 1 : 0)
    depth = Math.max(depth, inside.depth + 1)
    columns = Math.max(columns, inside.columns)
  }
  return { blocks: own, depth, columns: Math.max(columns, cells) }
}

/** All text, without what a client adds, such as the marks of lists. */
function lettersOf(nodes: readonly TelegramRichNode[]): string {
  return nodes.map((node) => (typeof node === 'string' ? node : lettersOf(node.children))).join('')
}

/** Refuses what is too large. Telegram's wording is unknown, except for the length. */
export function checkRich(nodes: readonly TelegramRichNode[]): void {
  const { codePoints, blocks: count, columns, depth } = measureRich(nodes)
  if (codePoints > limits.richText) throw badRequest('message is too long')
  if (count > limits.richBlocks) throw badRequest('rich message has too many blocks')
  if (columns > limits.richColumns) throw badRequest('rich message table has too many columns')
  if (depth > limits.richDepth) throw badRequest('rich message is nested too deep')
}

/** The text that a client shows: blocks apart from each other, items and rows on lines. */
export function textOfRich(nodes: readonly TelegramRichNode[]): string {
  return linesOf(nodes).join('\n').trim()
}

function linesOf(nodes: readonly TelegramRichNode[], isTight = false): readonly string[] {
  const lines: string[] = []
  let run = ''
  const add = (more: readonly string[], isApart: boolean): void => {
    if (more.length === 0) return
    if (lines.length > 0 && isApart && !isTight) lines.push('')
    lines.push(...more)
  }
  const flush = (): void => {
    if (run.trim() !== '') add(run.trim().split('\n'), true)
    run = ''
  }
  for (const node of nodes) {
    if (typeof node === 'string' || !blocks.has(node.tag)) {
      run += inlineOf(node)
      continue
    }
    flush()
    add(blockOf(node), node.tag !== 'tr' && node.tag !== 'li')
  }
  flush()
  return lines
}

function blockOf(node: TelegramRichElement): readonly string[] {
  const { tag, children } = node
  switch (tag) {
    case 'hr':
      return ['———']
    case 'pre':
      return lettersOf(children).split('\n')
    case 'ul':
    case 'ol':
      return elementsIn(children, 'li').flatMap((item, index) =>
        itemOf(item, tag === 'ol' ? index + startOf(node) : undefined),
      )
    case 'table':
      return elementsIn(children, 'tr').map((row) =>
        row.children.map((cell) => (typeof cell === 'string' ? '' : linesOf(cell.children).join(' '))).join(' │ '),
      )
    default:
      return linesOf(children)
  }
}

function itemOf({ attributes, children }: TelegramRichElement, number: number | undefined): readonly string[] {
  const [first] = children
  const box =
    typeof first === 'object' && first.tag === 'input' ? ('checked' in first.attributes ? '☑' : '☐') : undefined
  const bullet =
    number === undefined ? (box ?? '•') : `${attributes.value ?? number}.${box === undefined ? '' : ` ${box}`}`
  const [line = '', ...more] = linesOf(box === undefined ? children : children.slice(1), true)
  return [`${bullet} ${line}`.trimEnd(), ...more.map((one) => `  ${one}`)]
}

function startOf({ attributes: { start = '1' } }: TelegramRichElement): number {
  return Number(start)
}

/** Elements of that tag, also in elements without a block of their own. */
function elementsIn(nodes: readonly TelegramRichNode[], tag: string): readonly TelegramRichElement[] {
  return nodes.flatMap((node) => {
    if (typeof node === 'string') return []
    return node.tag === tag ? [node] : elementsIn(node.children, tag)
  })
}

function inlineOf(node: TelegramRichNode): string {
  if (typeof node === 'string') return node
  return node.tag === 'br' ? '\n' : node.children.map(inlineOf).join('')
}

/** All elements, outermost first. */
export function elementsOf(nodes: readonly TelegramRichNode[]): readonly TelegramRichElement[] {
  return nodes.flatMap((node) => (typeof node === 'string' ? [] : [node, ...elementsOf(node.children)]))
}

/**
 * The media at HTTP addresses that Telegram loads to show the message. https://core.telegram.org/bots/api#rich-messages
 */
export function loadedBy(nodes: readonly TelegramRichNode[]): readonly string[] {
  return elementsOf(nodes).flatMap(({ tag, attributes: { src } }) =>
    /^(?:img|video|audio|tg-document)$/.test(tag) && src !== undefined && /^https?:/i.test(src) ? [src] : [],
  )
}

/** The people that it links to by id. */
export function mentionedBy(nodes: readonly TelegramRichNode[]): readonly number[] {
  return elementsOf(nodes).flatMap(({ tag, attributes: { href, url } }) => {
    const person = /^tg:\/\/user\?id=(\d+)$/i.exec(
      (tag === 'a' ? href : tag === 'tg-button' ? url : undefined) ?? '',
    )?.[1]
    return person === undefined ? [] : [Number(person)]
  })
}

/** Its text outside of code, in which Telegram finds names and commands. */
export function searchedIn(nodes: readonly TelegramRichNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node
      if (verbatim.has(node.tag)) return '\n'
      return node.tag === 'br' || blocks.has(node.tag) ? `\n${searchedIn(node.children)}\n` : searchedIn(node.children)
    })
    .join('')
}
