import { emptyTrack, type Reply, type ReplyEvent, track } from '@reply/core'
import { connectSource, createLocalAgent, type LocalRun } from '@reply/core/source'
import { createUIProjection, toUIMessageStream } from '@reply/ui'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'
import { eventsOfParts, eventsOfSteps, eventsOfText } from '../stream/many.ts'

const few = 20
const many = 2000

/** What it costs to send a reply to front ends of the AI SDK. */
export const uiGoals: readonly Goal[] = [
  {
    id: 'ui.delta.steps',
    what: 'one more delta as a chunk for useChat, in a reply of 2,000 parts in 667 steps, against one of 20',
    unit: '× as long',
    bound: { atMost: 1.3 },
    measure: (effort) => deltaRatio(statesOf(eventsOfSteps(few)), statesOf(eventsOfSteps(many)), effort),
  },
  {
    id: 'ui.delta.parts',
    what: 'the same with all parts in one message',
    unit: '× as long',
    bound: { atMost: 1.3 },
    measure: (effort) => deltaRatio(statesOf(eventsOfParts(few)), statesOf(eventsOfParts(many)), effort),
  },
  {
    id: 'ui.bytes',
    what: 'bytes of that delta, 2,000 parts against 20',
    unit: '× as large',
    bound: { atMost: 1.3 },
    measure: () => bytesOfDeltas(statesOf(eventsOfSteps(many))) / bytesOfDeltas(statesOf(eventsOfSteps(few))),
  },
  {
    id: 'ui.late',
    what: 'the whole difference for a late reader, 2,000 parts against 200',
    unit: '× as long',
    // Ten times the parts, and each may take 1.5 times as long.
    bound: { atMost: 15 },
    measure: (effort) => lateRatio(lastOf(statesOf(eventsOfSteps(200))), lastOf(statesOf(eventsOfSteps(many))), effort),
  },
  {
    id: 'ui.readers',
    what: 'heap of 1,000 readers of a reply of 2,000 parts, against 1,000 web streams that only wait',
    unit: '× the floor',
    bound: { atMost: 3 },
    measure: async () => (await heapOfReaders(many)) / (await heapOfFloor()),
  },
  {
    id: 'ui.readers.parts',
    what: 'the same, against 1,000 readers of a reply of 20 parts',
    unit: '× as large',
    bound: { atMost: 1.1 },
    measure: async () => (await heapOfReaders(many)) / (await heapOfReaders(few)),
  },
  {
    id: 'ui.reader',
    what: 'one of these readers: its web stream and its cursor',
    unit: 'kB',
    bound: { atMost: 12 },
    measure: async () => (await heapOfReaders(many)) / readers / 1000,
  },
]

const deltas = 1000
const readers = 1000

/** The reply that the events lead to, and then the reply after each delta of one more text. */
function statesOf(events: readonly ReplyEvent[]): readonly Reply[] {
  const states: Reply[] = []
  let state = emptyTrack()
  for (const event of events) state = track(state, event).state
  for (const event of eventsOfText(deltas)) {
    const tracked = track(state, event)
    state = tracked.state
    const reply = tracked.steps.at(-1)?.reply
    if (reply) states.push(reply)
  }
  return states
}

function lastOf(states: readonly Reply[]): Reply {
  const last = states.at(-1)
  if (!last) throw new Error('The events led to no reply.')
  return last
}

/** The time of a delta among many parts as a multiple of that among few: the median over rounds that measure both in turn. */
function deltaRatio(short: readonly Reply[], long: readonly Reply[], effort: Effort): number {
  for (let round = 0; round < 20; round++) for (const states of [short, long]) timeOfDeltas(states)
  const ratios: number[] = []
  for (let round = 0; round < (effort === 'quick' ? 5 : 21); round++) {
    const before = timeOfDeltas(short)
    ratios.push(timeOfDeltas(long) / before)
  }
  return median(ratios)
}

/** The ms for all deltas, with readers that already have the rest. */
function timeOfDeltas(states: readonly Reply[]): number {
  const [first, ...later] = states
  const projections = Array.from({ length: 20 }, () => createUIProjection())
  if (first) for (const projection of projections) projection.next(first)
  globalThis.gc?.({ type: 'minor' })
  const start = performance.now()
  for (const projection of projections) for (const reply of later) written(projection.next(reply))
  return performance.now() - start
}

