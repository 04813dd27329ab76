import { readFileSync } from 'node:fs'
import { systemClock } from '@reply/core'
import { CommanderError } from 'commander'
import { EXIT, exitOfError, sayError } from './exit-code.ts'
import { watchStdout } from './output-errors.ts'
import type { ProcessIO } from './process-io.ts'
import { createProgram } from './program.ts'

/**
 * Runs the `reply` command with the arguments after its name, and returns its exit code. Reads and writes only through
 * the given `ProcessIO`.
 */
export async function main(args: readonly string[], given: ProcessIO): Promise<number> {
  const stdout = watchStdout(given)
  const code = await run(args, stdout.io)
  const failure = await stdout.failure()
  if (failure === undefined) return code
  given.stderr.write(`${sayError(failure, given.env)}\n`)
  return exitOfError(failure)
}

async function run(args: readonly string[], io: ProcessIO): Promise<number> {
  let code: number = EXIT.done
  const program = createProgram({ io, version: version(), exit: (value) => (code = value) })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    io.stderr.write(`${sayError(error, io.env)}\n`)
    return exitOfError(error)
  }
}

/** The real process. */
export function processIO(): ProcessIO {
  // A closed stderr must not end the process.
  process.stderr.on('error', () => {})
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    onSignal(signal, run) {
      process.on(signal, run)
      return () => void process.off(signal, run)
    },
  }
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  const found: unknown = JSON.parse(text)
  const isNamed = typeof found === 'object' && found !== null && 'version' in found && typeof found.version === 'string'
  return isNamed ? String(found.version) : 'unknown'
}
