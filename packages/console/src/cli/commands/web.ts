import { openServer } from '../connection.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { loadWeb, portError } from '../load-web.ts'
import { missingSession } from '../missing-session.ts'
import { noteWriter } from '../output.ts'
import type { ProcessIO } from '../process-io.ts'
import { addressOf, type ServerOptions, shownUrl } from '../server-url.ts'

/** The options of `reply web`. */
export interface WebCommandOptions extends ServerOptions {
  /** The only session to show. Default: all. */
  readonly session?: string | undefined
  /** The port of the pages. Default: a free one. */
  readonly port?: number | undefined
}

/**
 * Shows the replies on a server, or in one session, in the browser, and prints the address. Resolves with 0 on Control-C. Rejects
 * with `missing` if the session does not exist, and with `usage` if the port is taken.
 */
export async function web(options: WebCommandOptions, io: ProcessIO): Promise<number> {
  const { session, directory, port } = options
  const { serveDesk } = await loadWeb('reply web')
  const note = noteWriter(io, {})
  const url = shownUrl(options, io.env)
  const missing = missingSession(session, url)
  const client = await openServer(options, io, note, { onFailure: missing.onFailure })
  const exit = listenForExit(io, { interrupted: () => EXIT.done })
  try {
    const desk = await serveDesk(client, {
      target: { ...(session !== undefined && { sessionID: session }), ...(directory !== undefined && { directory }) },
      isLocal: isLoopback(addressOf(options, io.env).url),
      who: io.env.USER ?? io.env.USERNAME,
      port,
      clock: io.clock,
      onError: (error) => note(error instanceof Error ? error.message : String(error)),
    }).catch((cause: unknown) => {
      throw portError(port, cause)
    })
    try {
      note(`watching ${session ?? 'every session'} at ${url}. Press Control-C to stop`)
      note('Open this address. Everyone who has it can see the replies, answer and stop them:')
      // Not wrapped, so that a terminal links it as a whole.
      io.stdout.write(`${desk.url}\n`)
      return await Promise.race([exit.code, missing.rejected])
    } finally {
      await desk.close()
    }
  } finally {
    exit.stop()
    await client.close()
  }
}

/** Whether a server is on this computer, as far as its address tells. */
function isLoopback(url: string): boolean {
  return URL.canParse(url) && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
}
