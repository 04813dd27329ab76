import { type Reply, ReplyError, type ReplyObserver } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { requireCommand } from '../process/find.ts'
import type { ChildOptions, Exit } from '../process/start.ts'
import type { OutputOptions, Played } from './play.ts'
import { createProcessSource } from './source.ts'
import type { Written } from './transcript.ts'

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
