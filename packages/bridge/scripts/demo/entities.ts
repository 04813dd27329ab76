import { element, link, type Markup } from './view.ts'

/** A range of a text with a format, in UTF-16 units. Telegram's and WhatsApp's fakes have these. */
export interface Entity {
  readonly type: string
  readonly offset: number
  readonly length: number
  readonly url?: string
  readonly language?: string
}

/**
 * Returns a text with its formats as elements. Ranges that overlap without nesting are cut at the outer one's end. Empty for an
 * empty text.
 */
export function readEntities(text: string, entities: readonly Entity[]): readonly Markup[] {
  const ordered = entities.toSorted((one, other) => one.offset - other.offset || other.length - one.length)
  return text === '' ? [] : [element('lines', within(text, 0, text.length, ordered))]
}

/** Block elements, which start and end lines. The line breaks around them are omitted. */
const blocks: ReadonlySet<string> = new Set(['pre', 'blockquote', 'expandable_blockquote', 'quote'])

/**
 * Returns a part of a text as elements. The entities are ordered by their start, the longer first. Ignores those that start
 * outside the part, or within one before them.
 */
function within(text: string, from: number, to: number, entities: readonly Entity[]): readonly Markup[] {
  const found: Markup[] = []
  let at = from
  for (const [index, entity] of entities.entries()) {
    if (entity.offset < at || entity.offset >= to) continue
    const end = Math.min(to, entity.offset + entity.length)
    const isBlock = blocks.has(entity.type)
    const before = text.slice(at, entity.offset)
    if (before !== '') found.push(isBlock ? before.replace(/\n$/, '') : before)
    found.push(formatted(entity, within(text, entity.offset, end, entities.slice(index + 1))))
    at = isBlock && text[end] === '\n' ? Math.min(to, end + 1) : end
  }
  if (at < to) found.push(text.slice(at, to))
  return found
}

/** Returns the element of a format. An unknown format is shown as a mention, and an unsafe link too. */
function formatted({ type, url = '', language }: Entity, children: readonly Markup[]): Markup {
  switch (type) {
    case 'bold':
      return element('strong', children)
    case 'italic':
      return element('em', children)
    case 'underline':
      return element('u', children)
    case 'strikethrough':
      return element('del', children)
    case 'spoiler':
      return element('spoiler', children)
    case 'code':
      return element('code', children)
    case 'pre':
      return element('pre', children, language === undefined ? {} : { language })
    case 'blockquote':
    case 'expandable_blockquote':
    case 'quote':
      return element('blockquote', children)
    case 'text_link':
      return link(url, children)
    default:
      return element('mention', children)
  }
}
