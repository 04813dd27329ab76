import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type PromptFile, ReplyError } from '@reply/core'
import { type FileType, fileTypeOf } from '@reply/core/source'
import { unsupportedPrompt } from './prompt-text.ts'

/** A file of a prompt, with its content. */
export interface ReadFile extends FileType {
  readonly bytes: Buffer
}

/** Reads a file with a `data:` or `file:` URL. Undefined for an address of the web. Rejects with `invalid` if it can't be read. */
export async function readPromptFile({ url, mime, filename }: PromptFile): Promise<ReadFile | undefined> {
  if (/^https?:/i.test(url)) return undefined
  const data = /^data:[^,]*?(;base64)?,(.*)$/is.exec(url)
  try {
    const bytes = data ? dataOf(data) : await readFile(fileURLToPath(url))
    return { bytes, ...fileTypeOf(bytes, mime) }
  } catch (cause) {
    const what = filename ?? (data ? 'a `data:` URL' : url)
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ReplyError('invalid', `The prompt's file ${what} can't be read: ${reason}. Correct its URL.`, { cause })
  }
}

/** Returns the content of a `data:` URL. Throws for one that is malformed. */
function dataOf([, base64, content = '']: RegExpExecArray): Buffer {
  return base64 === undefined ? Buffer.from(decodeURIComponent(content)) : Buffer.from(content, 'base64')
}

/** Returns a text file as a text, for agents that take no such files. */
export function textOfFile({ filename }: PromptFile, { bytes }: ReadFile): string {
  return `${filename === undefined ? 'Attached file:' : `Attached file: ${filename}`}\n\n${bytes.toString()}`
}

/** Returns the error `unsupported` for a file that the program `name` doesn't take. `cure` is a sentence with the fix. */
export function refusedFile(name: string, { mime, filename }: PromptFile, cure: string): ReplyError {
  const what = filename === undefined ? `a file of the type ${mime}` : `the file ${filename} of the type ${mime}`
  return unsupportedPrompt(name, what, cure)
}
