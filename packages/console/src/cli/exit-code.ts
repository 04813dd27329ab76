import { type Outcome, ReplyError } from '@reply/core'
import { cleanLine } from '../format/sanitize.ts'
import type { Environment } from '../terminal/surface.ts'
import { ConsoleError } from './error.ts'
import { passwordsOf } from './server-url.ts'

/** Exit codes of the `reply` command. Codes from 128 on mean that a signal ended it. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  timedOut: 3,
  lost: 4,
  interrupted: 130,
  hungUp: 129,
  terminated: 143,
  readerLeft: 141,
} as const

/** Returns the exit code: 0 for completed, 1 for failed, stopped, aborted and no outcome, 3 for timed-out, 4 for lost. */
export function exitCodeOf(outcome: Outcome | undefined): number {
  switch (outcome) {
    case 'completed':
      return EXIT.done
    case undefined:
    case 'failed':
    case 'stopped':
    case 'aborted':
      return EXIT.failed
    case 'timed-out':
      return EXIT.timedOut
    case 'lost':
      return EXIT.lost
  }
  return outcome satisfies never
}

/** Returns 2 for a usage error or an invalid value, and 1 for any other error. */
export function exitCodeOfError(error: unknown): number {
  if (error instanceof ConsoleError && error.type === 'usage') return EXIT.usage
  if (error instanceof ReplyError && error.type === 'invalid') return EXIT.usage
  return EXIT.failed
}

/** Returns one line for people. It never contains credentials, whatever the error's origin. */
export function errorLine(error: unknown, env: Environment): string {
  const text = cleanLine(error instanceof Error ? error.message : String(error)) || 'it failed without an error message'
  const hidden = passwordsOf(env).reduce((shown, password) => shown.replaceAll(password, '***'), text)
  return `reply: ${hidden.replace(/\/\/[^/\s@]+@/g, '//***@')}`
}
