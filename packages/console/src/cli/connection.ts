import { type Client, type ConnectOptions, connect, ReplyError } from '@reply/core'
import { reasonIn } from '@reply/core/show'
import { cleanLine } from '../format/sanitize.ts'
import { createConnectionNotice } from '../view/connection-notice.ts'
import { NOTHING_MISSED } from '../view/delays.ts'
import { openAgent } from './open-agent.ts'
import type { ProcessIO } from './process-io.ts'
import { addressOf, type ServerOptions } from './server-url.ts'

export interface OpenOptions extends Pick<ConnectOptions, 'onFrame'> {
  /** Whether replies are shown; they report a lost connection themselves. Default: false. */
  readonly isShowing?: () => boolean
  /** What was missed in an outage, in words that begin with a comma or a semicolon. Default: nothing. */
  readonly missed?: () => string
  /** Called first with each failure. Returns true if the failure is fully reported. */
  readonly onFailure?: (error: ReplyError) => boolean
}

/**
 * Connects with the credentials of the URL or the environment, or starts an agent, and waits until the server has answered. Calls `note`
 * once for each failure that does not end the command.
 */
export async function openServer(
  options: ServerOptions,
  io: ProcessIO,
  note: (text: string) => void,
  { onFrame, onFailure, isShowing = () => false, missed = () => NOTHING_MISSED }: OpenOptions = {},
): Promise<Client> {
  const reported = new Set<string>()
  // Failures before this are thrown; after closing they are dropped.
  let open = false
  const notice = createConnectionNotice({ clock: io.clock, note, isShowing, missed })

  function onError(error: ReplyError): void {
    if (!open || onFailure?.(error)) return
    notice.onFailure(error, () => report(error))
  }

  function report(error: ReplyError): void {
    const message = curedHere(error)
    if (reported.has(message) || reported.size >= 20) return
    reported.add(message)
    note(cleanLine(reasonIn(message)))
  }

  const { via, directory } = options
  const settings = { onError, clock: io.clock, onFrame, onConnection: notice.onConnection }
  const opencode =
    via === undefined
      ? connect({ ...addressOf(options, io.env), ...settings, ...(directory !== undefined && { directory }) })
      : await openAgent(via, { ...settings, directory, env: io.env })

  /** The core's message names options of `connect`; here they are command options or environment variables. */
  function curedHere({ type, message }: ReplyError): string {
    if (type !== 'unauthorized') return message.replace('give another url', 'use --url')
    const cure =
      "set OPENCODE_SERVER_PASSWORD, and OPENCODE_SERVER_USERNAME if the server has one, to the server's values; for OpenCode 2 set OPENCODE_PASSWORD, which `opencode service get password` prints."
    return message.replace(/connect\(\) needs .*$/, cure)
  }

  async function close(): Promise<void> {
    open = false
    notice.stop()
    await opencode.close()
  }

  try {
    await opencode.ready
    open = true
    return { ...opencode, close }
  } catch (error) {
    await close()
    if (!(error instanceof ReplyError)) throw error
    throw new ReplyError(error.type, curedHere(error), { cause: error })
  }
}
