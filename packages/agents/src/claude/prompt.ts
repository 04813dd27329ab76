import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type PromptFile, ReplyError } from '@reply/core'
import type { InputPart, SourcePrompt } from '@reply/core/source'
import { pictureType } from '../picture-type.ts'
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
  const bytes = await bytesOf(file)
  const title = filename === undefined ? {} : { title: filename }
  // Chats report types that are not checked, and Claude Code drops a picture that is not of its type.
  const known = pictureType(bytes) ?? (bytes.toString('latin1', 0, 5) === '%PDF-' ? 'application/pdf' : undefined)
  const source = { type: 'base64', media_type: known ?? '', data: bytes.toString('base64') } as const
  if (known === 'application/pdf') return { type: 'document', ...title, source }
  if (known !== undefined) return { type: 'image', source }
  const text = textOf(bytes)
  if (text !== undefined)
    return { type: 'document', ...title, source: { type: 'text', media_type: 'text/plain', data: text } }
  const what = filename === undefined ? `a file of the type ${mime}` : `the file ${filename} of the type ${mime}`
  throw unsupportedPrompt(name, what, 'Send text, a PDF, or a picture in PNG, JPEG, GIF or WebP.')
}

/** Reads the content of a `data:` or `file:` URL. Rejects with `invalid` if it can't be read. */
async function bytesOf({ url, filename }: PromptFile): Promise<Buffer> {
  const data = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url)
  try {
    if (!data) return await readFile(fileURLToPath(url))
    const [, base64, content = ''] = data
    return base64 === undefined ? Buffer.from(decodeURIComponent(content)) : Buffer.from(content, 'base64')
  } catch (cause) {
    const what = filename ?? (data ? 'a `data:` URL' : url)
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ReplyError('invalid', `The prompt's file ${what} can't be read: ${reason}. Correct its URL.`, { cause })
  }
}

/** Returns the text of a file. Undefined if it is empty, has a zero byte or isn't UTF-8. */
function textOf(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text === '' || text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
