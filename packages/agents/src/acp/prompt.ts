import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ReplyError } from '@reply/core'
import { type FileKind, type InputPart, type SourcePrompt, takenKinds } from '@reply/core/source'
import { readPromptFile, textOfFile } from '../prompt-file.ts'

/** The media that the agent accepts in prompts, besides text and links. */
export interface PromptRights {
  readonly image: boolean
  readonly audio: boolean
  /** In a block of the type `resource`. */
  readonly pdf: boolean
}

/** Returns the kinds of files that the agent takes as data. Texts become text blocks. */
export function takesIn(rights: PromptRights): readonly FileKind[] {
  return takenKinds((kind) => kind !== 'text' && kind !== 'video' && rights[kind])
}

export type PromptBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string }
    }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string; readonly mimeType: string }

/**
 * Converts a prompt to the protocol's blocks: its text, unless that is empty, its parts, then its files. Rejects with `unsupported`
 * for fields, parts and files that the protocol or the agent lacks, and with `invalid` for data that is malformed. `name` is the
 * agent's.
 */
export async function blocksOf(
  prompt: SourcePrompt,
  rights: PromptRights,
  name: string,
): Promise<readonly PromptBlock[]> {
  const { text, parts = [], files = [], system, tools, format } = prompt
  if (system !== undefined) throw lacks(name, 'a system prompt', 'put it into the text')
  if (tools !== undefined) throw lacks(name, 'a choice of tools', 'leave it out')
  if (format !== undefined) throw lacks(name, 'a format', 'ask for it in the text')
  const first: readonly PromptBlock[] = text === undefined || text === '' ? [] : [{ type: 'text', text }]
  const all: readonly InputPart[] = [...parts, ...files.map((file): InputPart => ({ type: 'file', ...file }))]
  return [...first, ...(await Promise.all(all.map(async (part) => await blockOf(part, rights, name))))]
}

/**
 * Converts a part. A file with an address becomes a link, named by its file name or the end of the address. One with data becomes a
 * text, a picture, a sound or an embedded PDF. Rejects with `unsupported` for parts of other types, and for data that the agent doesn't accept.
 */
async function blockOf(part: InputPart, rights: PromptRights, name: string): Promise<PromptBlock> {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type !== 'file') throw lacks(name, `a part of the type "${part.type}"`, 'put it into the text')
  const { url, mime, filename } = part
  if (!url.startsWith('data:'))
    return { type: 'resource_link', uri: url, name: filename ?? url.split('/').at(-1) ?? url, mimeType: mime }
  const read = await readPromptFile(part)
  if (read?.kind === 'text') return { type: 'text', text: textOfFile(part, read) }
  // The agent may know pictures of more types.
  const kind = read?.kind ?? (mime.startsWith('image/') ? 'image' : undefined)
  if (read && (kind === 'image' || kind === 'audio') && rights[kind])
    return { type: kind, data: read.bytes.toString('base64'), mimeType: read.mime }
  if (read && kind === 'pdf' && rights.pdf) {
    // The address only names it. OpenCode 1.18.33 takes the name from the end of the path.
    const uri = pathToFileURL(`/${basename(filename ?? 'file.pdf')}`).href
    return { type: 'resource', resource: { uri, mimeType: read.mime, blob: read.bytes.toString('base64') } }
  }
  throw lacks(name, `a file of the type "${mime}" as data`, 'give its location as file://')
}

/** Returns the error `unsupported` for a prompt with something that the agent doesn't accept, with its cure. */
function lacks(name: string, what: string, cure: string): ReplyError {
  return new ReplyError('unsupported', `${name} does not accept a prompt with ${what}: ${cure}.`)
}
