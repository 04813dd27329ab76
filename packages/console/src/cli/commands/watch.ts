import type { Reply, ReplyObserver } from '@reply/core'
import { sessionsCure, unknownSessionIn } from '../../view/outcome.ts'
import { openServer } from '../connection.ts'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { createOutput, noteWriter, type OutputOptions } from '../output.ts'
import type { ProcessIO } from '../process-io.ts'
import { type ServerOptions, shownUrl } from '../server-url.ts'

/** The options of `reply watch`. */
export interface WatchCommandOptions extends ServerOptions, OutputOptions {
  /** The only session to show. Default: all. */
  readonly session?: string | undefined
}

/**
 * Shows every reply on a server or in one session, including those of other clients. Resolves with 0 on Control-C. Rejects
 * with `missing` if the session does not exist.
 */
export async function watch(options: WatchCommandOptions, io: ProcessIO): Promise<number> {
  const { session, directory } = options
  const note = noteWriter(io, options)
  const url = shownUrl(options, io.env)
  let rejectMissing: (error: ConsoleError) => void = () => {}
  const missing = new Promise<never>((_, reject) => {
    rejectMissing = reject
  })
  const client = await openServer(options, io, note, {
    isShowing: () => output.isShowing(),
    missed: () => output.missedText(),
    onFailure({ type, message }) {
      if (type !== 'gone' || session === undefined || unknownSessionIn(message) !== session) return false
      rejectMissing(new ConsoleError('missing', `No session ${session} at ${url}. ${sessionsCure}`))
      return true
    },
  })
  const output = createOutput(io, options, { prompt: true, client })
  note(`watching ${session ?? 'every session'} at ${url}. Press Control-C to stop`)
  const exit = listenForExit(io, { interrupted: () => EXIT.done })

  /** Returns the observers of a reply, which show it and write its line of `--json` once it has settled. */
  function observersFor(reply: Reply): readonly ReplyObserver[] {
    return [...output.observe(reply), { replySettled: (settled) => output.printJson(settled.reply) }]
  }

  const stop = client.watch(
    {
      ...(session === undefined ? {} : { sessionID: session }),
      ...(directory === undefined ? {} : { directory }),
    },
    { observe: (reply) => [...observersFor(reply)] },
  )
  try {
    return await Promise.race([exit.code, missing])
  } finally {
    exit.stop()
    stop()
    await output.stop()
    await client.close()
  }
}
