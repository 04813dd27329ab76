import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { ReplyError } from '@reply/core'
import type { ProcessOptions } from './start-process.ts'

/**
 * Checks that the command and its folder exist and that it is executable, without starting it. Without a slash, it is looked
 * for in `PATH` of `env`, or else of this process. Rejects as `startProcess` would.
 */
export async function requireCommand({ command, cwd, env = {} }: ProcessOptions): Promise<void> {
  const path = 'PATH' in env ? env.PATH : process.env.PATH
  const places = command.includes('/')
    ? [resolve(cwd ?? '.', command)]
    : (path ?? '').split(delimiter).map((folder) => join(folder, command))
  let failure: unknown = Object.assign(new Error('It was not found.'), { code: 'ENOENT' })
  for (const place of places) {
    try {
      if (cwd !== undefined) await access(cwd)
      return await access(place, constants.X_OK)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code !== 'ENOENT') failure = error
    }
  }
  throw await startFailure(command, cwd, failure)
}

/**
 * Returns the `unreachable` error of a command that could not be started, with the reason and the cure. Removes the arguments
 * from the cause, because they may contain secrets.
 */
export async function startFailure(command: string, cwd: string | undefined, cause: unknown): Promise<ReplyError> {
  // Node stores all arguments there. https://github.com/nodejs/node/blob/v20.19.0/lib/internal/child_process.js
  if (cause instanceof Error && 'spawnargs' in cause) Reflect.deleteProperty(cause, 'spawnargs')
  return new ReplyError('unreachable', await startFailureReason(command, cwd, cause), { cause })
}

/** Returns why the command was not started: its folder, its interpreter, its path, its rights, or what the system says. */
async function startFailureReason(command: string, cwd: string | undefined, cause: unknown): Promise<string> {
  if (cwd !== undefined && !(await isFolder(cwd)))
    return `"${command}" was not started because the folder "${cwd}" does not exist. Create it, or pass another cwd.`
  const code = codeOf(cause)
  const isPath = command.includes('/')
  // The kernel also answers ENOENT if the interpreter in the file's first line is missing.
  if (code === 'ENOENT' && isPath && cwd === undefined && (await isThere(command)))
    return `"${command}" was not started because the interpreter in its first line was not found. Install it, or correct that line.`
  if (code === 'ENOENT') return `The command "${command}" was not found. Install it, or give its full path.`
  if (code === 'EACCES')
    return `The command "${command}" is not executable. Run chmod +x on it, or start it with its interpreter.`
  if (code === 'EMFILE' || code === 'ENFILE')
    return `"${command}" was not started because too many files are open (${code}). Raise the limit with "ulimit -n".`
  const detail = cause instanceof Error && code === undefined ? cause.message : code
  return `"${command}" was not started: ${detail ?? 'the system gave no reason'}. Run it by hand to see why.`
}

/** Returns the system's code of an error, for example `ENOENT`. Undefined if it has none. */
function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
}

/** Whether there is a folder. False if that can't be found out. */
async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/** Whether there is a file or folder. False if that can't be found out. */
async function isThere(path: string): Promise<boolean> {
  return await access(path, constants.F_OK).then(
    () => true,
    () => false,
  )
}
