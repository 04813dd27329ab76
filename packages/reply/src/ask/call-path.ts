import { type Fields, textIn } from '../fields.ts'
import { isShellTool } from './tool-name.ts'

/** The file or folder that a call names. */
export interface CallPath {
  /** The input field that names it. */
  readonly field: string
  /** The path as written in the input. */
  readonly written: string
  /**
   * Relative to the ask's directory if it is inside, otherwise as written. Empty for a command that runs in that
   * directory.
   */
  readonly shown: string
  /** Whether it is the folder that a command runs in. */
  readonly isFolder: boolean
  /** Whether another path is the same one. */
  readonly isSame: (path: string) => boolean
}

const fileTools = new Set(['edit', 'multiedit', 'write', 'apply_patch', 'patch', 'read', 'list'])

/**
 * Finds the folder that a shell command runs in, or the file or folder that a file tool works on, to name it in the
 * title of an ask. Undefined for any other tool, and if the input names none.
 */
export function callPathOf(tool: string, input: Fields, directory: string | undefined): CallPath | undefined {
  const isFolder = isShellTool(tool)
  const fields = isFolder ? ['workdir', 'cwd'] : fileTools.has(tool) ? ['filePath', 'path'] : []
  const field = fields.find((name) => textIn(input[name]) !== '')
  if (field === undefined) return undefined
  const written = textIn(input[field])
  const folder = directory === undefined ? undefined : absolutePath(directory, undefined)
  const path = absolutePath(written, folder)
  const isSame = (other: string): boolean =>
    other === written || (path !== undefined && absolutePath(other, folder) === path)
  // With a symbolic link, "link/.." may be any folder.
  const isProject = path !== undefined && path === folder && !written.includes('..')
  const shownProject = isFolder ? '' : '.'
  return { field, written, shown: isProject ? shownProject : shortenedPath(written, path, folder), isFolder, isSame }
}

/**
 * The path relative to the folder if it is in it, otherwise as written. "../a" and "./a" stay as they are: a person
 * must see that a path leaves the directory.
 */
function shortenedPath(written: string, path: string | undefined, folder: string | undefined): string {
  const isPlain = written.startsWith('/') && path === written
  return isPlain && folder !== undefined && written.startsWith(`${folder}/`)
    ? written.slice(folder.length + 1)
    : written
}

/**
 * The absolute path, without `.`, `..` and repeated slashes. Undefined for a relative one without a folder. Doesn't
 * resolve symbolic links.
 */
function absolutePath(path: string, folder: string | undefined): string | undefined {
  if (!path.startsWith('/') && folder === undefined) return undefined
  const parts: string[] = []
  for (const part of (path.startsWith('/') ? path : `${folder}/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}
