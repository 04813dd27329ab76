import type { Clock } from '@reply/core'
import { Refusal } from './refusal.ts'

/** The open streams of a handler. */
export interface Readers {
  /** Counts a stream of a client. Returns a function that ends that. Throws a `Refusal` if the client has too many. */
  admit(client: string): () => void
  /** Calls the function every few seconds. Returns a function that stops that. */
  onBeat(run: () => void): () => void
}

/** Creates an empty list of streams. */
export function createReaders(clock: Clock, maxStreams: number, beatMs: number): Readers {
  const counts = new Map<string, number>()
  const beating = new Set<() => void>()
  let stopTimer: (() => void) | undefined
  return { admit, onBeat }

  function admit(client: string): () => void {
    const open = counts.get(client) ?? 0
    if (open >= maxStreams) {
      const message = `This client has ${open} open streams, and ${maxStreams} is the limit. Close one first.`
      throw new Refusal(429, message, { 'retry-after': '5' })
    }
    counts.set(client, open + 1)
    let isCounted = true
    return () => {
      if (!isCounted) return
      isCounted = false
      const left = (counts.get(client) ?? 1) - 1
      if (left > 0) counts.set(client, left)
      else counts.delete(client)
    }
  }

  function onBeat(run: () => void): () => void {
    const own = (): void => run()
    beating.add(own)
    stopTimer ??= clock.after(beatMs, beat)
    return () => {
      beating.delete(own)
      if (beating.size > 0) return
      stopTimer?.()
      stopTimer = undefined
    }
  }

  function beat(): void {
    stopTimer = clock.after(beatMs, beat)
    for (const run of [...beating]) run()
  }
}
