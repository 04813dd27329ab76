import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Clock, type Reply, replay as replayRecording } from '@reply/core'
import type { Input } from '../../terminal/keyboard.ts'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { createOutput, type OutputOptions, type ReplyOutput } from '../output.ts'
import type { ProcessIO } from '../process-io.ts'

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

/** Yields the bytes of a recording, decompressed if needed. `-` reads standard input. Throws `unreadable`. */
async function* recordingBytes(file: string, stdin: Input): AsyncGenerator<Uint8Array> {
  try {
    const source: AsyncIterable<Uint8Array> = file === '-' ? stdin : createReadStream(file)
    yield* decompressed(source)
  } catch (cause) {
    throw new ConsoleError('unreadable', `${file} can't be read: ${fileErrorText(cause)}.`, { cause })
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

/** Returns why a file can't be read, in words for the frequent causes, or else the error's message. */
function fileErrorText(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EISDIR') return 'it is a folder'
  if (code === 'EACCES') return 'permission denied'
  return cause instanceof Error ? cause.message : String(cause)
}

/** Yields the bytes, decompressed if they begin like a gzip file. */
async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done) return
  const all = withFirst(first.value, chunks)
  if (first.value[0] === 0x1f && first.value[1] === 0x8b) yield* Readable.from(all).compose(createGunzip())
  else yield* all
}

/** Yields the first chunk, then the rest. */
async function* withFirst(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}
