import { randomUUID } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { type Reply, ReplyError, type ReplyFailure, type ReplyObserver } from '@reply/core'
import { connectSource, createLocalAgent, type LocalRun, type Source } from '@reply/core/source'
import { requireCommand } from '../process/command-failure.ts'
import { type Exit, type ProcessOptions, type StartedProcess, startProcess } from '../process/start-process.ts'
import { promptText } from '../prompt-text.ts'
import { type CommandOutput, createTranscript, type OutputStream } from './transcript.ts'

/** The command that runs for each prompt, and how much of its output is kept. */
export interface CommandSourceOptions extends Omit<ProcessOptions, 'args' | 'signal'>, OutputOptions {
  /**
   * The arguments, or a function that builds them from the prompt's text, for example `(text) => ['-c', text]`. With a
   * list, the text goes to standard input. Default: none.
   */
  readonly args?: readonly string[] | ((text: string) => readonly string[]) | undefined
}

/**
 * Returns a source that runs a command for each prompt. The output is the answer: a text part for each stretch of
 * stdout or stderr, without terminal sequences. The part's `raw` is `{ stream, data }`, with them. Exit code 0
 * completes the reply, and another code or a signal fails it, unless the run was aborted. It never asks, and only takes
 * prompts of text.
 */
export function commandSource(options: CommandSourceOptions): Source {
  const { args } = options
  const usesStdin = typeof args !== 'function'
  const argsOf = (text: string): readonly string[] => (typeof args === 'function' ? args(text) : (args ?? []))
  return createCommandSource(options, argsOf, (text) => (usesStdin ? text : ''))
}

/** The command to run, and for how long. */
export interface CommandOptions extends ProcessOptions, OutputOptions {
  /** Its standard input. Default: empty. */
  readonly input?: string | undefined
  /** The text of `reply.prompt`. Default: the command's name without its arguments, which may hold secrets. */
  readonly title?: string | undefined
  /** Ends the group after this long without output, in ms. Default: no limit. */
  readonly timeoutMs?: number | undefined
  /** Returns observers for the reply, as in the client's `prompt`. Default: none. */
  readonly observe?: ((reply: Reply) => readonly ReplyObserver[]) | undefined
}

/** A command that ended, with its exit code or the signal that ended it. */
export interface CommandResult extends CommandOutput, Exit {
  /** The settled reply: `outcome` is `completed`, `failed`, `aborted` or `timed-out`. */
  readonly reply: Reply
}

/**
 * Runs a command to its end. Resolves with its result, also after a failure, an abort or a timeout. Rejects with
 * `unreachable` if it could not be started, and with `closed` if the signal aborted before the start.
 */
export async function run(options: CommandOptions): Promise<CommandResult> {
  const { args = [], input = '', title, timeoutMs, observe, signal, ...rest } = options
  if (signal?.aborted)
    throw new ReplyError('closed', `"${options.command}" was not started because its signal was aborted.`)
  await requireCommand(options)
  let ending: Promise<CommandEnd> | undefined
  const storeEnding = (ended: Promise<CommandEnd>): void => {
    ending = ended
  }
  const source = createCommandSource(
    rest,
    () => args,
    () => input,
    storeEnding,
  )
  const agent = connectSource(source, { onError: rest.onError, directory: options.cwd })
  try {
    const reply = await agent.prompt({ text: title ?? options.command }, { timeoutMs, signal, observe }).result
    if (ending === undefined && signal?.aborted)
      throw new ReplyError('closed', `"${options.command}" was not started because its signal was aborted.`)
    if (ending === undefined)
      throw new ReplyError('unreachable', reply.error?.message ?? `"${options.command}" was not started.`)
    return { ...(await ending), reply }
  } finally {
    await agent.close()
  }
}

/** How much output is kept, and who receives it. */
export interface OutputOptions {
  /**
   * How many bytes of stdout are kept, and as many of stderr. Longer output is cut in the middle, with a line that says
   * how much is missing. The reply shows the first three quarters as they arrive, and the rest at the end. Default
   * 1,048,576.
   */
  readonly maxBytes?: number | undefined
  /**
   * Receives all output as it arrives, in whole characters, with terminal sequences. The command waits while it runs.
   * Its exceptions go to `onError`.
   */
  readonly onChunk?: ((stream: OutputStream, text: string) => void) | undefined
  /** Receives errors that don't stop the command, for example exceptions of `onChunk`. Default: ignored. */
  readonly onError?: ((error: ReplyError) => void) | undefined
}

