/** What a stretch of text is, before it is written as Discord's client will read it. */
export type Kind =
  | 'strong'
  | 'em'
  | 'del'
  | 'codespan'
  /** Its attribute is the language. */
  | 'code'
  /** The depth. */
  | 'heading'
  /** Where it goes. */
  | 'link'
  | 'quote'
  | 'small'
  /** Written as its attribute says, and read as what is inside. */
  | 'raw'
  | 'group'

export type Node = string | Element

export interface Element {
  readonly kind: Kind
  readonly attribute: string
  readonly nodes: readonly Node[]
}

/** Letters that texts have none of: of what is private to whoever uses it. */
const [open, inside, close] = ['\ue000', '\ue001', '\ue002']
const ours = /[\ue000-\ue002]/g

/** Marks a text that may be marked inside, so that a dialect can hand it on as a text. */
export function mark(kind: Kind, content: string, attribute = ''): string {
  return `${open}${kind} ${clean(attribute)}${inside}${content}${close}`
}

/** A text of the outside, in which nothing is marked. */
export function clean(text: string): string {
  return text.replace(ours, '\ufffd')
}

/** The same, marked as something else wherever it was that. */
export function remark(content: string, from: Kind, to: Kind): string {
  return content.replaceAll(`${open}${from} `, `${open}${to} `)
}

const groups = new RegExp(`^(?:${open}group ${inside})*`)

/** The text of an element that stands first, in its stead, also if it is the first in groups. */
export function unmarkFirst(content: string, kind: Kind): string {
  const lead = groups.exec(content)?.[0] ?? ''
  const first = content.slice(lead.length)
  if (!first.startsWith(`${open}${kind} `)) return content
  const [start, end] = [first.indexOf(inside), first.indexOf(close)]
  return lead + first.slice(start + 1, end) + first.slice(end + 1)
}

/** What was marked, as a tree. */
export function nodesOf(marked: string): readonly Node[] {
  const root: Node[] = []
  const above: Node[][] = []
  let nodes = root
  for (const [, kind, attribute = '', text] of marked.matchAll(token)) {
    if (text !== undefined) nodes.push(text)
    else if (kind === undefined) nodes = above.pop() ?? root
    else {
      const own: Node[] = []
      if (isKind(kind)) nodes.push({ kind, attribute, nodes: own })
      above.push(nodes)
      nodes = own
    }
  }
  return root
}

const token = new RegExp(`${open}(\\w+) ([^${inside}]*)${inside}|${close}|([^${open}${inside}${close}]+)`, 'g')

const kinds: Readonly<Record<Kind, true>> = {
  strong: true,
  em: true,
  del: true,
  codespan: true,
  code: true,
  heading: true,
  link: true,
  quote: true,
  small: true,
  raw: true,
  group: true,
}

function isKind(kind: string): kind is Kind {
  return kind in kinds
}
