import type { Sink } from '@reply/sink'
import type { Timeline } from './timeline.ts'

/** Feeds a sink a reply over its timeline, and waits until it is shown. */
export async function showOn(sink: Sink, { states }: Timeline, start: number): Promise<void> {
  const startedAt = Date.now()
  for (const [index, { atMs, reply }] of states.entries()) {
    const waitMs = atMs - (performance.now() - start)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    const now = { ...reply, startedAt, ...(reply.phase === 'settled' && { settledAt: Date.now() }) }
    if (index === 0) sink.replyStarted?.({ type: 'replyStarted', reply: now })
    else sink.phaseChanged?.({ type: 'phaseChanged', phase: reply.phase, before: reply.phase, reply: now })
  }
  const { undelivered } = await sink.settled()
  for (const { key, reason } of undelivered) process.stderr.write(`not shown: ${key}, ${reason}\n`)
}
