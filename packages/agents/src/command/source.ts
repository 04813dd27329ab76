import { randomUUID } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { type Reply, ReplyError, type ReplyFailure, type ReplyObserver } from '@reply/core'
import { connectSource, createLocalAgent, type LocalRun, type Source } from '@reply/core/source'
import { requireCommand } from '../process/command-failure.ts'
import { type Child, type ChildOptions, type Exit, startChild } from '../process/start-process.ts'
import { textOnly } from '../prompt-text.ts'
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

/** Which command runs for each prompt, and what of it is kept. */
export interface ProcessOptions extends Omit<ChildOptions, 'args' | 'signal'>, OutputOptions {
  /**
   * Its arguments, or a function that puts a prompt's text into them. With a list, the text goes to its standard input.
   * Default: none.
   */
  readonly args?: readonly string[] | ((text: string) => readonly string[]) | undefined
}

/**
 * A source that runs a command for each prompt, as its agent. What it writes is the answer: a text part for each stretch
 * of stdout or stderr, without terminal sequences; the part's `raw` is `{ stream, data }` with them. The exit code 0
 * completes the reply, all else fails it. It asks nothing.
 */
export function processSource(options: ProcessOptions): Source {
  const { args } = options
  const isTyped = typeof args !== 'function'
  return createProcessSource(options, {
    argsOf: (text) => (typeof args === 'function' ? args(text) : (args ?? [])),
    inputOf: (text) => (isTyped ? text : ''),
  })
}

/** Which command to run, and how long. */
export interface RunOptions extends ChildOptions, OutputOptions {
  /** What it reads from its standard input. Default: nothing. */
  readonly input?: string | undefined
  /** What `reply.prompt` says. Default: the command's name; its arguments may hold secrets. */
  readonly title?: string | undefined
  /** The group is ended after this long without output, in ms. Default: no limit. */
  readonly timeoutMs?: number | undefined
  /** As in the core's `prompt`: the returned observers receive the reply from its beginning to its end. */
  readonly observe?: ((reply: Reply) => readonly ReplyObserver[]) | undefined
}

/** A command that ended, with its exit code or the signal that ended it. */
export interface ProcessResult extends Written, Exit {
  /** The settled reply: `outcome` is `completed`, `failed`, `aborted` or `timed-out`. */
  readonly reply: Reply
}

/**
 * Runs a command to its end. Resolves however it ended, also when it was aborted or its time was up; rejects with
 * `unreachable` if it could not be started, and with `closed` if the signal aborted before.
 */
export async function run(options: RunOptions): Promise<ProcessResult> {
  const { args = [], input = '', title, timeoutMs, observe, signal, ...rest } = options
  if (signal?.aborted) throw new ReplyError('closed', `"${options.command}" was not started: it was aborted before.`)
  await requireCommand(options)
  let played: Promise<Played> | undefined
  const source = createProcessSource(rest, {
    argsOf: () => args,
    inputOf: () => input,
    onPlayed: (ending) => {
      played = ending
    },
  })
  const agent = connectSource(source, { onError: rest.onError, directory: options.cwd })
  try {
    const reply = await agent.prompt({ text: title ?? options.command }, { timeoutMs, signal, observe }).result
    if (played === undefined && signal?.aborted)
      throw new ReplyError('closed', `"${options.command}" was not started: it was aborted before.`)
    if (played === undefined)
      throw new ReplyError('unreachable', reply.error?.message ?? `"${options.command}" was not started.`)
    return { ...(await played), reply }
  } finally {
    await agent.close()
  }
}

interface Hooks {
  readonly argsOf: (text: string) => readonly string[]
  readonly inputOf: (text: string) => string
  readonly onPlayed?: (played: Promise<Played>) => void
}

export function createProcessSource(options: ProcessOptions, { argsOf, inputOf, onPlayed }: Hooks): Source {
  const { command, cwd = process.cwd(), args: _, ...rest } = options
  const children = new Map<LocalRun, Child>()
  const canceled = new WeakSet<LocalRun>()
  const agent = createLocalAgent({
    name: command,
    start: () => requireCommand({ ...rest, command, cwd }),
    create: ({ directory = cwd }) => ({ sessionID: `ses_${randomUUID()}`, directory }),
    prompt: async (run, prompt) => {
      const text = textOnly(command, prompt)
      const started = {
        ...rest,
        command,
        args: argsOf(text),
        cwd: run.directory,
        input: inputOf(text),
        isCanceled: () => canceled.has(run),
      }
      const { child, ended } = await play(run, started)
      children.set(run, child)
      // Stopped while it was started.
      if (canceled.has(run) || !run.isOpen()) void child.close()
      const over = ended.finally(() => children.delete(run))
      onPlayed?.(over)
      over.catch((cause: unknown) =>
        run.end({ type: 'failed', error: { name: 'UnknownError', message: String(cause), raw: undefined } }),
      )
    },
    cancel: async (run) => {
      canceled.add(run)
      await children.get(run)?.close()
    },
    close: () => {
      for (const child of children.values()) void child.close()
    },
  })
  return agent.source
}

/** A command that ended. */
export type Played = Written & Exit

interface PlayOptions extends ChildOptions, OutputOptions {
  readonly input: string
  /** Whether it is being stopped: then its exit code says nothing. */
  readonly isCanceled: () => boolean
}

/** Starts a command and shows it in a run, which ends with it. Resolves when it has started. */
async function play(
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
function exitFailure(command: string, exit: Exit): ReplyFailure {
  const how = exit.code === undefined ? `was ended by ${exit.signal ?? 'a signal'}` : `exited with code ${exit.code}`
  return { name: 'ExitError', message: `${command} ${how}.`, raw: exit }
}
