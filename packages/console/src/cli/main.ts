import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Clock } from '@reply/core'
import { CommanderError } from 'commander'
import { watchStdout } from './output-errors.ts'
import type { ProcessIO, Terminal } from './process-io.ts'
import { createProgram } from './program.ts'

/**
 * Runs the `reply` command with the arguments after its name, and resolves with its exit code once all output is written.
 * Errors go to standard error, also if standard output can't be written. Reads and writes only through the given terminal.
 * `clock`: default the computer's.
 */
export async function main(args: readonly string[], terminal: Terminal & { readonly clock?: Clock }): Promise<number> {
  const stdout = watchStdout(terminal)
  const clock = async (): Promise<Clock> => terminal.clock ?? (await import('@reply/core')).systemClock
  const code = await runCommand(args, stdout.io, clock)
  const failure = await stdout.failure()
  return failure === undefined ? code : await writeFailure(failure, terminal)
}

/** Runs the command, and returns its exit code. Writes a thrown error to standard error. */
async function runCommand(args: readonly string[], io: Terminal, clock: () => Promise<Clock>): Promise<number> {
  let code = 0
  const loadIO = async (): Promise<ProcessIO> => ({ ...io, clock: await clock() })
  const program = createProgram(io, loadIO, packageVersion(), (value) => {
    code = value
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) return await writeFailure(error, io)
    return error.exitCode === 0 ? 0 : (await import('./exit-code.ts')).EXIT.usage
  }
}

/** Writes the error, and returns its exit code. Loads the module late, because help texts don't need it. */
async function writeFailure(error: unknown, { stderr, env }: Terminal): Promise<number> {
  const { errorLine, exitCodeOfError } = await import('./exit-code.ts')
  stderr.write(`${errorLine(error, env)}\n`)
  return exitCodeOfError(error)
}

/** Returns the streams, environment and signals of this process. */
export function processIO(): Terminal {
  // A closed stderr must not end the process.
  process.stderr.on('error', () => {})
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    onSignal(signal, run) {
      process.on(signal, run)
      return () => void process.off(signal, run)
    },
  }
}

/** Returns the version of this package. `unknown` if its package.json has none. */
function packageVersion(): string {
  const require = createRequire(import.meta.url)
  const text = readFileSync(require.resolve('@reply/console/package.json'), 'utf8')
  const found: unknown = JSON.parse(text)
  const isNamed = typeof found === 'object' && found !== null && 'version' in found && typeof found.version === 'string'
  return isNamed ? String(found.version) : 'unknown'
}
