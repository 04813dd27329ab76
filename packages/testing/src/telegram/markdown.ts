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
  let quoteOffset: number | undefined
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
  function readElement(startIndex: number): number {
    const char = source[startIndex] ?? ''
    const next = source[startIndex + 1]
    const top = open.at(-1)
    const isRaw = top?.type === 'code' || top?.type === 'pre'
    if (char === '\\' && next !== undefined && next.charCodeAt(0) < 127) return addChar(next, startIndex + 2)
    if (isRaw)
      return top && source.startsWith(top.mark, startIndex) ? closeMark(top, startIndex) : addChar(char, startIndex + 1)
    if (isLineStart(startIndex) && char === '>') return startQuote(startIndex)
    if (char === '\n' && next !== '>') endQuote()
    if (!reserved.includes(char)) return addChar(char, startIndex + 1)
    if (char === ']' && top?.mark === '[') return closeLink(top, startIndex)
    const own = top && source.startsWith(top.mark, startIndex) && !(top.mark === '_' && next === '_') ? top : undefined
    if (own) return closeMark(own, startIndex)
    if (char === '[') return openMark(['[', 'text_link', 'TextUrl'], startIndex)
    const mark = marks.find(([each]) => source.startsWith(each, startIndex))
    if (mark) return openMark(mark, startIndex)
    throw unparsable(`Character '${char}' is reserved and must be escaped with the preceding '\\'`)
  }

  /** Adds a character that is displayed, and returns `nextIndex`. */
  function addChar(char: string, nextIndex: number): number {
    text += char
    return nextIndex
  }

  /**
   * Opens an entity, and returns where its content begins. The mark of a code block includes its language and the
   * line break behind it.
   */
  function openMark([mark, type, name]: readonly [string, string, string], startIndex: number): number {
    const opened = { mark, type, name, offset: text.length, at: startIndex }
    const language = type === 'pre' ? /^```([\w+#-]*)\n/.exec(source.slice(startIndex, startIndex + 80)) : undefined
    open.push(language?.[1] ? { ...opened, language: language[1] } : opened)
    return startIndex + (language?.[0].length ?? mark.length)
  }

  /** Closes the entity that was opened last, and adds it unless it is empty. Returns where the next element begins. */
  function closeMark({ type, offset, mark, language }: Open, startIndex: number): number {
    open.pop()
    const length = text.length - offset
    if (length > 0) entities.push({ type, offset, length, ...(language === undefined ? {} : { language }) })
    return startIndex + mark.length
  }

  /**
   * Closes the link, and adds it unless it has no text or no address. Returns where the next element begins. Throws a
   * `Refusal` for an address without an end.
   */
  function closeLink({ offset }: Open, startIndex: number): number {
    open.pop()
    const length = text.length - offset
    const address = /^\]\(((?:\\.|[^)\\])*)\)/.exec(source.slice(startIndex))
    if (!address && source[startIndex + 1] === '(')
      throw unparsable(`Can't find end of a URL at byte offset ${byteOffset(source, startIndex + 1)}`)
    const url = (address?.[1] ?? '').replaceAll(/\\(.)/g, '$1')
    if (length > 0 && url !== '') entities.push({ type: 'text_link', offset, length, url })
    return startIndex + (address?.[0].length ?? 1)
  }

  function isLineStart(startIndex: number): boolean {
    return startIndex === 0 || source[startIndex - 1] === '\n'
  }

  /** Begins a quote, or continues the one of the line before. Returns where its text begins. */
  function startQuote(startIndex: number): number {
    quoteOffset ??= text.length
    return startIndex + 1
  }

  /** Adds the entity of the quote that is open, unless it is empty. Does nothing if none is open. */
  function endQuote(): void {
    if (quoteOffset !== undefined && text.length > quoteOffset)
      entities.push({ type: 'blockquote', offset: quoteOffset, length: text.length - quoteOffset })
    quoteOffset = undefined
  }
}
