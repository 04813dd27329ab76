import { accessSync, constants, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { ReadSecret } from '../config/load.ts'
import type { TranscribeConfig } from '../config/schema.ts'
import { BridgeError } from '../error.ts'
import { defaultConvert } from './transcriber.ts'

/**
 * Checks that the programs of a transcriber are installed, that its key is set, and that audio can be stored. Returns a sentence. Throws a `BridgeError` for
 * people. Runs no program and does not call the service, which would cost money.
 */
export function checkTranscriber(config: TranscribeConfig, secret: ReadSecret, path = process.env.PATH ?? ''): string {
  const { command, url, key, convert = url === undefined ? defaultConvert : false } = config
  const programs = [command?.[0], convert === false ? undefined : convert[0]].filter((one) => one !== undefined)
  const missing = programs.filter((program) => !isExecutable(program, path))
  if (missing.length > 0)
    throw new BridgeError(
      'config',
      `${missing.join(' and ')} can't be run. Install it, or write another program in \`transcribe\`.`,
    )
  if (key) secret(key)
  const folder = tmpdir()
  if (!isAllowed(folder, constants.W_OK))
    throw new BridgeError(
      'config',
      `Voice notes can't be stored in ${folder} while they are transcribed. Make it writable, or set TMPDIR to another folder.`,
    )
  const found = programs.length > 0 ? [`${programs.join(' and ')} installed`] : []
  return [...found, ...(url === undefined ? [] : [`${new URL(url).host} not called`])].join(', ')
}

/** Whether a program is a file that this user may run: the path itself, or a name in the folders of `path`. */
function isExecutable(program: string, path: string): boolean {
  const files = program.includes('/') ? [program] : path.split(delimiter).map((folder) => join(folder, program))
  return files.some((file) => isAllowed(file, constants.X_OK) && statSync(file).isFile())
}

/** Whether a file or folder exists and this user may do that with it. */
function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