/** The chunks as they are sent. */
function written(chunks: readonly unknown[]): string {
  let text = ''
  for (const chunk of chunks) text += `data: ${JSON.stringify(chunk)}\n\n`
  return text
}

/** The bytes of all deltas. */
function bytesOfDeltas(states: readonly Reply[]): number {
  const projection = createUIProjection()
  const [, ...later] = states.map((reply) => written(projection.next(reply)).length)
  return later.reduce((sum, bytes) => sum + bytes, 0)
}

function lateRatio(short: Reply, long: Reply, effort: Effort): number {
  const timeOf = (reply: Reply, times: number): number => {
    globalThis.gc?.({ type: 'minor' })
    const start = performance.now()
    for (let at = 0; at < times; at++) written(createUIProjection().next(reply))
    return (performance.now() - start) / times
  }
  for (let round = 0; round < 20; round++) for (const reply of [short, long]) timeOf(reply, 1)
  const ratios: number[] = []
  for (let round = 0; round < (effort === 'quick' ? 5 : 21); round++) {
    const before = timeOf(short, 100)
    ratios.push(timeOf(long, 10) / before)
  }
  return median(ratios)
}

/** The bytes of the heap that readers take who have all of a running reply of so many parts, and wait for more. */
async function heapOfReaders(parts: number): Promise<number> {
  let begin: (run: LocalRun) => void = () => {}
  const begun = new Promise<LocalRun>((resolve) => {
    begin = resolve
  })
  const agent = createLocalAgent({
    name: 'a scripted agent',
    create: () => ({ sessionID: 'ses_1', directory: '/project' }),
    prompt: async (run) => begin(run),
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  const client = connectSource(agent.source)
  const stream = client.prompt({ text: 'Go.' })
  const run = await begun
  for (let at = 0; at < parts / 2; at++) {
    const state = { status: 'completed', input: { command: `ls ${at}` }, output: 'ok' } as const
    run.write({ type: 'tool', callID: `call_${at}`, tool: 'bash', state })
    run.write({ type: 'text', delta: `Looked at ${at}.`, partID: `text_${at}` })
  }
  const isThere = (): boolean => JSON.stringify(stream.reply?.messages ?? '').includes(`Looked at ${parts / 2 - 1}.`)
  while (!isThere()) await new Promise((resolve) => setImmediate(resolve))
  const read = async (): Promise<{ readonly reader: unknown; readonly waiting: Promise<unknown> }> => {
    const reader = toUIMessageStream(stream).getReader()
    for (;;) {
      const next = reader.read()
      const isWaiting = await Promise.race([next.then(() => false), soon()])
      if (isWaiting) return { reader, waiting: next }
    }
  }
  // The first one also pays for what all of them share.
  const first = await read()
  const before = collectedHeap()
  const all: unknown[] = []
  for (let at = 0; at < readers; at++) all.push(await read())
  const heap = collectedHeap() - before
  if (all.length !== readers || first === undefined) throw new Error('Some reader is missing.')
  await client.close()
  return heap
}

/** The bytes of as many web streams whose readers wait, all for the same. */
async function heapOfFloor(): Promise<number> {
  const never = new Promise<void>(() => {})
  const read = async (): Promise<unknown> => {
    const reader = new ReadableStream<object>({ pull: async () => await never }, { highWaterMark: 0 }).getReader()
    const waiting = reader.read()
    await soon()
    return { reader, waiting }
  }
  await read()
  const before = collectedHeap()
  const all: unknown[] = []
  for (let at = 0; at < readers; at++) all.push(await read())
  const heap = collectedHeap() - before
  if (all.length !== readers) throw new Error('Some reader is missing.')
  return heap
}

/** Resolves with true once all that is ready has run. */
function soon(): Promise<true> {
  return new Promise((resolve) => setImmediate(() => resolve(true)))
}

/** Collects the garbage and returns the used heap, in bytes. Throws without `--expose-gc`. */
function collectedHeap(): number {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc: only a collected heap can be compared.')
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}
