import { type Clock, type Reply, replay as replayRecording } from '@reply/core'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { createOutput, type OutputOptions, type ReplyOutput } from '../output.ts'
import type { ProcessIO } from '../process-io.ts'
import { recordingBytes } from '../recording-file.ts'

/** The options of `reply replay`. */
export interface ReplayCommandOptions extends OutputOptions {
  /** How many times faster than recorded. Default: as fast as possible. */
  readonly speed?: number | undefined
}

/**
 * Shows recordings as if they happened now. Exits with 0 for any outcome of the replies. Throws for an unreadable file.
 */
export async function replay(files: readonly string[], options: ReplayCommandOptions, io: ProcessIO): Promise<number> {
  const exit = listenForExit(io, { interrupted: () => EXIT.interrupted })
  const outputs: ReplyOutput[] = []

  try {
    return await Promise.race([replayAll(), exit.code])
  } finally {
    exit.stop()
    await Promise.all(outputs.map((output) => output.stop()))
  }

  /** Shows the recordings one after the other, and returns 0. */
  async function replayAll(): Promise<number> {
    for (const file of files) await replayFile(file)
    return EXIT.done
  }

  /** Shows one recording to its end, with a note if it has no replies. Rejects with `unreadable` if it isn't a recording. */
  async function replayFile(file: string): Promise<void> {
    const clock = recordedClock(io.clock, options.speed)
    const output = createOutput(io, options, { prompt: true, clock, more: { file } })
    outputs.push(output)
    const pace = createPace(io.clock, options.speed)
    let failure: Error | undefined
    const replies: readonly Reply[] = await replayRecording(recordingBytes(file, io.stdin), {
      observe: output.observe,
      onError: (error) => {
        failure ??= error
      },
      pace(at) {
        const wait = pace(at)
        if (wait === undefined) return void clock.set(at)
        return wait.then(() => clock.set(at))
      },
    })
    await output.settled()
    if (replies.length === 0 && failure !== undefined) {
      throw new ConsoleError('unreadable', `${file} is not a recording of an event stream: ${failure.message}`)
    }
    if (replies.length === 0) output.note(`${file}: contains no replies`)
    for (const reply of replies) output.printJson(reply)
  }
}

/** Returns the clock of a recording. It stands at the last event, or runs on from there at the given speed. */
function recordedClock(base: Clock, speed: number | undefined): Clock & { set(at: number): void } {
  let at = base.now()
  let setAt = base.now()
  return {
    now: () => at + (speed === undefined ? 0 : (base.now() - setAt) * speed),
    after: base.after,
    set(time) {
      // A recording without times has none before the first message.
      if (time <= 0) return
      at = time
      setAt = base.now()
    },
  }
}

/**
 * Returns a function that waits until an event of a recording is due, counted from the first one. It returns undefined if
 * the event is due within 2 ms, if it has no time, and without a `speed`.
 */
function createPace(clock: Clock, speed: number | undefined): (at: number) => Promise<void> | undefined {
  let first: { recorded: number; real: number } | undefined
  return (at) => {
    if (speed === undefined || at <= 0) return undefined
    first ??= { recorded: at, real: clock.now() }
    const waitMs = (at - first.recorded) / speed - (clock.now() - first.real)
    if (waitMs < 2) return undefined
    return new Promise((resolve) => void clock.after(waitMs, resolve))
  }
}
