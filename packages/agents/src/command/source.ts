import { randomUUID } from 'node:crypto'
import { createLocalAgent, type LocalRun, type Source } from '@reply/core/source'
import { requireCommand } from '../process/find.ts'
import type { Child, ChildOptions } from '../process/start.ts'
import { type OutputOptions, type Played, play } from './play.ts'
import { textOnly } from './text-only.ts'

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
