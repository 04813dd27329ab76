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
const knownTags: ReadonlySet<string> = new Set([
  ...['a', 'b', 'strong', 'i', 'em', 'u', 'ins', 's', 'strike', 'del', 'code', 'mark', 'sub', 'sup', 'br', 'input'],
  ...['tg-spoiler', 'tg-reference', 'tg-emoji', 'tg-time', 'tg-math', 'tg-math-block', 'tg-thinking', 'tg-button'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'pre', 'footer', 'hr', 'ul', 'ol', 'li', 'blockquote', 'aside', 'cite'],
  ...['img', 'video', 'audio', 'tg-document', 'figure', 'figcaption', 'tg-map', 'tg-collage', 'tg-slideshow'],
  ...['table', 'caption', 'tr', 'th', 'td', 'details', 'summary', 'tg-button-row'],
])

/** The blocks that its limit counts: https://core.telegram.org/bots/api#rich-message-limits */
const countedBlocks: ReadonlySet<string> = new Set([
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'pre', 'footer', 'hr', 'ul', 'ol', 'li', 'blockquote', 'aside'],
  ...['img', 'video', 'audio', 'tg-document', 'tg-map', 'tg-collage', 'tg-slideshow', 'table', 'tr', 'details'],
  ...['tg-button-row', 'tg-math-block', 'tg-thinking'],
])

const blocks: ReadonlySet<string> = new Set([
  ...countedBlocks,
  ...['figure', 'figcaption', 'caption', 'summary', 'th', 'td'],
])

/** Blocks whose text is a paragraph of its own: measured by others, https://github.com/librefang/librefang/pull/8396 */
const paragraphHolders: ReadonlySet<string> = new Set(['', 'li', 'blockquote', 'details'])

/** White space is kept in these alone: measured by others, https://github.com/openclaw/openclaw/pull/95532 */
const verbatimTags: ReadonlySet<string> = new Set(['pre', 'code', 'tg-math', 'tg-math-block'])

/**
 * Returns the content of a rich message, in order. Only in Markdown do pictures with Telegram's own addresses become
 * emoji and times.
 */
export function readRich(
  source: { readonly markdown: string } | { readonly html: string },
): readonly TelegramRichNode[] {
  const html = 'html' in source ? source.html : markdownReader.parse(source.markdown, { async: false })
  const all = childrenOf(parseFragment(html), false)
  return 'html' in source ? all : all.map(withTelegramImages)
}

/** Returns a node's content. White space between blocks shows nothing, and is left out. */
function childrenOf(parent: DefaultTreeAdapterTypes.ParentNode, isVerbatim: boolean): readonly TelegramRichNode[] {
  const all = parent.childNodes.flatMap((node) => nodesOf(node, isVerbatim))
  const hasBlocks = all.some((node) => typeof node !== 'string' && blocks.has(node.tag))
  return hasBlocks ? all.filter((node) => typeof node !== 'string' || node.trim() !== '') : all
}

/**
 * Returns a node as parts of a message. White space counts as one space, unless `isVerbatim`. An unknown element
 * becomes its content. Comments become nothing.
 */
function nodesOf(node: DefaultTreeAdapterTypes.ChildNode, isVerbatim: boolean): readonly TelegramRichNode[] {
  if (node.nodeName === '#text' && 'value' in node)
    return [isVerbatim ? node.value : node.value.replace(/[ \t\n\f\r]+/g, ' ')]
  if (!('tagName' in node)) return []
  const children = childrenOf(node, isVerbatim || verbatimTags.has(node.tagName))
  if (!knownTags.has(node.tagName)) return children
  const attributes = Object.fromEntries(node.attrs.map(({ name, value }) => [name, value]))
  return [{ tag: node.tagName, attributes, children }]
}

/**
 * Returns the node with each picture that has an address of Telegram's own as the emoji or time it stands for.
 * https://core.telegram.org/bots/api#rich-markdown-style
 */
function withTelegramImages(node: TelegramRichNode): TelegramRichNode {
  if (typeof node === 'string') return node
  const own = node.tag === 'img' ? /^tg:\/\/(emoji|time)\b/.exec(node.attributes.src ?? '')?.[1] : undefined
  if (own !== undefined) return { ...node, tag: `tg-${own}`, children: [node.attributes.alt ?? ''] }
  return { ...node, children: node.children.map(withTelegramImages) }
}

