import type { Token } from './lexer/token.ts'

export interface Fence {
  /** The marker that closes it. */
  readonly marker: string
  /** Its first line, trimmed. */
  readonly opening: string
}

/** Returns the fence of a code block that is not closed. Undefined for all other tokens. */
export function openFence(token: Token): Fence | undefined {
  if (token.type !== 'code' || token.codeBlockStyle === 'indented') return undefined
  const { raw } = token
  const first = raw.indexOf('\n')
  const opening = first < 0 ? raw : raw.slice(0, first)
  const marker = /^ {0,3}(`{3,}|~{3,})/.exec(opening)?.[1]
  if (marker === undefined) return undefined
  const inked = raw.trimEnd()
  const start = inked.lastIndexOf('\n') + 1
  const last = start > first ? raw.slice(start).split('\n', 1)[0] : ''
  const closing = first < 0 ? undefined : /^ {0,3}(`{3,}|~{3,}) *$/.exec(last ?? '')?.[1]
  if (closing?.startsWith(marker)) return undefined
  return { marker, opening: opening.trim() }
}

/**
 * Returns the start of the line after the one that may close the fence, or the text's end. `from` is the start of a
 * line in the fence.
 */
export function afterClosingLine(source: string, from: number, { marker }: Fence): number {
  const line = lineFeedBeforeClosing(source, from, marker)
  const end = line < 0 ? -1 : source.indexOf('\n', line + 1)
  return end < 0 ? source.length : end + 1
}

/** Returns the index of the line feed before the line that may close the fence. -1 without one. */
export function lineFeedBeforeClosing(source: string, from: number, marker: string): number {
  const closing = source.indexOf(`\n${marker}`, from - 1)
  const indented = source.slice(from - 1, closing < 0 ? source.length : closing).search(/\n {1,3}(```|~~~)/)
  return indented < 0 ? closing : from - 1 + indented
}
