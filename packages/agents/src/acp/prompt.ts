import { ReplyError } from '@reply/core'
import type { InputPart, SourcePrompt } from '@reply/core/source'

/** The media that the agent accepts in prompts, besides text and links. */
export interface PromptRights {
  readonly image: boolean
  readonly audio: boolean
}

export type PromptBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string; readonly mimeType: string }

/**
 * Converts a prompt to the protocol's blocks: its text, unless that is empty, its parts, then its files. Throws `unsupported`
 * for fields, parts and files that the protocol or the agent lacks. `name` is the agent's.
 */
export function blocksOf(prompt: SourcePrompt, rights: PromptRights, name: string): readonly PromptBlock[] {
  const { text, parts = [], files = [], system, tools, format } = prompt
  if (system !== undefined) throw lacks(name, 'a system prompt', 'put it into the text')
  if (tools !== undefined) throw lacks(name, 'a choice of tools', 'leave it out')
  if (format !== undefined) throw lacks(name, 'a format', 'ask for it in the text')
  const first: readonly PromptBlock[] = text === undefined || text === '' ? [] : [{ type: 'text', text }]
  const all: readonly InputPart[] = [...parts, ...files.map((file): InputPart => ({ type: 'file', ...file }))]
  return [...first, ...all.map((part) => blockOf(part, rights, name))]
}

/**
 * Converts a part. A file with an address becomes a link, named by its file name or the end of the address. One with data
 * becomes a picture or sound. Throws `unsupported` for parts of other types, and for data that the agent doesn't accept.
 */
function blockOf(part: InputPart, rights: PromptRights, name: string): PromptBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type !== 'file') throw lacks(name, `a part of the type "${part.type}"`, 'put it into the text')
  const { url, mime, filename } = part
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1]
  if (data === undefined && !url.startsWith('data:'))
    return { type: 'resource_link', uri: url, name: filename ?? url.split('/').at(-1) ?? url, mimeType: mime }
  const type = mime.startsWith('image/') ? 'image' : mime.startsWith('audio/') ? 'audio' : undefined
  if (type && rights[type] && data !== undefined) return { type, data, mimeType: mime }
  throw lacks(name, `a file of the type "${mime}" as data`, 'give its location as file://')
}

/** Returns the error `unsupported` for a prompt with something that the agent doesn't accept, with its cure. */
function lacks(name: string, what: string, cure: string): ReplyError {
  return new ReplyError('unsupported', `${name} does not accept a prompt with ${what}: ${cure}.`)
}
