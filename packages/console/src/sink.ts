import { type Clock, type Observation, type Reply, type ReplyObserver, systemClock } from '@reply/core'
import { type AskPort, createAsking } from './asks/asking.ts'
import { unattendedAskObserver } from './asks/unattended.ts'
import { labelOf } from './format/reply-label.ts'
import { cleanLine, visibleLine } from './format/sanitize.ts'
import { line, wrap } from './format/styled-line.ts'
import { observeAll } from './observe-all.ts'
import { type Input, keyboardOf } from './terminal/keyboard.ts'
import { type Environment, isLive, type Output, surfaceOf } from './terminal/surface.ts'
import { type Above, type Block, createCommitted } from './view/blocks.ts'
import { compose } from './view/compose.ts'
import { createDelays } from './view/delays.ts'

/** The options of `consoleSink`. All are optional. */
export interface ConsoleSinkOptions {
  /** Where to write. Default: `process.stdout`. Sinks on one stream share its screen. */
  readonly stdout?: Output
  /** Where answers are typed. Default: `process.stdin`. Read only while `interactive`. */
  readonly stdin?: Input
  /** Where answers and rejections go: the result of `connect()`. Without it, asks are shown but not answered. */
  readonly client?: AskPort
  /** Repaint and colour. Default: true if `stdout` is a terminal, unless `NO_COLOR`, `CI` or `TERM=dumb` is set. */
  readonly live?: boolean
  /** Take answers from the keyboard. Default: `live`, `stdin` is a terminal, and there is a `client`. */
  readonly interactive?: boolean
  /**
   * How to handle asks that can't be answered here, without a terminal or with `interactive` off: `reject`
   * rejects them with a note, `wait` leaves them to another client. Default: `reject`. Requires a `client`. The asks of a
   * run that had begun before the sink saw it are never rejected: they belong to the client that began it.
   */
  readonly asks?: 'wait' | 'reject'
  /** Offers to allow a permission even if the server doesn't send its input. Default: false. */
  readonly allowUnseen?: boolean
  /** Show the model's reasoning, dimmed. Default: false. */
  readonly reasoning?: boolean
  /** Show the prompt above the reply. Default: false. */
  readonly prompt?: boolean
  /**
   * The reply's name when several share the screen. Default: the session's title, the beginning of the prompt, or the
   * id.
   */
  readonly label?: (reply: Reply) => string
  /** Text at the end of the status line, for example how to stop. Called on every repaint. */
  readonly hint?: () => string
  /** Handles Control-C while the keyboard is in raw mode. Default: raises SIGINT. */
  readonly onInterrupt?: () => void
  /** Default: the system's. */
  readonly clock?: Clock
  /** Default: `process.env`. */
  readonly env?: Environment
}

/** The result of showing a reply. */
export interface ConsoleReport {
  /** Blocks written: each text block, tool call, ask, note and the outcome is one. */
  readonly shown: number
  /** Blocks that could not be written. */
  readonly undelivered: readonly { readonly key: string; readonly reason: string }[]
  /** Blocks written perhaps twice. Always 0 here. */
  readonly doubtful: number
  /** Writes to the stream. */
  readonly calls: number
  /** Always 0 here. */
  readonly rateLimited: number
}

/** An observer that shows one reply in a terminal or pipe. */
export type ConsoleSink = ReplyObserver & {
  /** Resolves when the reply has settled and all of it was written, or after `stop`. Never rejects. */
  settled(): Promise<ConsoleReport>
  /**
   * Ends early: removes the tail, and releases the keyboard and the cursor. Finished rows stay. Resolves when the stream has
   * taken everything. Does nothing more once the reply has settled.
   */
  stop(): Promise<void>
}

const FRAME_MS = 50
const TICK_MS = 120
const LOG_MS = 200

/**
 * Shows one reply in a terminal, or as plain text in a pipe. Create one for each reply: `client.prompt({ text }, {
 * observe: () => [consoleSink({ client })] })`.
 *
 * Each repaint shows the newest reply: finished blocks are written once, the rest is repainted. Escape sequences in the
 * output of models and tools are removed.
 */
