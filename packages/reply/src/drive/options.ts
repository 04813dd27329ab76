import { type Clock, type SteadyClock, steadyClock, systemClock } from '../clock.ts'
import type { OnError } from '../error.ts'
import { ReplyError } from '../error.ts'

/** How to reach an OpenCode server, and how long to wait for what. All options may be left out. */
export interface ConnectOptions extends DriveOptions {
  /**
   * The server's address, such as "http://127.0.0.1:4096". Credentials in it are removed and never shown. Default:
   * `OPENCODE_URL` of the environment, else "http://127.0.0.1:4096". Without a `url` (and only then), the environment's
   * `OPENCODE_SERVER_USERNAME`, and `OPENCODE_PASSWORD` (OpenCode 2) or `OPENCODE_SERVER_PASSWORD`, are used in place of
   * `username` and `password`.
   */
  readonly url?: string | undefined
  /** Default: without a `url` the environment's `OPENCODE_SERVER_USERNAME`, else "opencode". */
  readonly username?: string | undefined
  /** The server's `OPENCODE_SERVER_PASSWORD`, or what `opencode service get password` prints. Default: none with a `url`, else the environment's. */
  readonly password?: string | undefined
  /** Makes all requests, the event stream included. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
  /** A call fails after this long without an answer, in ms. Default 30,000. */
  readonly deadlineMs?: number | undefined
  /**
   * The largest body of a REST response, in bytes; a larger one is refused with `too-large` while it is read. Default
   * 67,108,864: servers up to 1.1 return a session's whole history at once.
   */
  readonly maxAnswerBytes?: number | undefined
}

/** How the connection to any source behaves. All options may be left out. */
export interface DriveOptions {
  /**
   * The project that new sessions belong to. The server is asked for its spelling; servers before 1.2 don't follow
   * links. Default: the server's own.
   */
  readonly directory?: string | undefined
  /**
   * Receives errors that stop nothing: lost connections, bad frames, failing observers. Default: errors are ignored.
   */
  readonly onError?: OnError | undefined
  /** Called when the event stream is up and missed events have been read, and when it is lost, with the reason. */
  readonly onConnection?: ((connection: 'live' | 'lost', reason?: ReplyError) => void) | undefined
  /** Receives every frame's data as it arrived, with the arrival time; for recording. */
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  /** The source of all times and timers. Default: the computer's clock, `systemClock`. */
  readonly clock?: Clock | undefined
  /** Numbers from 0 to 1 for the back-off's jitter. Default Math.random. */
  readonly random?: (() => number) | undefined
  /**
   * How long a prompt waits for the stream to come up before it fails, in ms. Default 10,000; 60,000 for an agent that is
   * started.
   */
  readonly connectTimeoutMs?: number | undefined
  /**
   * After this long without a sign of life, in ms, the connection is dead. Default: what the source says; for OpenCode
   * 25,000 (servers send a heartbeat every 10,000), 75,000 for servers before 1.2 (every 30,000).
   */
  readonly silenceMs?: number | undefined
  /**
   * A stream without a first frame is given up after this long, in ms: a server that is just starting may never answer.
   * Default 5,000; 60,000 for an agent that is started.
   */
  readonly firstFrameMs?: number | undefined
  /**
   * Delay between attempts, in ms, doubling from `minMs` to `maxMs`, with jitter. Default 500 to 10,000; if only one is
   * given and the two would cross, the other moves.
   */
  readonly backOff?: { readonly minMs?: number | undefined; readonly maxMs?: number | undefined } | undefined
  /** After this long without a connection, in ms, open replies end as `lost`. Default 300,000. */
  readonly lostAfterMs?: number | undefined
  /**
   * After this long without progress, in ms, a reply is `stalled`: before its first event, and later. Default 120,000
   * and 300,000.
   */
  readonly stalledAfterMs?: { readonly first?: number | undefined; readonly later?: number | undefined } | undefined
  /** When to check a run that is idle with an unfinished step, in ms. Default 1,000. */
  readonly graceMs?: number | undefined
  /**
   * When to check a prompt without events over REST, in ms; five more checks follow, each after twice as long. Default
   * 500.
   */
  readonly waitMs?: number | undefined
  /** How many settled replies are kept for late events. Default 1,000. */
  readonly keepSettled?: number | undefined
}

type Given = {
  readonly [K in keyof Omit<
    DriveOptions,
    'directory' | 'onFrame' | 'onConnection' | 'silenceMs' | 'clock' | 'backOff' | 'stalledAfterMs'
  >]-?: NonNullable<DriveOptions[K]>
}

export interface Settings extends Given {
  /** The source of all times, so that they never go back. */
  readonly clock: SteadyClock
  readonly backOff: { readonly minMs: number; readonly maxMs: number }
  readonly stalledAfterMs: { readonly first: number; readonly later: number }
}

/** Fills in the defaults. Throws `invalid` for a duration that isn't above 0. */
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
    silenceMs: options.silenceMs ?? 25_000,
    ...settings.backOff,
  }
  requirePositive(durations)
  return settings
}

/** The options of the calls themselves. */
export interface CallSettings {
  readonly fetch: typeof fetch
  readonly deadlineMs: number
  readonly maxAnswerBytes: number
}

/** Fills in the defaults. Throws `invalid` for a limit that isn't above 0. */
export function toCallSettings(options: ConnectOptions): CallSettings {
  const limits = {
    deadlineMs: options.deadlineMs ?? 30_000,
    maxAnswerBytes: options.maxAnswerBytes ?? 64 * 1024 * 1024,
  }
  requirePositive(limits)
  return { ...limits, fetch: options.fetch ?? ((input, init) => fetch(input, init)) }
}

function requirePositive(values: object): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'number' || (value > 0 && !Number.isNaN(value))) continue
    throw new ReplyError('invalid', `${name} is ${value}; give a number above 0.`)
  }
}

/** If only one is given, it never crosses the other's default. */
function toBackOff({ minMs, maxMs }: NonNullable<DriveOptions['backOff']> = {}): Settings['backOff'] {
  return { minMs: minMs ?? Math.min(500, maxMs ?? 500), maxMs: maxMs ?? Math.max(10_000, minMs ?? 0) }
}
