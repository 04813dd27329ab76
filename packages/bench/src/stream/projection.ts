import { emptyTrack, type Reply, type ReplyEvent, track } from '@reply/core'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'
import { eventsOfParts, eventsOfSteps, eventsOfText } from './many.ts'

/** Says what one reader lacks of a reply. */
interface Projection {
  next(reply: Reply): readonly unknown[]
}

/** Creates the projection of another reader. */
type Create = () => Projection

const deltas = 1000
const few = 20
const many = 2000

/** The goals of a projection's time and bytes. `chunk` says what a delta is sent as. */
export function projectionGoals(id: string, chunk: string, create: Create): readonly Goal[] {
  return [
    {
      id: `${id}.delta.steps`,
      what: `one more delta as ${chunk}, in a reply of 2,000 parts in 667 steps, against one of 20`,
      unit: '× as long',
      bound: { atMost: 1.3 },
      measure: (effort) => deltaRatio(create, statesOf(eventsOfSteps(few)), statesOf(eventsOfSteps(many)), effort),
    },
    {
      id: `${id}.delta.parts`,
      what: 'the same with all parts in one message',
      unit: '× as long',
      bound: { atMost: 1.3 },
      measure: (effort) => deltaRatio(create, statesOf(eventsOfParts(few)), statesOf(eventsOfParts(many)), effort),
    },
    {
      id: `${id}.bytes`,
      what: 'bytes of that delta, 2,000 parts against 20',
      unit: '× as large',
      bound: { atMost: 1.3 },
      measure: () =>
        bytesOfDeltas(create, statesOf(eventsOfSteps(many))) / bytesOfDeltas(create, statesOf(eventsOfSteps(few))),
    },
    {
      id: `${id}.late`,
      what: 'the whole difference for a late reader, 2,000 parts against 200',
      unit: '× as long',
      // Ten times the parts, and each may take half as long again, because more of them are young garbage at once.
      bound: { atMost: 15 },
      measure: (effort) => lateRatio(create, replyOf(200), replyOf(many), effort),
    },
  ]
}

/** A reply with so many parts, three in each step, and a text that grows. */
export function replyOf(parts: number): Reply {
  const last = statesOf(eventsOfSteps(parts)).at(-1)
  if (!last) throw new Error('The events led to no reply.')
  return last
}

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

/** The time of a delta among many parts as a multiple of that among few: the median over rounds that measure both in turn. */
function deltaRatio(create: Create, short: readonly Reply[], long: readonly Reply[], effort: Effort): number {
  for (let round = 0; round < 20; round++) for (const states of [short, long]) timeOfDeltas(create, states)
  const ratios: number[] = []
  for (let round = 0; round < (effort === 'quick' ? 5 : 21); round++) {
    const before = timeOfDeltas(create, short)
    ratios.push(timeOfDeltas(create, long) / before)
  }
  return median(ratios)
}

/** The ms for all deltas, with readers that already have the rest. */
function timeOfDeltas(create: Create, states: readonly Reply[]): number {
  const [first, ...later] = states
  const projections = Array.from({ length: 20 }, create)
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
function bytesOfDeltas(create: Create, states: readonly Reply[]): number {
  const projection = create()
  const [, ...later] = states.map((reply) => written(projection.next(reply)).length)
  return later.reduce((sum, bytes) => sum + bytes, 0)
}

/** The time of the whole difference for a late reader of the long reply as a multiple of that of the short one. */
function lateRatio(create: Create, short: Reply, long: Reply, effort: Effort): number {
  const timeOf = (reply: Reply, times: number): number => {
    globalThis.gc?.({ type: 'minor' })
    const start = performance.now()
    for (let at = 0; at < times; at++) written(create().next(reply))
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
