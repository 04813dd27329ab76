import { type Clock, type SteadyClock, steadyClock, systemClock } from '../clock.ts'
import type { OnError } from '../error.ts'
import { ReplyError } from '../error.ts'

/** How to reach an OpenCode server, with timeouts. Every option has a default. */
export interface ConnectOptions extends DriveOptions {
  /**
   * The server's address, for example "http://127.0.0.1:4096". Credentials in it are used as `username` and `password`,
   * and never shown. Default: `OPENCODE_URL` of the environment, else "http://127.0.0.1:4096". Only if you pass no
   * `url`, `username` defaults to `OPENCODE_SERVER_USERNAME`, and `password` to `OPENCODE_PASSWORD` (OpenCode 2) or
   * `OPENCODE_SERVER_PASSWORD`.
   */
  readonly url?: string | undefined
  /** The user name. Default: `OPENCODE_SERVER_USERNAME` of the environment if you pass no `url`, else "opencode". */
  readonly username?: string | undefined
  /**
   * The server's `OPENCODE_SERVER_PASSWORD`, or the output of `opencode service get password`. Default: the
   * environment's if you pass no `url`, else none.
   */
  readonly password?: string | undefined
  /** Used for all requests, including the event stream. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
  /** How long a call waits for a response, in ms. Default 30,000. */
  readonly deadlineMs?: number | undefined
  /**
   * The maximum size of a REST response, in bytes. Reading stops at the limit and the call fails with `too-large`.
   * Default 67,108,864, because servers up to 1.1 return a session's whole history at once.
   */
  readonly maxAnswerBytes?: number | undefined
}

/** How a connection behaves, whatever its source. Every option has a default. */
export interface DriveOptions {
  /**
   * The project directory of new sessions. The server normalizes the path. Servers before 1.2 don't resolve links in
   * it. Default: the server's own directory.
   */
  readonly directory?: string | undefined
  /**
   * The sessions whose events to read. With `own` only those that this client prompts, resumes or watches, with their
   * sub-agents: those of all others are skipped before they are parsed, and the event stream is closed after 30 s
   * without a prompt, an open reply or a watch. The next one opens it again, before it is posted. `on` then reports only
   * these sessions. A watch of a directory or of the whole server reads all while it lasts. For several programs that
   * share a server: OpenCode, Codex with a `url`, or a source of your own that reads `following`. Default: `all`.
   */
  readonly follow?: 'all' | 'own' | undefined
  /**
   * Receives errors that don't stop the client, for example lost connections, malformed frames and failing observers.
   * Default: they are ignored.
   */
  readonly onError?: OnError | undefined
  /**
   * Called with `live` when the event stream is up and missed events have been read, and with `lost` and the reason
   * when it breaks.
   */
  readonly onConnection?: ((connection: 'live' | 'lost', reason?: ReplyError) => void) | undefined
  /**
   * Receives each frame's data as it arrived, with the arrival time in ms since the epoch, for example to record it.
   */
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  /** Provides all times and timers. Default: `systemClock`. */
  readonly clock?: Clock | undefined
  /** Returns a number from 0 to 1 for the back-off's jitter. Default: `Math.random`. */
  readonly random?: (() => number) | undefined
  /**
   * How long a prompt waits for the stream before it fails, in ms. Default 10,000, or 60,000 for an agent that this
   * program starts.
   */
  readonly connectTimeoutMs?: number | undefined
  /**
   * After how long without any data a connection counts as dead, in ms. Default: set by the source. For OpenCode
   * 25,000, or 75,000 for servers before 1.2 (heartbeats come every 10,000 and 30,000).
   */
  readonly silenceMs?: number | undefined
  /**
   * How long to wait for a stream's first frame, in ms, because a server that is starting may never answer. Default
   * 5,000, or 60,000 for an agent that this program starts.
   */
  readonly firstFrameMs?: number | undefined
  /**
   * Delay between attempts to connect, in ms. Doubles from `minMs` to `maxMs`, with jitter. Default 500 to 10,000. If
   * you set only one and it crosses the other's default, the other is moved to it.
   */
  readonly backOff?: { readonly minMs?: number | undefined; readonly maxMs?: number | undefined } | undefined
  /** After how long without a connection open replies end as `lost`, in ms. Default 300,000. */
  readonly lostAfterMs?: number | undefined
  /**
   * After how long without progress a reply is `stalled`, in ms: `first` before its first event, `later` after that.
   * Default 120,000 and 300,000.
   */
  readonly stalledAfterMs?: { readonly first?: number | undefined; readonly later?: number | undefined } | undefined
  /** After how long to check a run that is idle with an unfinished step, in ms. Default 1,000. */
  readonly graceMs?: number | undefined
  /**
   * After how long to check over REST on a prompt without events, in ms. Up to five more checks follow, each after
   * twice the delay. Default 500.
   */
  readonly waitMs?: number | undefined
  /** How many settled replies to keep in memory for late events. Default 1,000. */
  readonly keepSettled?: number | undefined
}

