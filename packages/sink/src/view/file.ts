import { fileExtension } from '../file-name.ts'
import type { AnswerCard, Card } from '../ledger/card.ts'
import { fileKey } from '../ledger/keys.ts'
import type { ViewOptions } from './view.ts'

/** A fence on lines of its own at the left edge. Indented fences belong to a list and stay there. */
const fences = /^(`{3,}|~{3,})([^\n`]*)\n([\s\S]*?)(?:^\1[`~]*[ \t]*$|(?![\s\S]))/gm

/**
 * Replaces code that is too long for a message with a line that names a file, and adds the file once the text is
 * complete.
 */
export function withFiles(
  card: AnswerCard,
  { uploads, policy, words, mode, isWhole }: ViewOptions & { readonly isWhole: boolean },
): readonly Card[] {
  // Text posted in pieces cannot be taken back.
  if (!uploads || mode === 'append' || card.source.length <= policy.documentLength) return [card]
  const files: Card[] = []
  const source = card.source.replace(fences, (whole, _fence: string, info: string, code: string) => {
    if (code.length <= policy.documentLength) return whole
    const [language = ''] = info.trim().split(/\s/)
    const name = `code-${files.length + 1}.${fileExtension(language)}`
    const caption = words.file(name, code.trimEnd().split('\n').length)
    const file = { name, text: code, caption }
    files.push({ type: 'file', key: fileKey(card.key, name), source: caption, file })
    return caption.trim() === '' ? '' : `*${caption}*`
  })
  return [{ ...card, source }, ...(isWhole ? files : [])]
}
