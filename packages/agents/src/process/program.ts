import { ReplyError } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import { createLastLine } from './last-line.ts'
import { linesOf } from './lines.ts'
import { type ChildOptions, type Exit, startChild } from './start.ts'

/** A program that speaks in lines of JSON. */
export interface Program {
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

export interface ProgramOptions extends ChildOptions {
  /** Called for each line, in order. What it throws is reported. */
  readonly onLine: (value: unknown, line: string) => void
  /** Called once, after its last line. `last` is what its stderr says of that, with secrets redacted; it may be empty. */
  readonly onEnd: (exit: Exit, last: string) => void
  /** Receives where lines begin that are not JSON, as `malformed`, and lines that are too long. */
  readonly onError: (error: ReplyError) => void
}

/** Starts a program. Rejects as `startChild` does. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { command, onLine, onEnd } = options
  const onError = safeOnError(options.onError)
  const child = await startChild(options)
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
