import { resolve } from 'node:path'
import { type Client, type Clock, type ConnectOptions, connect, ReplyError } from '@reply/core'
import { duration, reasonIn } from '@reply/core/show'
import { connectSource, type DriveOptions } from '@reply/core/source'
import { texts } from '@reply/sink'
import { cleanLine } from '../format/sanitize.ts'
import type { Environment } from '../terminal/surface.ts'
import { NOTHING_MISSED } from '../view/delays.ts'
import { ConsoleError } from './error.ts'
import type { ProcessIO } from './process-io.ts'
import { addressOf, type ServerOptions } from './server-url.ts'

export interface OpenHandlers extends Pick<ConnectOptions, 'onFrame'> {
  /** Whether replies are shown, which report a lost connection themselves. Default: false. */
  readonly isShowing?: () => boolean
  /** Describes the events missed in an outage. Begins with a comma. Default: nothing missed. */
  readonly missed?: () => string
  /** Called first with each failure. Returns true if the failure is fully reported. */
  readonly onFailure?: (error: ReplyError) => boolean
}

/**
 * Connects with the credentials of the URL or the environment, or starts an agent, and waits until the server has
 * answered. Calls `note` once for each failure that does not end the command. Rejects with a `ReplyError` if connecting
 * fails, and with `missing` for `via` without the package of the agents.
 */
export async function openServer(
  options: ServerOptions,
  io: ProcessIO,
  note: (text: string) => void,
  { onFrame, onFailure, isShowing = () => false, missed = () => NOTHING_MISSED }: OpenHandlers = {},
): Promise<Client> {
  const reported = new Set<string>()
  // Failures are thrown while this is false, and dropped after `close`.
  let open = false
  const notice = createConnectionNotice(io.clock, note, isShowing, missed)

  /**
   * Passes a failure on to be noted. Drops failures before the connection is open, after `close`, and those that `onFailure`
   * has reported.
   */
  function onError(error: ReplyError): void {
    if (!open || onFailure?.(error)) return
    notice.onFailure(error, () => noteOnce(error))
  }

  /** Notes each message once, and at most 20 messages. */
  function noteOnce(error: ReplyError): void {
    const message = withCommandCure(error)
    if (reported.has(message) || reported.size >= 20) return
    reported.add(message)
    note(cleanLine(reasonIn(message)))
  }

  const { via, directory } = options
  const connectOptions = { onError, clock: io.clock, onFrame, onConnection: notice.onConnection }
  const client =
    via === undefined
      ? connect({ ...addressOf(options, io.env), ...connectOptions, ...(directory !== undefined && { directory }) })
      : await openAgent(via, { ...connectOptions, directory }, io.env)

  /** Returns the message with command options or environment variables in place of options of `connect`. */
  function withCommandCure({ type, message }: ReplyError): string {
    if (type !== 'unauthorized') return message.replace('give another url', 'use --url')
    const cure =
      "set OPENCODE_SERVER_PASSWORD to the server's password, and OPENCODE_SERVER_USERNAME if the server has one. For OpenCode 2, set OPENCODE_PASSWORD to the output of `opencode service get password`."
    return message.replace(/connect\(\) needs .*$/, cure)
  }

  /** Closes the client, and drops failures from here on. */
  async function close(): Promise<void> {
    open = false
    notice.stop()
    await client.close()
  }

  try {
    await client.ready
    open = true
    return { ...client, close }
  } catch (error) {
    await close()
    if (!(error instanceof ReplyError)) throw error
    throw new ReplyError(error.type, withCommandCure(error), { cause: error })
  }
}

/** How long an agent may take to start, in ms. The first start of some downloads what they need. */
const startMs = 60_000

/** Starts an agent in a folder, by default the current one, and returns its client. Its session ends with this program. */
async function openAgent(via: string, options: DriveOptions, env: Environment): Promise<Client> {
  const { agentSource } = await loadAgents()
  const directory = resolve(options.directory ?? '.')
  const source = agentSource(via, { cwd: directory, env, onError: options.onError })
  return connectSource(source, { ...options, directory, connectTimeoutMs: startMs, firstFrameMs: startMs })
}

/** Imports the package of the agents. Throws `missing` if it isn't installed. */
async function loadAgents(): Promise<typeof import('@reply/agents')> {
  try {
    return await import('@reply/agents')
  } catch (cause) {
    throw new ConsoleError('missing', '`--via` requires @reply/agents. Run `npm install @reply/agents`.', { cause })
  }
}

/** Reports a lost connection and its return if no shown reply does. */
interface ConnectionNotice {
  /** For `onConnection` of `connect`. */
  onConnection(connection: 'live' | 'lost'): void
  /** Calls `report`, unless the failure belongs to an outage or to one that begins within `graceMs`. */
  onFailure(error: ReplyError, report: () => void): void
  /** Drops failures that may belong to an outage. */
  stop(): void
}

/** How long a failed call waits for the stream to fail as well before it is reported, in ms. */
const graceMs = 1000

/**
 * Reports outages through `note`, and holds back failed calls that an outage may explain. While `isShowing()`, the shown
 * replies report outages themselves. `missed` describes the missed events, for the line about the reconnect.
 */
export function createConnectionNotice(
  clock: Clock,
  note: (text: string) => void,
  isShowing: () => boolean,
  missed: () => string,
): ConnectionNotice {
  /** Cancels the reports of failures that an outage may explain. */
  const waiting = new Set<() => void>()
  let outage: { readonly at: number; readonly isMine: boolean } | undefined

  /** Notes the loss, unless shown replies report it. Drops the waiting failures, which it explains. */
  function onLost(): void {
    const isMine = !isShowing()
    dropWaitingReports()
    outage = { at: clock.now(), isMine }
    if (isMine) note(texts.lostConnection)
  }

  /** Notes the reconnect, unless shown replies report it. */
  function onRestored(): void {
    if (outage === undefined) return
    const { at, isMine } = outage
    outage = undefined
    const restored = `connection restored after ${duration(clock.now() - at)}`
    // Replies found after the reconnect don't know of the outage.
    if (isMine) return note(`${restored}${missed()}`)
    // Replies that reported the loss have ended since, and their outcomes report missing text.
    if (!isShowing()) note(restored)
  }

  /** Whether the failure is of type `unreachable` and the connection is lost. */
  function isExplainedByOutage({ type }: ReplyError): boolean {
    return outage !== undefined && type === 'unreachable'
  }

  /** Reports a failed call after `graceMs`, unless the connection is lost by then. Other failures at once. */
  function reportUnlessOutage(error: ReplyError, report: () => void): void {
    if (isExplainedByOutage(error)) return
    if (error.type !== 'unreachable') return report()
    const cancel = clock.after(graceMs, () => {
      waiting.delete(cancel)
      report()
    })
    waiting.add(cancel)
  }

  /** Cancels the reports of failures that wait for `graceMs`. */
  function dropWaitingReports(): void {
    for (const cancel of waiting) cancel()
    waiting.clear()
  }

  return {
    onConnection: (connection) => (connection === 'lost' ? onLost() : onRestored()),
    onFailure: reportUnlessOutage,
    stop: dropWaitingReports,
  }
}
