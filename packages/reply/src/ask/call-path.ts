import { type Fields, textIn } from '../fields.ts'
import { isShellTool } from './tool-name.ts'

/** The file or folder that a call names. */
export interface CallPath {
  /** The input field that names it. */
  readonly field: string
  /** The path as written in the input. */
  readonly given: string
  /**
   * Relative to the ask's directory if it is inside, otherwise as given. Empty for a command that runs in that
   * directory.
   */
  readonly shown: string
  /** Whether it is the folder that a command runs in. */
  readonly isFolder: boolean
  /** Whether another path is the same one. */
  readonly isSame: (path: string) => boolean
}

const fileTools = new Set(['edit', 'multiedit', 'write', 'apply_patch', 'patch', 'read', 'list'])

/** Finds the file or folder that a tool call works on. Undefined if its input names none. */
export function callPathOf(tool: string, input: Fields, directory: string | undefined): CallPath | undefined {
  const isFolder = isShellTool(tool)
  const fields = isFolder ? ['workdir', 'cwd'] : fileTools.has(tool) ? ['filePath', 'path'] : []
  const field = fields.find((name) => textIn(input[name]) !== '')
  if (field === undefined) return undefined
  const given = textIn(input[field])
  const folder = directory === undefined ? undefined : resolved(directory, undefined)
  const path = resolved(given, folder)
  const isSame = (other: string): boolean => other === given || (path !== undefined && resolved(other, folder) === path)
  // With a symbolic link, "link/.." may be any folder.
  const isOwn = path !== undefined && path === folder && !given.includes('..')
  const own = isFolder ? '' : '.'
  return { field, given, shown: isOwn ? own : shownAs(given, path, folder), isFolder, isSame }
}

/** "../a" and "./a" stay as they are: a person must see that a path leaves the directory. */
function shownAs(given: string, path: string | undefined, folder: string | undefined): string {
  const isPlain = given.startsWith('/') && path === given
  return isPlain && folder !== undefined && given.startsWith(`${folder}/`) ? given.slice(folder.length + 1) : given
}

/** The absolute path. Undefined for a relative one without a folder. Doesn't resolve symbolic links. */
function resolved(path: string, folder: string | undefined): string | undefined {
  if (!path.startsWith('/') && folder === undefined) return undefined
  const parts: string[] = []
  for (const part of (path.startsWith('/') ? path : `${folder}/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}
