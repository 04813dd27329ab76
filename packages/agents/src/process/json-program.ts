import { ReplyError } from '@reply/core'
import { createRedactor, hideValues, type ProgramInput, safeOnError, secretsIn } from '@reply/core/internal'
import { linesOf } from './lines.ts'
import { createPlainText } from './plain-text.ts'
import { type Exit, type ProcessOptions, startProcess } from './start-process.ts'

/** A program that speaks in lines of JSON. */
export interface JsonProgram {
  /**
   * Writes one value as a line. Rejects with `closed` if the program reads no more: it is ended then, and `onEnd` has said
   * how.
   */
  send(value: unknown): Promise<void>
  /** Ends its input: it should end by itself. */
  finish(): void
  /** Ends its group. */
  close(): Promise<void>
}

export interface JsonProgramOptions extends ProcessOptions {
  /** Called for each line, in order. What it throws is reported. */
  readonly onLine: (value: unknown, line: string) => void
  /** Called once, after its last line. `last` is what its stderr says of that, with secrets redacted; it may be empty. */
  readonly onEnd: (exit: Exit, last: string) => void
  /** Receives where lines begin that are not JSON, as `malformed`, and lines that are too long. */
  readonly onError: (error: ReplyError) => void
}

/** Starts a program. Rejects as `startProcess` does. */
export async function startJsonProgram(options: JsonProgramOptions): Promise<JsonProgram> {
  const { command, onLine, onEnd } = options
  const onError = safeOnError(options.onError)
  const child = await startProcess(options)
  const last = createLastLine(options)
  const over = follow()
  return {
    send,
    finish: () => void child.stdin.end(),
    close: child.close,
  }

  async function send(value: unknown): Promise<void> {
    try {
      await child.write(`${JSON.stringify(value)}\n`)
    } catch (error) {
      await child.close()
      await over
      throw error
    }
  }

  async function follow(): Promise<void> {
    await Promise.allSettled([readLines(), readErrors()])
    onEnd(await child.ended, last.end())
  }

  async function readLines(): Promise<void> {
    let isInGarbage = false
    for await (const line of linesOf(child.stdout, { onError })) {
      if (line.trim() === '') continue
      const value = parsed(line)
      // Reports where garbage begins, not each of its lines. Names no content: a line may hold secrets.
      if (value === undefined && !isInGarbage)
        onError(
          new ReplyError(
            'malformed',
            `${command} wrote a line of ${line.length} characters that is not JSON; it was skipped. Send logs to stderr.`,
          ),
        )
      isInGarbage = value === undefined
      if (value !== undefined) take(value, line)
    }
  }

  function take(value: unknown, line: string): void {
    try {
      onLine(value, line)
    } catch (error) {
      // Neither its words nor the error as a cause: both may quote the line.
      const kind = error instanceof Error ? error.name : typeof error
      const words = `A line of ${command} of ${line.length} characters could not be used (${kind})`
      onError(new ReplyError('malformed', `${words}; it was skipped. Report this with the version of the program.`))
    }
  }

  async function readErrors(): Promise<void> {
    for await (const chunk of child.stderr.setEncoding('utf8')) last.push(String(chunk))
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/**
 * What a program's stderr says of its end: its last line that begins like an error, else its last line. Node.js and Rust
 * write a stack behind an error.
 */
interface LastLine {
  push(text: string): void
  /** Without terminal sequences and secrets. Empty if it wrote nothing. */
  end(): string
}

/** How much of stderr's end is kept, in UTF-16 units: enough for a stack. */
const mostKept = 10_000

/** How much of the line's end is shown, in UTF-16 units. */
const mostShown = 2000

/** `TypeError: …`, `Error [ERR_X]: …`, `error: …`, `fatal: …` */
const errorLine = /^(?:[a-z]*error|fatal)\b.{0,40}?:/i

/**
 * Redacts all that comes, before any of it is cut off: a cut could remove the sign by which a secret is known. The values
 * of variables and arguments that are named like secrets are redacted as well. `env` is what was added to this process's
 * environment.
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
      const said = lines.findLast((line) => errorLine.test(line)) ?? lines.findLast((line) => line !== '') ?? ''
      return said.slice(-mostShown)
    },
  }

  function keep(text: string): void {
    kept = `${kept}${text}`.slice(-mostKept)
  }
}