type Defaults = {
  readonly [K in keyof Omit<
    DriveOptions,
    'directory' | 'follow' | 'onFrame' | 'onConnection' | 'silenceMs' | 'clock' | 'backOff' | 'stalledAfterMs'
  >]-?: NonNullable<DriveOptions[K]>
}

export interface Settings extends Defaults {
  /** Never goes back. */
  readonly clock: SteadyClock
  readonly backOff: { readonly minMs: number; readonly maxMs: number }
  readonly stalledAfterMs: { readonly first: number; readonly later: number }
}

/**
 * Returns the driver's settings, with defaults filled in. Throws `invalid` for a duration or a `keepSettled` that isn't
 * above 0. A clock of the caller is wrapped so that it never goes back.
 */
export function toSettings(options: DriveOptions): Settings {
  const settings: Settings = {
    onError: options.onError ?? (() => {}),
    clock: options.clock ? steadyClock(options.clock) : systemClock,
    random: options.random ?? Math.random,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    firstFrameMs: options.firstFrameMs ?? 5000,
    backOff: toBackOff(options.backOff),
    lostAfterMs: options.lostAfterMs ?? 300_000,
    stalledAfterMs: {
      first: options.stalledAfterMs?.first ?? 120_000,
      later: options.stalledAfterMs?.later ?? 300_000,
    },
    graceMs: options.graceMs ?? 1000,
    waitMs: options.waitMs ?? 500,
    keepSettled: options.keepSettled ?? 1000,
  }
  const durations = {
    ...settings,
    ...settings.stalledAfterMs,
    ...settings.backOff,
  }
  requirePositive(durations)
  // Its default depends on the server's version: the source knows it.
  if (options.silenceMs !== undefined) requirePositive({ silenceMs: options.silenceMs })
  return settings
}

/** How single calls are made. */
export interface CallSettings {
  readonly fetch: typeof fetch
  readonly deadlineMs: number
  readonly maxAnswerBytes: number
}

/**
 * Returns the settings of calls over HTTP, with defaults filled in. Throws `invalid` for a limit that isn't above 0.
 */
export function toCallSettings(options: ConnectOptions): CallSettings {
  const limits = {
    deadlineMs: options.deadlineMs ?? 30_000,
    maxAnswerBytes: options.maxAnswerBytes ?? 64 * 1024 * 1024,
  }
  requirePositive(limits)
  return { ...limits, fetch: options.fetch ?? ((input, init) => fetch(input, init)) }
}

/** Throws `invalid` for a number that isn't above 0. Skips values that aren't numbers. */
function requirePositive(values: object): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'number' || (value > 0 && !Number.isNaN(value))) continue
    throw new ReplyError('invalid', `${name} is ${value}. Pass a number above 0.`)
  }
}

/** Fills in the defaults. If only one is set and it crosses the other's default, moves that one to it. */
function toBackOff({ minMs, maxMs }: NonNullable<DriveOptions['backOff']> = {}): Settings['backOff'] {
  return { minMs: minMs ?? Math.min(500, maxMs ?? 500), maxMs: maxMs ?? Math.max(10_000, minMs ?? 0) }
}