export function consoleSink(options: ConsoleSinkOptions = {}): ConsoleSink {
  const { stdout = process.stdout, stdin = process.stdin, env = process.env, clock = idleClock, client } = options
  const live = options.live ?? isLive(stdout, env)
  const interactive = client !== undefined && (options.interactive ?? (live && stdin.isTTY === true))
  const surface = surfaceOf(stdout, { live, env })
  const keyboard = interactive ? keyboardOf(stdin) : undefined
  const allowUnseen = options.allowUnseen === true
  const asking = createAsking({
    keyboard,
    client: interactive ? client : undefined,
    allowUnseen,
    redraw: () => schedule(0),
  })
  const unattended =
    client === undefined || interactive || options.asks === 'wait'
      ? undefined
      : unattendedAskObserver('reject', {
          client,
          note: showNote,
          clock,
          cure: "use a terminal, or asks: 'wait'",
          isOwn: () => sawStart,
        })
  const region = surface.region(() => schedule(0))
  const releaseKeyboard = keyboard?.enterRawMode(
    options.onInterrupt ?? (() => void process.kill(process.pid, 'SIGINT')),
  )
  const shown = createCommitted()
  const delays = createDelays()
  let newest: Reply | undefined
  let sawStart = false
  let above: Above
  let timer: { at: number; cancel: () => void } | undefined
  let paintedAt = 0
  let paintMs = 0
  let calls = 0
  let written = 0
  let refusedKeys: string[] = []
  let stopped = false
  let finish: (delivery: ConsoleReport) => void
  const finished = new Promise<ConsoleReport>((resolve) => {
    finish = resolve
  })

  /** Writes a dimmed note above all replies, with invisible characters made visible. */
  function showNote(text: string): void {
    surface.note(wrap(line(visibleLine(text), 'dim'), surface.size().columns - 1))
  }

  /** Keeps the newest reply, has asks handled, and schedules a repaint. Paints at once when the reply has settled. */
  function onObservation(observation: Observation): void {
    const { reply } = observation
    if (newest === undefined) sawStart = isUntouched(reply)
    newest = reply
    if (stopped) return
    if (observation.type === 'questionAsked') unattended?.questionAsked?.(observation)
    if (observation.type === 'permissionAsked') unattended?.permissionAsked?.(observation)
    delays.record(reply, clock.now())
    asking.update(reply)
    if (reply.phase === 'settled') paintLastAndLeave()
    else schedule(live ? FRAME_MS : LOG_MS)
  }

  /** Schedules a repaint. The earlier time wins. Pictures that take long to compute are painted less often. */
  function schedule(waitMs: number): void {
    if (stopped) return
    const at = Math.max(clock.now() + (paintedAt === 0 ? 0 : waitMs), paintedAt + 4 * paintMs)
    if (timer !== undefined && timer.at <= at) return
    timer?.cancel()
    timer = { at, cancel: clock.after(at - clock.now(), paintAndReschedule) }
  }

  /**
   * Paints the newest reply, unless the stream is behind. In a terminal, schedules the next repaint. In a log, only if a
   * note of a delay becomes due.
   */
  function paintAndReschedule(): void {
    timer = undefined
    if (newest === undefined || stopped) return
    // The stream emits `drain` when it can take more. By then there may be a newer picture.
    if (surface.congested()) return
    paint(newest, false)
    const waitMs = live ? TICK_MS : delays.msUntilChange(paintedAt)
    if (waitMs !== undefined) schedule(waitMs)
  }

  /**
   * Writes blocks that became final and repaints the rest. In a log, writes only if there are such blocks. Tells `asking`
   * which ask can be read completely. Measures how long all that takes.
   */
  function paint(reply: Reply, ended: boolean): void {
    paintedAt = clock.now()
    const size = surface.size()
    const width = live ? size.columns - 1 : size.columns
    const composition = compose(reply, {
      now: paintedAt,
      width,
      live,
      reasoning: options.reasoning === true,
      prompt: options.prompt === true,
      delays: delays.list(paintedAt),
      shown,
      size,
      ended,
      asked: ended ? undefined : asking.lines(reply, width),
      above,
      interrupted: region.interrupted(),
      shared: surface.shared(),
      label: cleanLine(options.label?.(reply) ?? labelOf(reply)),
      hint: options.hint?.(),
    })
    above = composition.above
    if (live || composition.picture.commit.length > 0) {
      region.draw(composition.picture)
      calls++
    }
    for (const block of composition.committed) recordBlock(block)
    if (composition.offered !== undefined) asking.offer(composition.offered)
    paintMs = clock.now() - paintedAt
  }

  /** Counts a block as written, or as refused if the stream is broken. */
  function recordBlock(block: Block): void {
    shown.add(block)
    if (block.lines.length === 0) return
    if (surface.broken() === undefined) written++
    else refusedKeys = [...refusedKeys, block.key]
  }

  /** Paints the newest reply for the last time, and releases everything. */
  function paintLastAndLeave(): void {
    timer?.cancel()
    timer = undefined
    if (newest !== undefined) paint(newest, true)
    releaseAndReport()
  }

  /** Releases the screen and the keyboard, and resolves `settled()` once the stream has taken everything. */
  function releaseAndReport(): void {
    asking.stop()
    region.close()
    releaseKeyboard?.()
    stdout.write('', () => {
      const undelivered = refusedKeys.map((key) => ({ key, reason: surface.broken() ?? 'the stream is closed' }))
      finish({ shown: written, undelivered, doubtful: 0, calls, rateLimited: 0 })
    })
  }

  return {
    ...observeAll(onObservation),
    settled: () => finished,
    async stop() {
      if (newest?.phase !== 'settled' && !stopped) {
        timer?.cancel()
        if (newest !== undefined) paint(newest, false)
        releaseAndReport()
      }
      stopped = true
      await finished
    },
  }
}

/** Whether the run has just begun. A prompt's own reply is observed before its first message. */
function isUntouched({ messages, asks, children }: Reply): boolean {
  return messages.length === 0 && asks.length === 0 && children.length === 0
}

/** The system clock with timers that don't keep the process alive, because a display must not prevent the exit. */
const idleClock: Clock = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
