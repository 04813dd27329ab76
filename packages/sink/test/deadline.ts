import type { Clock } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { Sink } from '../src/index.ts'
import { settledWith, text } from './make.ts'
import { beginning } from './timeline.ts'

/** A client none of whose calls is ever answered, and how many were made. */
export function silentClient<T extends object>(fields: T): { readonly client: T; readonly calls: () => number } {
  let made = 0
  const call = (): Promise<never> => {
    made += 1
    return new Promise(() => {})
  }
  const client = new Proxy(fields, {
    get: (known, key) => (key in known ? Reflect.get(known, key) : key === 'then' ? undefined : call),
  })
  return { client, calls: () => made }
}

/** Tests that `timeoutMs` and the stop of the sink reach the calls of a channel. */
export function testDeadline<T extends object>(
  fields: T,
  sinkOf: (client: T, options: { readonly clock: Clock; readonly timeoutMs?: number }) => Sink,
): void {
  test('a call that is not answered for timeoutMs is given up', async () => {
    const clock = createHandClock(beginning)
    const { client, calls } = silentClient(fields)
    const sink = sinkOf(client, { clock, timeoutMs: 1000 })
    sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('Done so.')]) })
    // The default is 30 s, so within 20 s only a shorter deadline brings a second call.
    await clock.advance(20_000, rest)
    expect(calls()).toBeGreaterThan(1)
    const stopped = sink.stop()
    await clock.advance(5000, rest)
    await stopped
  })

  test('a call that is not answered within 5 s of the stop is given up', async () => {
    const clock = createHandClock(beginning)
    const { client, calls } = silentClient(fields)
    const sink = sinkOf(client, { clock })
    sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('Done so.')]) })
    await clock.advance(5000, rest)
    expect(calls()).toBeGreaterThan(0)
    let isOver = false
    const stopped = sink.stop().then(() => {
      isOver = true
    })
    await clock.advance(4999, rest)
    expect(isOver).toBe(false)
    await clock.advance(1, rest)
    await stopped
  })
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
