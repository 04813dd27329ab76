import { byteOffset, type Formatted, type TelegramEntity, unparsable } from './formatted.ts'

const types: Readonly<Record<string, string>> = {
  b: 'bold',
  strong: 'bold',
  i: 'italic',
  em: 'italic',
  u: 'underline',
  ins: 'underline',
  s: 'strikethrough',
  strike: 'strikethrough',
  del: 'strikethrough',
  code: 'code',
  pre: 'pre',
  a: 'text_link',
  blockquote: 'blockquote',
  'tg-spoiler': 'spoiler',
  span: 'spoiler',
}

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }

interface Open {
  readonly name: string
  readonly offset: number
  readonly attributes: ReadonlyMap<string, string>
}

const tag = /<(\/?)([^\s>]*)((?:[^>"']|"[^"]*"|'[^']*')*)(>?)/y
const reference = /&(?:#x([0-9a-f]+)|#(\d+)|(lt|gt|amp|quot));?/iy
const attribute = /([^\s=>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([\w.-]*)))?/g

/**
 * Reads Telegram's HTML, which has few tags and no comments. Throws a `Refusal` for a "<" that starts no known tag,
 * and for tags that aren't closed in order.
 */
export function parseHtml(source: string): Formatted {
  const open: Open[] = []
  const entities: TelegramEntity[] = []
  let text = ''
  let at = 0
  while (at < source.length) {
    if (source[at] === '<') at = readTag(at)
    else if (source[at] === '&') at = readReference(at)
    else {
      text += source[at]
      at += 1
    }
  }
  const left = open.at(-1)
  if (left) throw unparsable(`Can't find end tag corresponding to start tag "${left.name}"`)
  return { text, entities }

  /**
   * Adds the character of a reference, or its source if it names no character. Returns where the next element begins.
   */
  function readReference(startIndex: number): number {
    reference.lastIndex = startIndex
    const found = reference.exec(source)
    const [all = '&', hex, decimal, name = ''] = found ?? []
    const point = hex ? Number.parseInt(hex, 16) : Number(decimal ?? 0)
    if (point > 0x10ffff) text += all
    else text += point > 0 ? String.fromCodePoint(point) : (named[name.toLowerCase()] ?? all)
    return startIndex + all.length
  }

  /**
   * Opens or closes an entity. Returns where the next element begins. Throws a `Refusal` for an unknown or unclosed
   * tag, for an end that closes another tag or none, and for a `span` that isn't a spoiler.
   */
  function readTag(startIndex: number): number {
    tag.lastIndex = startIndex
    const [all = '<', slash, raw = '', rest = '', end] = tag.exec(source) ?? []
    const name = raw.toLowerCase()
    const atOffset = `at byte offset ${byteOffset(source, startIndex)}`
    if (slash === '/') {
      if (end !== '>') throw unparsable(`Unclosed end tag ${atOffset}`)
      closeTag(name, atOffset)
      return startIndex + all.length
    }
    // Telegram checks the name as soon as it has ended, and the end of the tag only then.
    if (end !== '>' && rest === '') throw unparsable(`Unclosed start tag ${atOffset}`)
    if (types[name] === undefined) throw unparsable(`Unsupported start tag "${name}" ${atOffset}`)
    if (end !== '>') throw unparsable(`Unclosed start tag "${name}" ${atOffset}`)
    const attributes = parseAttributes(rest)
    if (name === 'span' && attributes.get('class') !== 'tg-spoiler')
      throw unparsable(`Tag "span" must have class "tg-spoiler" ${atOffset}`)
    open.push({ name, offset: text.length, attributes })
    return startIndex + all.length
  }

  /**
   * Adds the entity of the tag that was opened last. Adds none if it is empty, if it is a link without a working URL,
   * or if the code inside it has added the same. Throws a `Refusal` for another tag, or if none is open. `</>` closes
   * any.
   */
  function closeTag(name: string, atOffset: string): void {
    const last = open.pop()
    if (!last) throw unparsable(`Unexpected end tag ${atOffset}`)
    if (name !== '' && name !== last.name)
      throw unparsable(`Unmatched end tag ${atOffset}, expected "</${last.name}>", found "</${name}>"`)
    const length = text.length - last.offset
    if (length === 0) return
    const language = last.name === 'code' ? last.attributes.get('class')?.match(/^language-(.+)$/)?.[1] : undefined
    if (language !== undefined && open.at(-1)?.name === 'pre') {
      entities.push({ type: 'pre', offset: last.offset, length, language })
      return
    }
    // The code inside has already added the entity, with the language.
    const hasEntity = entities.some(({ type, offset }) => type === 'pre' && offset === last.offset)
    if (last.name === 'pre' && hasEntity) return
    const url = last.name === 'a' ? (last.attributes.get('href') ?? text.slice(last.offset)) : undefined
    if (url !== undefined && !/^(https?|tg|tel|mailto):|^[\w-]+(\.[\w-]+)+/i.test(url)) return
    // https://core.telegram.org/bots/api#html-style
    const person = /^tg:\/\/user\?id=(\d+)$/.exec(url ?? '')?.[1]
    if (person !== undefined) {
      entities.push({ type: 'text_mention', offset: last.offset, length, userId: Number(person) })
      return
    }
    const type = last.attributes.has('expandable') ? 'expandable_blockquote' : (types[last.name] ?? last.name)
    entities.push({ type, offset: last.offset, length, ...(url === undefined ? {} : { url }) })
  }
}

/** The attributes by name, in lower case. Empty for one without a value. */
function parseAttributes(source: string): ReadonlyMap<string, string> {
  const found = [...source.matchAll(attribute)]
  return new Map(
    found.map(([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      decodeReferences(double ?? single ?? bare ?? ''),
    ]),
  )
}

/** Decodes Telegram's named references. Others stay as they are. */
function decodeReferences(value: string): string {
  return value.replace(/&(lt|gt|amp|quot);/g, (_, name: string) => named[name] ?? '')
}
