import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LedgerStore } from './ledger.ts'

/**
 * Creates a store that keeps each ledger in a file of its own. Creates the folder when needed. Writes are atomic, so a
 * crash during a write leaves the old text.
 *
 * Files are never removed. You can delete ledgers of replies that have ended. Only one process at a time may show
 * replies of the same chat with this store.
 */
export function fileStore(folder: string): LedgerStore {
  return { read, write }

  /** Reads a ledger. Resolves with undefined if the file is missing. Rejects if it can't be read. */
  async function read(key: string): Promise<string | undefined> {
    try {
      return await readFile(pathOf(key), 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Writes a ledger to a temporary file, and renames it. Removes the temporary file and rejects if that fails. */
  async function write(key: string, text: string): Promise<void> {
    await mkdir(folder, { recursive: true })
    const path = pathOf(key)
    const draft = `${path}.${randomUUID()}.tmp`
    try {
      await writeFile(draft, text, { flush: true })
      // On one file system a rename is atomic.
      await rename(draft, path)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  /** Names the file by the hash of its key, because keys can have any characters and length. */
  function pathOf(key: string): string {
    return join(folder, `${createHash('sha256').update(key).digest('hex')}.json`)
  }
}
