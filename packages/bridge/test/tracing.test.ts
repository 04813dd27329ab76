import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { bridgeTracing } from '../src/opentelemetry.ts'

const run = { channel: 'tg', chat: '7', executionID: 'abc123', started: 'chat' } as const
const ids = { ...run, type: 'run', actorID: '1', messageID: '5', server: 'home', sessionID: 'ses_1' } as const
const ask = { ...run, type: 'ask', askType: 'permission', requestID: 'per_1', sessionID: 'ses_1' } as const
const delivery = { ...run, type: 'delivery', shown: 2, undelivered: 0, doubtful: 0 } as const

function traced(events: readonly BridgeEvent[]) {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const observe = bridgeTracing({ tracer: provider.getTracer('test') })
  for (const event of events) observe(event)
  return exporter.getFinishedSpans()
}

const ms = ([seconds, nanoseconds]: readonly [number, number]): number => seconds * 1000 + nanoseconds / 1e6

test('a run is one span from the message to the end of the delivery, with its asks below it', () => {
  const spans = traced([
    { ...ids, phase: 'posted', at: 1010, times: { postedMs: 10 } },
    { ...ask, phase: 'asked', at: 1500 },
    { ...ask, phase: 'answered', at: 2000, waitedMs: 500 },
    {
      ...{ ...ids, phase: 'ended', at: 3000, outcome: 'completed' },
      times: { postedMs: 10, firstByteMs: 200, endedMs: 2000 },
    },
    { ...delivery, at: 3400, calls: 7, rateLimited: 1, firstShownMs: 2200, deliveredMs: 2400 },
  ])
  const [asked, whole] = spans
  expect(spans.map(({ name }) => name)).toEqual(['reply.ask', 'reply.run'])
  expect(asked?.parentSpanContext?.spanId).toBe(whole?.spanContext().spanId)
  expect(asked?.attributes).toMatchObject({ 'reply.request': 'per_1', 'reply.result': 'answered' })
  expect(whole && [ms(whole.startTime), ms(whole.endTime)]).toEqual([1000, 3400])
  expect(whole?.events.map(({ name, time }) => [name, ms(time)])).toEqual([
    ['posted', 1010],
    ['first byte', 1200],
    ['ended', 3000],
    ['first shown', 3200],
  ])
  expect(whole?.attributes).toMatchObject({
    ...{ 'reply.session': 'ses_1', 'reply.outcome': 'completed', 'reply.calls': 7, 'reply.rate_limited': 1 },
  })
})

test('a run that never had a reply ends its span with the reason', () => {
  const [whole] = traced([{ ...ids, phase: 'ended', at: 1500, times: { endedMs: 500 }, reason: 'No server' }])
  expect(whole?.status).toEqual({ code: 2, message: 'No server' })
  expect(whole && ms(whole.startTime)).toBe(1000)
})

test('a request that two chats show is one span in the run of each', () => {
  const others = { ...ask, chat: '8', executionID: 'abc456' }
  const spans = traced([
    { ...ask, phase: 'asked', at: 1000 },
    { ...others, phase: 'asked', at: 2000 },
    { ...ask, phase: 'answered', at: 3000 },
    { ...others, phase: 'answered', at: 3000 },
  ])
  expect(spans.map(({ attributes, startTime }) => [attributes['reply.chat'], ms(startTime)])).toEqual([
    ['7', 1000],
    ['8', 2000],
  ])
  expect(spans.map(({ attributes }) => attributes['reply.result'])).toEqual(['answered', 'answered'])
})

test('a request that moved to another chat ends in the run of each once it ends, or else with the run', () => {
  const moved = { ...ask, chat: '8', executionID: 'abc456' }
  const ends = traced([
    { ...ask, phase: 'asked', at: 1000 },
    { ...ask, requestID: 'per_10', phase: 'asked', at: 1500 },
    { ...moved, phase: 'asked', at: 2000 },
    { ...moved, phase: 'answered', at: 3000, actorID: '1', actorChannel: 'tg' },
    { ...delivery, at: 4000, calls: 1, rateLimited: 0, deliveredMs: 3000 },
  ]).map(({ attributes, endTime }) => [
    attributes['reply.chat'],
    attributes['reply.request'],
    attributes['reply.answered_by'],
    ms(endTime),
  ])
  expect(ends).toEqual([
    ['7', 'per_1', 'tg:1', 3000],
    ['8', 'per_1', 'tg:1', 3000],
    ['7', 'per_10', undefined, 4000],
  ])
})
