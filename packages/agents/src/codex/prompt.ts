import { fileURLToPath } from 'node:url'
import type { PromptFile } from '@reply/core'
import type { InputPart, SourcePrompt } from '@reply/core/source'
import { readPromptFile, refusedFile, textOfFile } from '../prompt-file.ts'
import { refuseLostFields, unsupportedPrompt } from '../prompt-text.ts'

/** A piece of a prompt, as Codex takes it. */
export type PromptItem =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'localImage'; readonly path: string }

/**
 * Returns a prompt as items: all its texts as one, left out if they are empty, then the files. Rejects with `unsupported` for
 * fields, parts and files that Codex does not take, and with `invalid` for a file that can't be read. `name` is Codex's in these
 * errors.
 */
export async function promptItems(name: string, prompt: SourcePrompt): Promise<readonly PromptItem[]> {
  const { text = '', parts = [], files = [] } = prompt
  refuseLostFields(name, prompt, ['model', 'variant'])
  const all: readonly InputPart[] = [{ type: 'text', text }, ...parts]
  const texts = all.map((part) => {
    if (part.type === 'text') return part.text
    if (part.type === 'file') return ''
    throw unsupportedPrompt(name, `a part of the type ${part.type}`, 'Send text.')
  })
  const whole = texts.filter((each) => each !== '').join('\n\n')
  const attached = [...parts.flatMap((part) => (part.type === 'file' ? [part] : [])), ...files]
  const items = await Promise.all(attached.map(async (file) => await fileItem(name, file)))
  return whole === '' ? items : [{ type: 'text', text: whole }, ...items]
}

/** Returns a picture or a text file as an item. A picture with a `file:` URL is named by its path, and Codex reads it. */
async function fileItem(name: string, file: PromptFile): Promise<PromptItem> {
  const { url, mime } = file
  const read = await readPromptFile(file)
  if (read?.kind === 'text') return { type: 'text', text: textOfFile(file, read) }
  if (read?.kind === 'image' && url.startsWith('file:')) return { type: 'localImage', path: fileURLToPath(url) }
  if (read?.kind === 'image') return { type: 'image', url: `data:${read.mime};base64,${read.bytes.toString('base64')}` }
  if (!read && mime.startsWith('image/')) return { type: 'image', url }
  throw refusedFile(name, file, 'Send text, or a picture in PNG, JPEG, GIF or WebP, or name the file in the text.')
}
