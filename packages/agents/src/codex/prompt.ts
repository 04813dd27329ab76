import { access } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type PromptFile, ReplyError } from '@reply/core'
import type { InputPart, SourcePrompt } from '@reply/core/source'
import { refuseLostFields, unsupportedPrompt } from '../prompt-text.ts'

/** A piece of a prompt, as Codex takes it. */
export type PromptItem =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'localImage'; readonly path: string }

/** The pictures that the models take. */
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/**
 * Returns a prompt as items: all its texts as one, left out if they are empty, then the pictures. Rejects with `unsupported` for
 * fields, parts and files that Codex does not take, and with `invalid` for a picture whose `file:` URL can't be read. `name` is
 * Codex's in these errors.
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
  const images = [...parts.flatMap((part) => (part.type === 'file' ? [part] : [])), ...files]
  const items = await Promise.all(images.map(async (file) => await imageItem(name, file)))
  return whole === '' ? items : [{ type: 'text', text: whole }, ...items]
}

/** Returns a picture as an item. One with a `file:` URL is named by its path, and Codex reads it. */
async function imageItem(name: string, { url, mime, filename }: PromptFile): Promise<PromptItem> {
  if (!imageTypes.includes(mime)) {
    const what = filename === undefined ? `a file of the type ${mime}` : `the file ${filename} of the type ${mime}`
    throw unsupportedPrompt(name, what, 'Send a picture in PNG, JPEG, GIF or WebP, or name the file in the text.')
  }
  if (!url.startsWith('file:')) return { type: 'image', url }
  const path = fileURLToPath(url)
  try {
    await access(path)
  } catch (cause) {
    throw new ReplyError('invalid', `The picture ${path} can't be read. Correct its URL.`, { cause })
  }
  return { type: 'localImage', path }
}