/**
 * Returns an extension of the Markdown lexer. It reads text within a line between two of the same marks, for example
 * `||`, as an element `tag`. A `tg-math` has no content.
 * https://core.telegram.org/bots/api#rich-markdown-style
 */
function betweenMarks(name: string, mark: string, tag: string): TokenizerAndRendererExtension {
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
    betweenMarks('spoiler', '||', 'tg-spoiler'),
    betweenMarks('marked', '==', 'mark'),
    betweenMarks('mathBlock', '$$', 'tg-math-block'),
    betweenMarks('math', '$', 'tg-math'),
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

/** Returns the sizes of a rich message, as Telegram's limits count them. */
export function measureRich(nodes: readonly TelegramRichNode[]): RichMeasure {
  const inner = measureChildren('', nodes)
  return { ...inner, codePoints: [...plainTextOf(nodes)].length }
}

/**
 * Returns the sizes of an element's content, without the element. `tag` is the element's, or empty for the message
 * itself. Text beside blocks counts as a block in `paragraphHolders`.
 */
function measureChildren(tag: string, children: readonly TelegramRichNode[]): Omit<RichMeasure, 'codePoints'> {
  let blockCount = 0
  let depth = 0
  let columns = 0
  let cells = 0
  let isInText = false
  for (const child of children) {
    const isBlock = typeof child !== 'string' && blocks.has(child.tag)
    if (isBlock) isInText = false
    else if (!isInText && paragraphHolders.has(tag) && plainTextOf([child]).trim() !== '') {
      blockCount += 1
      isInText = true
    }
    if (typeof child === 'string') continue
    const inside = measureChildren(child.tag, child.children)
    if (child.tag === 'td' || child.tag === 'th') cells += 1
    blockCount += inside.blocks + (countedBlocks.has(child.tag) ? 1 : 0)
    depth = Math.max(depth, inside.depth + 1)
    columns = Math.max(columns, inside.columns)
  }
  return { blocks: blockCount, depth, columns: Math.max(columns, cells) }
}

/** All text, without what a client adds, such as the marks of lists. */
function plainTextOf(nodes: readonly TelegramRichNode[]): string {
  return nodes.map((node) => (typeof node === 'string' ? node : plainTextOf(node.children))).join('')
}

/**
 * Throws a `Refusal` if a message has too much text, too many blocks or columns, or is nested too deep. Telegram's
 * wording is unknown, except for the length.
 */
export function requireRichLimits(nodes: readonly TelegramRichNode[]): void {
  const { codePoints, blocks: count, columns, depth } = measureRich(nodes)
  if (codePoints > limits.richText) throw badRequest('message is too long')
  if (count > limits.richBlocks) throw badRequest('rich message has too many blocks')
  if (columns > limits.richColumns) throw badRequest('rich message table has too many columns')
  if (depth > limits.richDepth) throw badRequest('rich message is nested too deep')
}

/** The text that a client shows: blocks apart from each other, items and rows on lines. */
export function textOfRich(nodes: readonly TelegramRichNode[]): string {
  return displayedLines(nodes).join('\n').trim()
}

/**
 * Returns the lines that a client shows. Blocks are apart by an empty line, unless `isTight`. Rows and list items
 * never are. Text between blocks is a block of its own.
 */
function displayedLines(nodes: readonly TelegramRichNode[], isTight = false): readonly string[] {
  const lines: string[] = []
  let inline = ''
  /** Adds lines, after an empty one if `isApart` and not `isTight`. Does nothing without lines. */
  const addLines = (more: readonly string[], isApart: boolean): void => {
    if (more.length === 0) return
    if (lines.length > 0 && isApart && !isTight) lines.push('')
    lines.push(...more)
  }
  /** Adds the text collected so far as lines of its own, unless it is blank. */
  const addInline = (): void => {
    if (inline.trim() !== '') addLines(inline.trim().split('\n'), true)
    inline = ''
  }
  for (const node of nodes) {
    if (typeof node === 'string' || !blocks.has(node.tag)) {
      inline += inlineText(node)
      continue
    }
    addInline()
    addLines(blockLines(node), node.tag !== 'tr' && node.tag !== 'li')
  }
  addInline()
  return lines
}

/** Returns the lines of a block: those of its content, with a client's marks for rules, lists and tables. */
function blockLines(node: TelegramRichElement): readonly string[] {
  const { tag, children } = node
  switch (tag) {
    case 'hr':
      return ['———']
    case 'pre':
      return plainTextOf(children).split('\n')
    case 'ul':
    case 'ol':
      return elementsIn(children, 'li').flatMap((item, index) =>
        itemLines(item, tag === 'ol' ? index + firstNumber(node) : undefined),
      )
    case 'table':
      return elementsIn(children, 'tr').map((row) =>
        row.children
          .map((cell) => (typeof cell === 'string' ? '' : displayedLines(cell.children).join(' ')))
          .join(' │ '),
      )
    default:
      return displayedLines(children)
  }
}

/**
 * Returns the lines of a list's item, indented behind the first. That has a bullet if `number` is undefined, else the
 * item's own `value` or the number. A check box replaces the bullet, and follows the number.
 */
function itemLines({ attributes, children }: TelegramRichElement, number: number | undefined): readonly string[] {
  const [first] = children
  const box =
    typeof first === 'object' && first.tag === 'input' ? ('checked' in first.attributes ? '☑' : '☐') : undefined
  const bullet =
    number === undefined ? (box ?? '•') : `${attributes.value ?? number}.${box === undefined ? '' : ` ${box}`}`
  const [line = '', ...more] = displayedLines(box === undefined ? children : children.slice(1), true)
  return [`${bullet} ${line}`.trimEnd(), ...more.map((one) => `  ${one}`)]
}

/** The number of an ordered list's first item. Default 1. */
function firstNumber({ attributes: { start = '1' } }: TelegramRichElement): number {
  return Number(start)
}

/** Returns the elements of that tag, also those inside other elements, but not those inside one of that tag. */
function elementsIn(nodes: readonly TelegramRichNode[], tag: string): readonly TelegramRichElement[] {
  return nodes.flatMap((node) => {
    if (typeof node === 'string') return []
    return node.tag === tag ? [node] : elementsIn(node.children, tag)
  })
}

/** The text of a part within a line. A `br` is a line break. */
function inlineText(node: TelegramRichNode): string {
  if (typeof node === 'string') return node
  return node.tag === 'br' ? '\n' : node.children.map(inlineText).join('')
}

/** All elements, outermost first. */
export function elementsOf(nodes: readonly TelegramRichNode[]): readonly TelegramRichElement[] {
  return nodes.flatMap((node) => (typeof node === 'string' ? [] : [node, ...elementsOf(node.children)]))
}

/**
 * The addresses of media that Telegram loads over HTTP to show the message.
 * https://core.telegram.org/bots/api#rich-messages
 */
export function loadedUrls(nodes: readonly TelegramRichNode[]): readonly string[] {
  return elementsOf(nodes).flatMap(({ tag, attributes: { src } }) =>
    /^(?:img|video|audio|tg-document)$/.test(tag) && src !== undefined && /^https?:/i.test(src) ? [src] : [],
  )
}

/** The ids of the people that links and buttons lead to, each time. None for other addresses. */
export function mentionedIds(nodes: readonly TelegramRichNode[]): readonly number[] {
  return elementsOf(nodes).flatMap(({ tag, attributes: { href, url } }) => {
    const person = /^tg:\/\/user\?id=(\d+)$/i.exec(
      (tag === 'a' ? href : tag === 'tg-button' ? url : undefined) ?? '',
    )?.[1]
    return person === undefined ? [] : [Number(person)]
  })
}

/**
 * Returns the text in which Telegram finds names and commands: with a line break in place of code, and around blocks.
 */
export function searchedRichText(nodes: readonly TelegramRichNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node
      if (verbatimTags.has(node.tag)) return '\n'
      return node.tag === 'br' || blocks.has(node.tag)
        ? `\n${searchedRichText(node.children)}\n`
        : searchedRichText(node.children)
    })
    .join('')
}
