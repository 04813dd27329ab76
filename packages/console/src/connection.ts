import { type ConnectOptions, connect, type OpenCode, ReplyError } from '@reply/core'
import { reasonText } from './failure.ts'
import { createOutage } from './outage.ts'
import { DEFAULT_URL, type ServerOptions } from './server.ts'
import { NOTHING_MISSED } from './trouble.ts'
import type { World } from './world.ts'

export interface OpenOptions extends Pick<ConnectOptions, 'onFrame'> {
  /** Whether replies are on show: they say themselves that the connection is lost. Default: none is. */
  readonly isShowing?: () => boolean
  /** What of a gap is not here, in words that begin with a comma or a semicolon. Default: nothing is missed. */
  readonly missed?: () => string
  /** Hears of each failure first. Returns whether that was all there is to say. */
  readonly onFailure?: (error: ReplyError) => boolean
}

/**
 * Connects with the credentials of the environment (`OPENCODE_SERVER_PASSWORD`, `OPENCODE_SERVER_USERNAME`) and waits
 * until the server has answered. `remark` hears of what goes wrong without ending anything, each thing once.
 */
export async function openServer(
  options: ServerOptions,
  world: World,
  remark: (text: string) => void,
  { onFrame, onFailure, isShowing = () => false, missed = () => NOTHING_MISSED }: OpenOptions = {},
): Promise<OpenCode> {
  const { OPENCODE_SERVER_PASSWORD: password, OPENCODE_SERVER_USERNAME: username } = world.env
  const said = new Set<string>()
  // Before it is open, the failure is thrown; after it was closed, it is nobody's any more.
  let open = false
  const outage = createOutage({ clock: world.clock, remark, isSaid: isShowing, missed })

  function onError(error: ReplyError): void {
    if (!open || onFailure?.(error)) return
    outage.hear(error, () => tell(error))
  }

  function tell({ message }: ReplyError): void {
    if (said.has(message) || said.size >= 20) return
    said.add(message)
    remark(reasonText(message))
  }

  const opencode = connect({
    url: options.url ?? DEFAULT_URL,
    onError,
    clock: world.clock,
    onFrame,
    onConnection: outage.tell,
    ...(options.directory === undefined ? {} : { directory: options.directory }),
    ...(password === undefined || password === '' ? {} : { password }),
    ...(username === undefined || username === '' ? {} : { username }),
  })

  async function close(): Promise<void> {
    open = false
    outage.stop()
    await opencode.close()
  }

  try {
    await opencode.ready
    open = true
    return { ...opencode, close }
  } catch (error) {
    await close()
    if (!(error instanceof ReplyError)) throw error
    throw new ReplyError(error.type, error.message.replace('give another url', 'use --url'), { cause: error })
  }
}
