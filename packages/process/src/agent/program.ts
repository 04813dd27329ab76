import { ReplyError, safeOnError } from '@reply/core'
import { type ChildOptions, type Exit, startChild } from '../child/start.ts'
import { linesOf } from '../lines.ts'

/** A program that speaks in lines of JSON. */
export interface Program {
  /** Writes one value as a line. Rejects with `closed` if the program reads no more. */
  send(value: unknown): Promise<void>
  /** Ends its input: it should end by itself. */
  finish(): void
  /** Ends its group. */
  close(): Promise<void>
}

export interface ProgramOptions extends ChildOptions {
  /** Called for each line, in order. What it throws is reported. */
  readonly onLine: (value: unknown, line: string) => void
  /** Called once, after its last line. `said` is the end of its stderr. */
  readonly onEnd: (exit: Exit, said: string) => void
  /** Receives where lines begin that are not JSON, as `malformed`, and lines that are too long. */
  readonly onError: (error: ReplyError) => void
}

/** How much of stderr is kept for the error that ends a run, in UTF-16 units. */
const mostSaid = 2000

/** Starts a program. Rejects as `startChild` does. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { command, onLine, onEnd } = options
  const onError = safeOnError(options.onError)
  const child = await startChild(options)
  let said = ''
  void follow()
  return {
    send: async (value) => await child.write(`${JSON.stringify(value)}\n`),
    finish: () => void child.stdin.end(),
    close: child.close,
  }

  async function follow(): Promise<void> {
    await Promise.allSettled([readLines(), readErrors()])
    onEnd(await child.ended, said.trim())
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
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause)
      onError(new ReplyError('malformed', `A line of ${command} could not be used: ${words}`, { cause }))
    }
  }

  async function readErrors(): Promise<void> {
    for await (const chunk of child.stderr.setEncoding('utf8')) said = `${said}${String(chunk)}`.slice(-mostSaid)
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
