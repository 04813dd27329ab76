import { type Reply, systemClock } from '@reply/core'
import type { Policy } from '../../config.ts'
import type { Delivery } from '../../deliver/delivery.ts'
import { createSink, type Sink, type SinkOptions } from '../../sink.ts'
import { must, type Stage, type Timed, until } from './stage.ts'

/** How long a reply may take to be shown, in ms: platforms limit rates. */
export const patienceMs = 120_000

const policy: Partial<Policy> = { firstFlushMs: 0, statusAfterMs: 0, notifyAfterMs: 3_600_000 }

/** Runs `act` with a sink on that stage, then stops the sink. */
export async function withSink(
  stage: Stage,
  act: (sink: Sink) => Promise<void>,
  { answerers, store, ...more }: Partial<Policy> & Pick<SinkOptions, 'answerers' | 'store'> = {},
): Promise<void> {
  const { port, render, chat, clock = systemClock } = stage
  const sink = createSink({ port, render, chat, clock, answerers, store, policy: { ...policy, ...more } })
  try {
    await act(sink)
  } finally {
    await sink.stop()
  }
}

/** Shows the reply as one that has just started. */
export function startReply(sink: Sink, reply: Reply): void {
  sink.replyStarted?.({ type: 'replyStarted', reply })
}

/** Shows the next state of the reply. */
export function amendReply(sink: Sink, reply: Reply): void {
  sink.replyAmended?.({ type: 'replyAmended', reply })
}

/** Resolves when the sink has shown everything that it will. Throws after `patienceMs`. */
export async function settledDelivery(stage: Timed, sink: Sink): Promise<Delivery> {
  let delivery: Delivery | undefined
  void sink.settled().then((found) => {
    delivery = found
  })
  await until(stage, {
    isDone: () => delivery !== undefined,
    withinMs: patienceMs,
    message: 'The sink did not settle in time.',
  })
  must(delivery !== undefined, 'The sink did not settle in time.')
  return delivery
}
