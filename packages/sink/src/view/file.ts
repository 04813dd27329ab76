import { fileExtension } from '../file-name.ts'
import type { AnswerCard, Card } from '../ledger/card.ts'
import { fileKey } from '../ledger/keys.ts'
import { type CodeBlock, codeBlocksIn } from '../markdown/code-blocks.ts'
import { withoutHalf } from '../port/well-formed.ts'
import type { ViewOptions } from './view.ts'

export interface FileOptions extends ViewOptions {
  /** No more text is added. */
  readonly isWhole: boolean
}

/**
 * Posts code that is too long for a message as a file, below the words that announce it. With edits that is below the
 * answer; once the file is there, a line that names it takes the place of the code. Without edits the answer goes on below
 * the file. Code of a refused file stays text.
 */
export function withFiles(card: AnswerCard, options: FileOptions): readonly Card[] {
  const { uploads, policy, mode, shown, isWhole } = options
  const { documentLength } = policy
  // Text posted in pieces cannot be taken back.
  if (!uploads || mode === 'append' || card.source.length <= documentLength) return [card]
  const files: Card[] = []
  let [source, from, count] = ['', 0, 0]
  for (const block of codeBlocksIn(card.source)) {
    if (block.code.length <= documentLength) continue
    count += 1
    const name = `code-${count}.${fileExtension(block.language)}`
    const key = fileKey(card.key, name)
    source += card.source.slice(from, block.start)
    from = block.start
    const isThere = shown.posted.has(key)
    // Without edits, code that was posted stays.
    const isPosted = mode !== 'live' && !isThere && (shown.ends?.get(card.key) ?? 0) > source.length
    if (shown.lost?.has(key) || isPosted) continue
    const isReady = isWhole || (mode === 'sealed' && block.isClosed)
    if (isReady) files.push(fileCard(block, { key, name, ...options }))
    if (!isThere && mode !== 'live') {
      if (!isReady) continue
      // Its own words come first, and those behind it once it is there.
      return [...files.slice(0, -1), { ...card, source, isOpen: true, isSilent: true }, ...files.slice(-1)]
    }
    // A file between two texts names itself. Elsewhere a message below it notifies.
    const isNamed = mode === 'live' || !options.rings
    if (!isThere) source += beginningOf(block, { name, ...options })
    else if (isNamed) source += captionOf(block, { name, ...options })
    from = block.end
  }
  return [{ ...card, source: source + card.source.slice(from) }, ...files]
}

interface NamedOptions extends ViewOptions {
  readonly name: string
}

function fileCard({ code, ...block }: CodeBlock, options: NamedOptions & { readonly key: string }): Card {
  const { name, key, texts } = options
  const caption = texts.file(name, linesOf({ code, ...block }))
  return { type: 'file', key, source: caption, file: { name, text: `${code}\n`, caption } }
}

function captionOf(block: CodeBlock, { name, texts }: NamedOptions): string {
  const caption = texts.file(name, linesOf(block))
  return caption.trim() === '' ? '' : `*${caption}*`
}

/** As much of the code as a message shows. It stays until the file is there. */
function beginningOf(block: CodeBlock, { name, texts, policy }: NamedOptions): string {
  const { opening, marker, code } = block
  const note = texts.fileFollows(name, linesOf(block))
  const shown = `${opening}\n${withoutHalf(code.slice(0, policy.documentLength))}\n${marker}`
  return note.trim() === '' ? shown : `${shown}\n\n*${note}*`
}

function linesOf({ code }: CodeBlock): number {
  return code.trimEnd().split('\n').length
}
