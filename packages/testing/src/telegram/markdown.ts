import { byteOffset, type Formatted, type TelegramEntity, unparsable } from './formatted.ts'

const reserved = '_*[]()~`>#+-=|{}.!'

/** Longest first: "__" is not two "_". */
const marks: readonly (readonly [mark: string, type: string, name: string])[] = [
  ['```', 'pre', 'Pre'],
  ['__', 'underline', 'Underline'],
  ['||', 'spoiler', 'Spoiler'],
  ['*', 'bold', 'Bold'],
  ['_', 'italic', 'Italic'],
  ['~', 'strikethrough', 'Strikethrough'],
  ['`', 'code', 'Code'],
]

interface Open {
  readonly mark: string
  readonly type: string
  readonly name: string
  readonly offset: number
  readonly at: number
  readonly language?: string
}

/**
 * Reads Telegram's MarkdownV2, in which every mark without meaning must be escaped. Doesn't support expandable
 * quotations and custom emoji. Throws a `Refusal` for a mark that isn't escaped or closed.
 */
export function parseMarkdown(source: string): Formatted {
  const open: Open[] = []
  const entities: TelegramEntity[] = []
  let text = ''
  let quoteFrom: number | undefined
  let at = 0
  while (at < source.length) at = readElement(at)
  endQuote()
  const left = open.at(-1)
  if (left) throw unparsable(`Can't find end of ${left.name} entity at byte offset ${byteOffset(source, left.at)}`)
  return { text, entities }

  /**
   * Reads one element, and returns where the next one begins. Throws a `Refusal` for a mark that isn't escaped, or a
   * link without an end.
   */
  function readElement(start: number): number {
    const char = source[start] ?? ''
    const next = source[start + 1]
    const top = open.at(-1)
    const isRaw = top?.type === 'code' || top?.type === 'pre'
    if (char === '\\' && next !== undefined && next.charCodeAt(0) < 127) return addChar(next, start + 2)
    if (isRaw) return top && source.startsWith(top.mark, start) ? closeMark(top, start) : addChar(char, start + 1)
    if (isLineStart(start) && char === '>') return startQuote(start)
    if (char === '\n' && next !== '>') endQuote()
    if (!reserved.includes(char)) return addChar(char, start + 1)
    if (char === ']' && top?.mark === '[') return closeLink(top, start)
    const own = top && source.startsWith(top.mark, start) && !(top.mark === '_' && next === '_') ? top : undefined
    if (own) return closeMark(own, start)
    if (char === '[') return openMark(['[', 'text_link', 'TextUrl'], start)
    const mark = marks.find(([each]) => source.startsWith(each, start))
    if (mark) return openMark(mark, start)
    throw unparsable(`Character '${char}' is reserved and must be escaped with the preceding '\\'`)
  }

  /** Adds a character that is displayed, and returns `next`. */
  function addChar(char: string, next: number): number {
    text += char
    return next
  }

  /**
   * Opens an entity, and returns where its content begins. The mark of a code block includes its language and the
   * line break behind it.
   */
  function openMark([mark, type, name]: readonly [string, string, string], start: number): number {
    const opened = { mark, type, name, offset: text.length, at: start }
    const language = type === 'pre' ? /^```([\w+#-]*)\n/.exec(source.slice(start, start + 80)) : undefined
    open.push(language?.[1] ? { ...opened, language: language[1] } : opened)
    return start + (language?.[0].length ?? mark.length)
  }

  /** Closes the entity that was opened last, and adds it unless it is empty. Returns where the next element begins. */
  function closeMark({ type, offset, mark, language }: Open, start: number): number {
    open.pop()
    const length = text.length - offset
    if (length > 0) entities.push({ type, offset, length, ...(language === undefined ? {} : { language }) })
    return start + mark.length
  }

  /**
   * Closes the link, and adds it unless it has no text or no address. Returns where the next element begins. Throws a
   * `Refusal` for an address without an end.
   */
  function closeLink({ offset }: Open, start: number): number {
    open.pop()
    const length = text.length - offset
    const address = /^\]\(((?:\\.|[^)\\])*)\)/.exec(source.slice(start))
    if (!address && source[start + 1] === '(')
      throw unparsable(`Can't find end of a URL at byte offset ${byteOffset(source, start + 1)}`)
    const url = (address?.[1] ?? '').replaceAll(/\\(.)/g, '$1')
    if (length > 0 && url !== '') entities.push({ type: 'text_link', offset, length, url })
    return start + (address?.[0].length ?? 1)
  }

  function isLineStart(start: number): boolean {
    return start === 0 || source[start - 1] === '\n'
  }

  /** Begins a quote, or continues the one of the line before. Returns where its text begins. */
  function startQuote(start: number): number {
    quoteFrom ??= text.length
    return start + 1
  }

  /** Adds the entity of the quote that is open, unless it is empty. Does nothing if none is open. */
  function endQuote(): void {
    if (quoteFrom !== undefined && text.length > quoteFrom)
      entities.push({ type: 'blockquote', offset: quoteFrom, length: text.length - quoteFrom })
    quoteFrom = undefined
  }
}
