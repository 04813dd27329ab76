import type { Reply, ReplyObserver } from '@reply/core'
import { openServer } from '../connection.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { missingSession } from '../missing-session.ts'
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
  const missing = missingSession(session, url)
  const client = await openServer(options, io, note, {
    isShowing: () => output.isShowing(),
    missed: () => output.missedText(),
    onFailure: missing.onFailure,
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
    return await Promise.race([exit.code, missing.rejected])
  } finally {
    exit.stop()
    stop()
    await output.stop()
    await client.close()
  }
}
