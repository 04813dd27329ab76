import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Clock } from '@reply/core'
import type { Input } from '../terminal/keyboard.ts'
import { ConsoleError } from './error.ts'

/** The bytes of a recording, decompressed if needed. `-` reads standard input. */
export async function* bytesOf(file: string, stdin: Input): AsyncGenerator<Uint8Array> {
  try {
    const source: AsyncIterable<Uint8Array> = file === '-' ? stdin : createReadStream(file)
    yield* unpacked(source)
  } catch (cause) {
    throw new ConsoleError('unreadable', `${file} can't be read: ${reasonOf(cause)}.`, { cause })
  }
}

/** The clock of a recording. It stands at the last event, or runs on from there at the given speed. */
export function recordedClock(base: Clock, speed: number | undefined): Clock & { set(at: number): void } {
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

/** Waits until an event of a recording is due, counted from the first one. */
export function createPace(clock: Clock, speed: number | undefined): (at: number) => Promise<void> | undefined {
  let first: { recorded: number; real: number } | undefined
  return (at) => {
    if (speed === undefined || at <= 0) return undefined
    first ??= { recorded: at, real: clock.now() }
    const wait = (at - first.recorded) / speed - (clock.now() - first.real)
    if (wait < 2) return undefined
    return new Promise((resolve) => void clock.after(wait, resolve))
  }
}

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EISDIR') return 'it is a folder'
  if (code === 'EACCES') return 'permission denied'
  return cause instanceof Error ? cause.message : String(cause)
}

async function* unpacked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done) return
  const all = joined(first.value, chunks)
  if (first.value[0] === 0x1f && first.value[1] === 0x8b) yield* Readable.from(all).compose(createGunzip())
  else yield* all
}

async function* joined(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}
