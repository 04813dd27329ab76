import type { Stats } from 'node:fs'
import { isAbsolute, relative, sep } from 'node:path'

/** Whether a path is inside of a folder. Both must be absolute and without links. True for the folder itself. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Returns what is at a path instead of a regular file, for a sentence. */
export function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'a folder'
  if (found.isFIFO()) return 'a pipe'
  if (found.isSocket()) return 'a socket'
  return found.isSymbolicLink() ? 'a link' : 'a device'
}
