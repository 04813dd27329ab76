import type { Stats } from 'node:fs'
import { type FileHandle, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf, isInside, kindOf, openInside } from '@reply/core/node'
import { byteSize } from '@reply/core/show'

/** Why a file can't be sent. The message is a sentence for the model. */
export class FileRefusal extends Error {
  override readonly name = 'FileRefusal'
}

/** A file of the project that is open for reading. */
export interface OpenedFile {
  readonly handle: FileHandle
  /** Its path without links. */
  readonly path: string
  /** The path as the model gave it, cut and in quotation marks, for sentences. */
  readonly shown: string
  /** What it was when it was opened. */
  readonly stats: Stats
}

/** Where files may be, and how large. */
export interface FileRules {
  /** The real path of the project's directory. */
  readonly project: string
  /** The size of the largest file, in bytes. */
  readonly maxBytes: number
}

/** How many bytes are read at once. */
const chunkBytes = 65_536

/**
 * Opens a regular file inside of the project, by a path that is absolute or relative to the project. Close its handle.
 * Rejects with a `FileRefusal` for a path with `..`, for a file outside of the project or behind a link that leads out of it, for
 * anything else than a regular file, for an empty file, and for one that is too large. Opens no device and no pipe.
 */
export async function openInProject(path: string, { project, maxBytes }: FileRules): Promise<OpenedFile> {
  const shown = shownPath(path)
  if (path === '' || path.includes('\0')) throw new FileRefusal('Give the path of a file.')
  if (path.split(/[/\\]/).includes('..'))
    throw new FileRefusal(`The path ${shown} has "..". Give a path inside of the project.`)
  const wanted = resolve(project, path)
  const found = await openInside(project, wanted)
  switch (found.type) {
    case 'outside':
      throw new FileRefusal(outsideReason(shown, isInside(project, wanted)))
    case 'irregular':
      throw new FileRefusal(irregularReason(found.stats, shown))
    case 'failed':
      throw refusalOf(found.cause, shown)
    case 'opened': {
      const { handle, path: real, stats } = found
      const fault = sizeFault(stats, maxBytes, shown)
      if (fault === undefined) return { handle, path: real, shown, stats }
      await handle.close()
      throw new FileRefusal(fault)
    }
    default:
      return found satisfies never
  }
}

/** Says why a file of that size is not sent. Undefined if it is. */
function sizeFault({ size }: Stats, maxBytes: number, shown: string): string | undefined {
  if (size === 0) return `The file ${shown} is empty.`
  if (size <= maxBytes) return undefined
  return `The file ${shown} has ${byteSize(size)}. At most ${byteSize(maxBytes)} can be sent.`
}

/**
 * Reads the file to its end. Rejects with a `FileRefusal` if it can't be read, or if it was changed, replaced or removed since it
 * was opened. Never reads more than it had then. `take` gets what was read, piece by piece.
 */
export async function requireStable(
  { handle, path, shown, stats }: OpenedFile,
  take: (piece: Buffer) => void = () => {},
): Promise<void> {
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    let read = 0
    while (read < stats.size) {
      const { bytesRead } = await handle.read(chunk, 0, Math.min(chunkBytes, stats.size - read))
      if (bytesRead === 0) throw new FileRefusal(changedReason(shown))
      read += bytesRead
      take(Buffer.from(chunk.subarray(0, bytesRead)))
    }
    const after = await handle.stat()
    const named = await stat(path).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') throw new FileRefusal(`The file ${shown} was removed while it was read.`)
      throw error
    })
    if (after.size !== stats.size || after.mtimeMs !== stats.mtimeMs || !isSame(after, named))
      throw new FileRefusal(changedReason(shown))
  } catch (error) {
    throw refusalOf(error, shown)
  }
}

/** Says what it is instead of a regular file. */
function irregularReason(stats: Stats, shown: string): string {
  return stats.isDirectory()
    ? `${shown} is a folder. Make an archive of it, and send that.`
    : `${shown} is ${kindOf(stats)}. Only regular files can be sent.`
}

/** Whether both are the same file. */
function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino
}

/** Says that a file is outside. `isLink` if the path itself is inside. */
function outsideReason(shown: string, isLink: boolean): string {
  return isLink
    ? `${shown} is behind a link that leads out of the project. Only files in the project can be sent.`
    : `${shown} is outside of the project. Only files in the project can be sent.`
}

/** Says that a file is not the one that was opened. */
function changedReason(shown: string): string {
  return `The file ${shown} changed while it was read. Send it once it is complete.`
}

/** Returns the error if it is a `FileRefusal`, or else one that tells the cause in a sentence. */
function refusalOf(error: unknown, shown: string): FileRefusal {
  return error instanceof FileRefusal ? error : new FileRefusal(failureReason(codeOf(error), shown), { cause: error })
}

/** Says why the system refused a file. */
function failureReason(code: string | undefined, shown: string): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `There is no file ${shown} in the project.`
    case 'ENAMETOOLONG':
      return `The path ${shown} is too long.`
    case 'EACCES':
    case 'EPERM':
      return `The file ${shown} can't be read: the permission is missing.`
    case 'ELOOP':
      return `The links of ${shown} lead to no file.`
    default:
      return `The file ${shown} can't be read (${code ?? 'unknown error'}).`
  }
}

/** Returns a path in quotation marks: at most 100 characters, without control characters. */
function shownPath(path: string): string {
  const start = [...path.slice(0, 400)].slice(0, 100).join('')
  return JSON.stringify(start.length < path.length ? `${start}…` : start)
}
