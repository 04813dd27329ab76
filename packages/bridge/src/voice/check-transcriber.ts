import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { ReadSecret } from '../config/load.ts'
import type { TranscribeConfig } from '../config/schema.ts'
import { BridgeError } from '../error.ts'
import { defaultConvert } from './transcriber.ts'

/**
 * Checks that the programs of a transcriber are installed, and that its key is set. Returns a sentence. Throws a `BridgeError` for
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
  const found = programs.length > 0 ? [`${programs.join(' and ')} installed`] : []
  return [...found, ...(url === undefined ? [] : [`${new URL(url).host} not called`])].join(', ')
}

/** Whether a program is a file that this user may run: the path itself, or a name in the folders of `path`. */
function isExecutable(program: string, path: string): boolean {
  const files = program.includes('/') ? [program] : path.split(delimiter).map((folder) => join(folder, program))
  return files.some((file) => {
    try {
      accessSync(file, constants.X_OK)
      return statSync(file).isFile()
    } catch {
      return false
    }
  })
}
