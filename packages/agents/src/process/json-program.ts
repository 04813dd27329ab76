import { ReplyError } from '@reply/core'
import { createRedactor, hideValues, type ProgramInput, safeOnError, secretsIn } from '@reply/core/internal'
import { linesOf } from './lines.ts'
import { createPlainText } from './plain-text.ts'
import { type Exit, type ProcessOptions, startProcess } from './start-process.ts'

/** A program that exchanges lines of JSON. */
export interface JsonProgram {
  /**
   * Writes one value as a line. Rejects with `closed` if the program no longer reads. The program is ended then, and
   * `onEnd` was called.
   */
  send(value: unknown): Promise<void>
  /** Ends its input, so that the program can exit. */
  finish(): void
  /** Ends its input, and its process group if it has not exited after two seconds. */
  close(): Promise<void>
}

export interface JsonProgramOptions extends ProcessOptions {
  /**
   * Called with the value of each line, and the line, in order. Empty lines, and those that are not JSON, are left out.
   * Exceptions are reported as `malformed`, without the line, which may contain secrets.
   */
  readonly onMessage: (value: unknown, line: string) => void
  /** Called once, after the last line. `last` is the error line of its stderr, with secrets redacted. May be empty. */
  readonly onEnd: (exit: Exit, last: string) => void
  /** Called with `malformed` for the first of several lines that are not JSON, and with `too-large` for long lines. */
  readonly onError: (error: ReplyError) => void
}

/**
 * Starts an agent that takes and writes JSON, one value a line, and reads it until it ends. `send` writes a value. Rejects
 * as `startProcess` does. Exceptions of `onError` are ignored.
 */
export async function startJsonProgram(options: JsonProgramOptions): Promise<JsonProgram> {
  const { command, onMessage, onEnd } = options
  const onError = safeOnError(options.onError)
  const child = await startProcess(options)
  const lastLine = createLastLine(options)
  const finished = readUntilEnd()
  return {
    send,
    finish: () => void child.stdin.end(),
    close: child.closeGently,
  }

  /** Writes one value as a line. If that fails, ends the program and waits for `onEnd` before it rejects. */
  async function send(value: unknown): Promise<void> {
    try {
      await child.write(`${JSON.stringify(value)}\n`)
    } catch (error) {
      await child.close()
      await finished
      throw error
    }
  }

  /** Reads both streams to their ends, waits for the program's, and calls `onEnd`. */
  async function readUntilEnd(): Promise<void> {
    await Promise.allSettled([readLines(), readErrors()])
    onEnd(await child.ended, lastLine.end())
  }

  /**
   * Passes the lines of standard output on, until it ends. Skips empty ones and those that are not JSON, and reports
   * the first of several of these.
   */
  async function readLines(): Promise<void> {
    let wasInvalid = false
    for await (const line of linesOf(child.stdout, { onError })) {
      if (line.trim() === '') continue
      const value = parsed(line)
      // Reports only the first of several invalid lines. Doesn't quote it, because it may contain secrets.
      if (value === undefined && !wasInvalid)
        onError(
          new ReplyError(
            'malformed',
            `${command} wrote a line of ${line.length} characters that is not JSON. It was skipped. Send logs to stderr.`,
          ),
        )
      wasInvalid = value === undefined
      if (value !== undefined) passOn(value, line)
    }
  }

  /** Calls `onMessage`, and reports its exception. */
  function passOn(value: unknown, line: string): void {
    try {
      onMessage(value, line)
    } catch (error) {
      // Leaves out the message and the cause, because both may quote the line.
      const kind = error instanceof Error ? error.name : typeof error
      const problem = `A line of ${command} of ${line.length} characters could not be used (${kind}). It was skipped`
      onError(new ReplyError('malformed', `${problem}. Report this with the version of the program.`))
    }
  }

  /** Reads standard error for its last line, until it ends. */
  async function readErrors(): Promise<void> {
    for await (const chunk of child.stderr.setEncoding('utf8')) lastLine.push(String(chunk))
  }
}

/** Returns the value of a JSON text. Undefined if it is not JSON. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/**
 * The line of a program's stderr that explains its end: the last line that looks like an error, else the last line.
 * Node.js and Rust write a stack after the error.
 */
interface LastLine {
  /** Adds text, which may end anywhere. */
  push(text: string): void
  /** Returns the line without terminal sequences and secrets, its last 2,000 characters. Empty if there is none. Call it once. */
  end(): string
}

/** How much of stderr's end is kept, in UTF-16 units. Enough for a stack. */
const mostKept = 10_000

/** How much of the line's end is shown, in UTF-16 units. */
const mostShown = 2000

/** `TypeError: …`, `Error [ERR_X]: …`, `error: …`, `fatal: …` */
const errorLine = /^(?:[a-z]*error|fatal)\b.{0,40}?:/i

/**
 * Collects a program's stderr. `end` returns the line that explains best why the program ended, for its error. Redacts
 * secrets, and the values of arguments and variables, here or in `env`, that are named like secrets. It does so before it
 * cuts the text, because a cut could remove the sign by which a secret is recognized.
 */
export function createLastLine({ args, env }: ProgramInput): LastLine {
  const plain = createPlainText()
  const values = hideValues(secretsIn({ args, env: { ...process.env, ...env } }))
  const redactor = createRedactor()
  let kept = ''
  return {
    push: (text) => keep(redactor.push(values.push(plain.push(text)))),
    end: () => {
      keep(redactor.push(values.push(plain.end()) + values.end()) + redactor.end())
      const lines = kept.split('\n').map((line) => line.trim())
      const line = lines.findLast((one) => errorLine.test(one)) ?? lines.findLast((one) => one !== '') ?? ''
      return line.slice(-mostShown)
    },
  }

  /** Adds redacted text, and drops all but the last 10,000 characters. */
  function keep(text: string): void {
    kept = `${kept}${text}`.slice(-mostKept)
  }
}
