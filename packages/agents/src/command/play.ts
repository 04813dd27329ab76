import { StringDecoder } from 'node:string_decoder'
import { ReplyError, type ReplyFailure } from '@reply/core'
import type { LocalRun } from '@reply/core/source'
import { type Child, type ChildOptions, type Exit, startChild } from '../process/start.ts'
import { createTranscript, type OutputStream, type Written } from './transcript.ts'

/** What of a command is shown and kept. */
export interface OutputOptions {
  /**
   * How much of stdout is kept, in bytes, and as much of stderr. More is cut in the middle, and a line says so. The
   * reply shows the first three quarters as they come, and the rest at the end. Default 1,048,576.
   */
  readonly maxBytes?: number | undefined
  /**
   * Receives all that the command writes as it comes, in whole characters, terminal sequences included. The command
   * waits while it runs. What it throws goes to `onError`.
   */
  readonly onChunk?: ((stream: OutputStream, text: string) => void) | undefined
  /** Receives errors that stop nothing, such as one that `onChunk` throws. Default: they are ignored. */
  readonly onError?: ((error: ReplyError) => void) | undefined
}

/** A command that ended. */
export type Played = Written & Exit

interface PlayOptions extends ChildOptions, OutputOptions {
  readonly input: string
  /** Whether it is being stopped: then its exit code says nothing. */
  readonly isCanceled: () => boolean
}

/** Starts a command and shows it in a run, which ends with it. Resolves when it has started. */
export async function play(
  run: LocalRun,
  options: PlayOptions,
): Promise<{ readonly child: Child; readonly ended: Promise<Played> }> {
  const { command, input, isCanceled, maxBytes = 1_048_576, onChunk, onError } = options
  const child = await startChild(options)
  // A command may end without reading its input.
  child.write(input).then(
    () => child.stdin.end(),
    () => {},
  )
  const transcript = createTranscript(run, maxBytes)
  return { child, ended: follow() }

  async function follow(): Promise<Played> {
    await Promise.all([read('stdout'), read('stderr')])
    const exit = await child.ended
    const written = transcript.end()
    if (isCanceled()) run.end({ type: 'aborted' })
    else run.end(exit.code === 0 ? { type: 'completed' } : { type: 'failed', error: exitFailure(command, exit) })
    return { ...written, ...exit }
  }

  async function read(stream: OutputStream): Promise<void> {
    const decoder = new StringDecoder('utf8')
    for await (const chunk of child[stream]) take(stream, decoder.write(chunk))
    take(stream, decoder.end())
  }

  function take(stream: OutputStream, text: string): void {
    if (text === '') return
    transcript.push(stream, text)
    try {
      onChunk?.(stream, text)
    } catch (cause) {
      onError?.(new ReplyError('observer', `onChunk threw: ${String(cause)}. The command goes on.`, { cause }))
    }
  }
}

/** How a command that did not end with 0 is told. */
export function exitFailure(command: string, exit: Exit): ReplyFailure {
  const how = exit.code === undefined ? `was ended by ${exit.signal ?? 'a signal'}` : `exited with code ${exit.code}`
  return { name: 'ExitError', message: `${command} ${how}.`, raw: exit }
}
