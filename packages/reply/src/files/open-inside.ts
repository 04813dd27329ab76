import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { isInside } from './inside.ts'

/** What became of opening a file. */
export type OpenedInside =
  /** Close the handle. `path` is the file's path without links, and `stats` is what it was when it was opened. */
  | { readonly type: 'opened'; readonly handle: FileHandle; readonly path: string; readonly stats: Stats }
  /** It is not in the folder, or behind a link that leads out of it. */
  | { readonly type: 'outside' }
  /** It is not a regular file. It was not opened, unless something was swapped in between. */
  | { readonly type: 'irregular'; readonly stats: Stats }
  /** The system refused. */
  | { readonly type: 'failed'; readonly cause: unknown }

/** `O_NONBLOCK`, because opening a pipe would wait for its writer. Windows has neither flag. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * Opens a regular file inside of a folder for reading, whatever may happen to the folders on the way meanwhile. The path must be
 * absolute, and that of the folder must have no links. Never rejects.
 */
export async function openInside(folder: string, path: string): Promise<OpenedInside> {
  let handle: FileHandle | undefined
  /** Closes what was opened. */
  const refused = async (refusal: OpenedInside): Promise<OpenedInside> => {
    await handle?.close()
    return refusal
  }
  try {
    const real = await realpath(path)
    if (!isInside(folder, real)) return { type: 'outside' }
    const found = await lstat(real)
    // Opening a device may already change something.
    if (!found.isFile()) return { type: 'irregular', stats: found }
    handle = await open(real, flags)
    // A folder on the way may have become a link in between. Only Linux tells where the open file is.
    const opened = process.platform === 'linux' ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(real)
    if (!isInside(folder, opened)) return await refused({ type: 'outside' })
    const stats = await handle.stat()
    const isSame = stats.dev === found.dev && stats.ino === found.ino
    if (process.platform !== 'linux' && !isSame) return await refused({ type: 'outside' })
    if (!stats.isFile()) return await refused({ type: 'irregular', stats })
    return { type: 'opened', handle, path: real, stats }
  } catch (cause) {
    return await refused({ type: 'failed', cause })
  }
}

/** Returns the code of a system's error. Undefined for any other one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
