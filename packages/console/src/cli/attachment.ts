import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { PromptFile } from '@reply/core'
import { ConsoleError } from './error.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.webp': 'image/webp',
}

/** Sends a local file's content, as the server may run on another machine. */
export async function attachment(path: string): Promise<PromptFile> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new ConsoleError('usage', `The file ${path} can't be read: check its name and permissions.`, {
      cause,
    })
  })
  const mime = TYPES[extname(path).toLowerCase()] ?? (bytes.includes(0) ? 'application/octet-stream' : 'text/plain')
  return { url: `data:${mime};base64,${bytes.toString('base64')}`, mime, filename: basename(path) }
}
