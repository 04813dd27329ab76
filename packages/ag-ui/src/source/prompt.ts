import { type PromptFile, ReplyError } from '@reply/core'
import { fileTypeOf, type SourcePrompt } from '@reply/core/source'

/** A part of a person's message, as AG-UI has it. */
type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image' | 'audio' | 'video' | 'document'
      readonly source:
        | { readonly type: 'url'; readonly value: string; readonly mimeType: string }
        | { readonly type: 'data'; readonly value: string; readonly mimeType: string }
      readonly metadata?: { readonly filename: string }
    }

/**
 * Returns a prompt as the content of a message: its text, or parts if it has files. A text file becomes text, because not every agent
 * reads documents. Rejects with `unsupported` for what AG-UI has no place for, and with `invalid` for a file that can't be read.
 */
export async function contentOf(name: string, prompt: SourcePrompt): Promise<string | readonly ContentPart[]> {
  const { text = '', parts = [], files = [] } = prompt
  const lost = (['agent', 'model', 'variant', 'system', 'tools', 'format'] as const).find(
    (field) => prompt[field] !== undefined,
  )
  if (lost !== undefined)
    throw refused(name, `\`${lost}\` for a prompt`, 'Leave it out, or set it where the agent runs.')
  const texts = text === '' ? [] : [text]
  const attached = [...files]
  for (const part of parts) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'file') attached.push(part)
    else throw refused(name, `a part of the type ${part.type}`, 'Send text and files.')
  }
  const said = texts.join('\n\n')
  if (attached.length === 0) return said
  const read = await Promise.all(attached.map(async (file) => await partOf(file)))
  return [...(said === '' ? [] : [{ type: 'text', text: said } as const]), ...read]
}

function refused(name: string, what: string, cure: string): ReplyError {
  return new ReplyError('unsupported', `${name} does not take ${what}. ${cure}`)
}

/** Returns a file as a part: by its address on the web, or with its bytes. */
async function partOf(file: PromptFile): Promise<ContentPart> {
  const { url, mime, filename } = file
  const metadata = filename === undefined ? {} : { metadata: { filename } }
  if (/^https?:/i.test(url))
    return { type: partType(mime), source: { type: 'url', value: url, mimeType: mime }, ...metadata }
  const bytes = await bytesOf(file)
  const known = fileTypeOf(bytes, mime)
  if (known.kind === 'text') {
    const head = filename === undefined ? 'Attached file:' : `Attached file: ${filename}`
    return { type: 'text', text: `${head}\n\n${new TextDecoder().decode(bytes)}` }
  }
  const source = { type: 'data', value: base64(bytes), mimeType: known.mime } as const
  return { type: partType(known.mime), source, ...metadata }
}

function partType(mime: string): 'image' | 'audio' | 'video' | 'document' {
  const [, kind] = /^(image|audio|video)\//i.exec(mime) ?? []
  switch (kind?.toLowerCase()) {
    case 'image':
      return 'image'
    case 'audio':
      return 'audio'
    case 'video':
      return 'video'
    default:
      return 'document'
  }
}

/** Reads a `data:` or `file:` URL. */
async function bytesOf({ url, filename }: PromptFile): Promise<Uint8Array> {
  try {
    // `fetch` reads `data:` URLs. It takes no `file:` URL.
    if (/^data:/i.test(url)) return new Uint8Array(await (await fetch(url)).arrayBuffer())
    const { readFile } = await import('node:fs/promises')
    return await readFile(new URL(url))
  } catch (cause) {
    const what = filename ?? (url.startsWith('data:') ? 'a `data:` URL' : url)
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ReplyError('invalid', `The prompt's file ${what} can't be read: ${reason}. Correct its URL.`, { cause })
  }
}

/** Returns the base64 of bytes. `btoa` takes one character per byte, and a call only so many arguments. */
function base64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}
