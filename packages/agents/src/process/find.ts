import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { startFailure } from './failure.ts'
import type { ChildOptions } from './start.ts'

/** Rejects as `startChild` would if the command is not there or not executable, without starting it. */
export async function requireCommand({ command, cwd, env = {} }: ChildOptions): Promise<void> {
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
