import type { PromptFile } from '@reply/core'
import type { InputPart, SourcePrompt } from '@reply/core/source'
import { readPromptFile, refusedFile } from '../prompt-file.ts'
import { refuseLostFields, unsupportedPrompt } from '../prompt-text.ts'

/** A content block of the Messages API, as Claude Code passes it on to the model. */
export type PromptBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly source: Base64 | { readonly type: 'url'; readonly url: string } }
  | {
      readonly type: 'document'
      readonly title?: string
      readonly source: Base64 | { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string }
    }

interface Base64 {
  readonly type: 'base64'
  readonly media_type: string
  readonly data: string
}

/**
 * Converts a prompt to content blocks. Reads `file:` URLs. Rejects with `unsupported` for fields and files that Claude
 * Code does not take, and with `invalid` for a file that can't be read.
 */
export async function promptBlocks(name: string, prompt: SourcePrompt): Promise<readonly PromptBlock[]> {
  const { text = '', parts = [], files = [] } = prompt
  refuseLostFields(name, prompt)
  const all: readonly InputPart[] = [
    { type: 'text', text },
    ...parts,
    ...files.map((file): InputPart => ({ type: 'file', ...file })),
  ]
  const blocks: PromptBlock[] = []
  for (const part of all) {
    if (part.type === 'file') blocks.push(await fileBlock(name, part))
    else if (part.type !== 'text') throw unsupportedPrompt(name, `a part of the type ${part.type}`, 'Send text.')
    else if (part.text !== '') appendText(blocks, part.text)
  }
  return blocks
}

/** Adds a text to the blocks: after a blank line to the last one if that is a text, otherwise as a block. */
function appendText(blocks: PromptBlock[], text: string): void {
  const last = blocks.at(-1)
  if (last?.type === 'text') blocks[blocks.length - 1] = { type: 'text', text: `${last.text}\n\n${text}` }
  else blocks.push({ type: 'text', text })
}

/**
 * Converts a file to a picture or a document, by its content. An address of the web is only taken for pictures, and isn't
 * read. Rejects with `unsupported` for other types, and with `invalid` if the file can't be read.
 */
async function fileBlock(name: string, file: PromptFile): Promise<PromptBlock> {
  const { url, mime, filename } = file
  if (/^https?:/.test(url)) {
    if (mime.startsWith('image/')) return { type: 'image', source: { type: 'url', url } }
    throw unsupportedPrompt(name, `a file of the type ${mime} by its address`, 'Send its content as a `data:` URL.')
  }
  const read = await readPromptFile(file)
  if (!read) throw refusedFile(name, file, 'Send its content as a `data:` URL.')
  const { bytes, kind, mime: type } = read
  const title = filename === undefined ? {} : { title: filename }
  // Claude Code drops a picture that is not of its type.
  const source = { type: 'base64', media_type: type, data: bytes.toString('base64') } as const
  if (kind === 'pdf') return { type: 'document', ...title, source }
  if (kind === 'image') return { type: 'image', source }
  if (kind === 'text')
    return { type: 'document', ...title, source: { type: 'text', media_type: 'text/plain', data: bytes.toString() } }
  throw refusedFile(name, file, 'Send text, a PDF, or a picture in PNG, JPEG, GIF or WebP.')
}
