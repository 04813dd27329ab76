import type { TelegramRichElement, TelegramRichNode } from '@reply/testing/telegram'
import { element, link, type Markup, type MarkupTag } from './view.ts'

/** Returns the content of a rich message of Telegram's fake as elements of the page. */
export function readRich(nodes: readonly TelegramRichNode[]): readonly Markup[] {
  return nodes.map((node) => (typeof node === 'string' ? node : markupOf(node)))
}

const tags: Readonly<Record<string, MarkupTag>> = {
  ...{ p: 'p', h1: 'h1', h2: 'h2', h3: 'h3', h4: 'h4', h5: 'h5', h6: 'h6', ul: 'ul', blockquote: 'blockquote' },
  ...{
    b: 'strong',
    strong: 'strong',
    i: 'em',
    em: 'em',
    s: 'del',
    del: 'del',
    u: 'u',
    code: 'code',
    br: 'br',
    hr: 'hr',
  },
  ...{ tr: 'tr', 'tg-spoiler': 'spoiler' },
}

/** Returns the element of a node. An unknown tag is shown as a mention. */
function markupOf({ tag, attributes, children }: TelegramRichElement): Markup {
  const inner = readRich(children)
  switch (tag) {
    case 'a':
      return link(attributes.href ?? '', inner)
    case 'ol':
      return element('ol', inner, startOf(children))
    case 'li':
      return element('li', inner)
    case 'input':
      return element('check', [], { isChecked: 'checked' in attributes })
    case 'pre':
      return codeOf(children)
    case 'table':
      return element('table', [element('tbody', inner)])
    case 'th':
    case 'td': {
      const { align } = attributes
      return element(tag, inner, align === 'center' || align === 'right' || align === 'left' ? { align } : {})
    }
    default:
      return element(tags[tag] ?? 'mention', inner)
  }
}

/** Returns the number of an ordered list's first item. Empty if it has none. */
function startOf(items: readonly TelegramRichNode[]): { readonly start?: number } {
  const [first] = items
  const value = typeof first === 'object' ? Number(first.attributes.value) : Number.NaN
  return Number.isInteger(value) ? { start: value } : {}
}

/** Returns a code block, with the language if its code has one. */
function codeOf(children: readonly TelegramRichNode[]): Markup {
  const [code] = children
  if (typeof code !== 'object' || code.tag !== 'code') return element('pre', readRich(children))
  const language = /^language-(.+)$/.exec(code.attributes.class ?? '')?.[1]
  return element('pre', readRich(code.children), language === undefined ? {} : { language })
}
