import { StoreError } from '../store.ts'

/**
 * Converts an error of the engine or the file system to one with a fix for the operator, and keeps it as the cause: `busy` for
 * a locked file, otherwise `failed`. An unknown error is quoted. Returns a `StoreError` as it is.
 */
export function toStoreError(file: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const code = errorKindOf(cause)
  if (code === 'busy')
    return new StoreError('busy', `The state ${file} is locked by another process. ${busyHint}`, { cause })
  const problem = code ? sentences[code] : `failed: ${cause instanceof Error ? cause.message : String(cause)}.`
  return new StoreError('failed', `The state ${file} ${problem}`, { cause })
}

/** Returns the error for a file that fails SQLite's integrity check. */
export function damagedError(file: string): StoreError {
  return new StoreError('failed', `The state ${file} ${sentences.damaged}`)
}

const busyHint = 'Nothing was changed. Try again, and end that process if it hangs.'

const sentences = {
  denied: "cannot be written. Let the bridge's user write the file and its folder.",
  full: 'cannot grow: the disk is full. Make room on it.',
  damaged: 'is damaged. Restore it from a backup, or move it away: a new one begins empty.',
  foreign: 'is not a state of the bridge. Name another folder, or move the file away.',
  unopened: 'cannot be opened. Name a folder that exists or can be made, on a local disk.',
  disk: 'could not be read or written: the disk reports an error. Check the disk.',
} as const

/** What went wrong with a file. */
type ErrorKind = keyof typeof sentences | 'busy'

/** SQLite's primary result codes: https://www.sqlite.org/rescode.html */
const codes: Readonly<Record<number, ErrorKind>> = {
  5: 'busy',
  6: 'busy',
  8: 'denied',
  10: 'disk',
  11: 'damaged',
  13: 'full',
  14: 'unopened',
  26: 'foreign',
}

const systemCodes: Readonly<Record<string, ErrorKind>> = {
  EACCES: 'denied',
  EPERM: 'denied',
  EROFS: 'denied',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EIO: 'disk',
  EEXIST: 'unopened',
  EISDIR: 'unopened',
  ENOTDIR: 'unopened',
  ENOENT: 'unopened',
}

/** Returns the kind of an error of the engine or the file system. Undefined for an error that is not known. */
function errorKindOf(error: unknown): ErrorKind | undefined {
  if (!(error instanceof Error)) return undefined
  // The low byte is the primary code. The rest is an extended code.
  if ('rawCode' in error && typeof error.rawCode === 'number') return codes[error.rawCode & 0xff]
  return 'code' in error && typeof error.code === 'string' ? systemCodes[error.code] : undefined
}
