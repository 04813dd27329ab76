import { openFence } from './fence.ts'
import { lex } from './lex.ts'

/** A fenced block of code outside of lists and quotes. */
export interface CodeBlock {
  /** Where its first fence begins and its last one ends, in UTF-16 units, without the line feed after it. */
  readonly start: number
  readonly end: number
  /** The first line: the fence and the language. */
  readonly opening: string
  /** The fence that closes it. */
  readonly marker: string
  /** The first word after the fence. May be empty. */
  readonly language: string
  /** The text between the fences, without the last line feed. */
  readonly code: string
  /** Without a closing fence, the block reaches to the end of the text. */
  readonly isClosed: boolean
}

/**
 * Returns the code blocks of a text, as its rendering shows them. Empty for a text with carriage returns, because
 * marked replaces those.
 */
export function codeBlocksIn(source: string): readonly CodeBlock[] {
  if (!/^ {0,3}(?:`{3}|~{3})/m.test(source) || source.includes('\r')) return []
  const blocks: CodeBlock[] = []
  let start = 0
  for (const token of lex(source)) {
    const end = start + token.raw.length
    if (token.type === 'code' && token.codeBlockStyle !== 'indented' && source.slice(start, end) === token.raw) {
      const raw = token.raw.trimEnd()
      const opening = raw.split('\n', 1)[0] ?? ''
      const marker = /`{3,}|~{3,}/.exec(opening)?.[0] ?? '```'
      const [language = ''] = (token.lang ?? '').trim().split(/\s/)
      const isClosed = openFence(token) === undefined
      blocks.push({
        start,
        end: isClosed ? start + raw.length : end,
        opening,
        marker,
        language,
        code: token.text,
        isClosed,
      })
    }
    start = end
  }
  return blocks
}