/**
 * Returns a source that runs a command for each prompt, with the arguments and the standard input that these functions
 * return for the prompt's text. `onStarted` gets the end of each command that has started.
 */
function createCommandSource(
  options: CommandSourceOptions,
  argsOf: (text: string) => readonly string[],
  inputOf: (text: string) => string,
  onStarted?: (ended: Promise<CommandEnd>) => void,
): Source {
  const { command, cwd = process.cwd(), args: _, ...rest } = options
  const children = new Map<LocalRun, StartedProcess>()
  const canceled = new WeakSet<LocalRun>()
  const agent = createLocalAgent({
    name: command,
    start: () => requireCommand({ ...rest, command, cwd }),
    create: ({ directory = cwd }) => ({ sessionID: `ses_${randomUUID()}`, directory }),
    takes: async () => [],
    prompt: async (run, prompt) => {
      const text = promptText(command, prompt)
      const started = {
        ...rest,
        command,
        args: argsOf(text),
        cwd: run.directory,
        input: inputOf(text),
        isCanceled: () => canceled.has(run),
      }
      const { child, ended } = await startForRun(run, started)
      children.set(run, child)
      // Stopped during the start.
      if (canceled.has(run) || !run.isOpen()) void child.close()
      const finished = ended.finally(() => children.delete(run))
      onStarted?.(finished)
      finished.catch((cause: unknown) =>
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
type CommandEnd = CommandOutput & Exit

/** A command to start for a run. */
interface CommandRun extends ProcessOptions, OutputOptions {
  readonly input: string
  /** Whether it is being stopped. Its exit code is ignored then. */
  readonly isCanceled: () => boolean
}

/**
 * Starts a command, writes `input` to it and its output to the run. Resolves when it has started, with the process and
 * the promise of its end, which also ends the run. Rejects as `startProcess` does.
 */
async function startForRun(
  run: LocalRun,
  options: CommandRun,
): Promise<{ readonly child: StartedProcess; readonly ended: Promise<CommandEnd> }> {
  const { command, input, isCanceled, maxBytes = 1_048_576, onChunk, onError } = options
  const child = await startProcess(options)
  // A command may end without reading its input.
  child.write(input).then(
    () => child.stdin.end(),
    () => {},
  )
  const transcript = createTranscript(run, maxBytes)
  return { child, ended: endWithCommand() }

  /**
   * Waits until the command has ended and all its output is in the run, then ends the run: as aborted if it is being
   * stopped, as completed for the exit code 0, and as failed otherwise. Resolves with the output and how the command
   * ended.
   */
  async function endWithCommand(): Promise<CommandEnd> {
    await Promise.all([readToEnd('stdout'), readToEnd('stderr')])
    const exit = await child.ended
    const written = transcript.end()
    if (isCanceled()) run.end({ type: 'aborted' })
    else run.end(exit.code === 0 ? { type: 'completed' } : { type: 'failed', error: exitFailure(command, exit) })
    return { ...written, ...exit }
  }

  /** Writes a stream's output to the run, in whole characters, until the command closes the stream. */
  async function readToEnd(stream: OutputStream): Promise<void> {
    const decoder = new StringDecoder('utf8')
    for await (const chunk of child[stream]) writeChunk(stream, decoder.write(chunk))
    writeChunk(stream, decoder.end())
  }

  /**
   * Writes a piece of output to the run, then passes it to `onChunk`, whose exceptions are reported. Does nothing for
   * an empty piece.
   */
  function writeChunk(stream: OutputStream, text: string): void {
    if (text === '') return
    transcript.push(stream, text)
    try {
      onChunk?.(stream, text)
    } catch (cause) {
      onError?.(new ReplyError('observer', `onChunk threw: ${String(cause)}. The command continues.`, { cause }))
    }
  }
}

/** Returns the error of a command that did not exit with 0, with the code or the signal. */
function exitFailure(command: string, exit: Exit): ReplyFailure {
  const how = exit.code === undefined ? `was ended by ${exit.signal ?? 'a signal'}` : `exited with code ${exit.code}`
  return { name: 'ExitError', message: `${command} ${how}.`, raw: exit }
}
