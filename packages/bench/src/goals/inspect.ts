import { type OpenedRecording, openRecording } from '@reply/web/inspect'
import type { Effort, Goal } from '../goal.ts'
import { settledHeap } from '../heap.ts'
import { quantile } from '../rounds.ts'
import { framesOf, generateTurn } from '../stream/turn.ts'

const deltas = 100_000

/** What it costs to inspect a long recording. */
export const inspectGoals: readonly Goal[] = [
  {
    id: 'inspect.open',
    what: 'opening a recording of 100,000 deltas, the best of three',
    unit: 'ms',
    bound: { atMost: 2000 },
    measure: () => Math.min(...[1, 2, 3].map(() => timeOf(() => openRecording(recording())))),
  },
  {
    id: 'inspect.step',
    what: 'a step to any moment of it: its frame, its changes and the reply, 99th percentile',
    unit: 'ms',
    bound: { atMost: 50 },
    measure: stepTime,
  },
  {
    id: 'inspect.heap',
    what: 'heap of it once it is open and 1,000 moments were looked at',
    unit: 'kB',
    bound: { atMost: 200_000 },
    measure: heapOfRecording,
  },
]

let bytes: Uint8Array | undefined

/** The recording, as `reply record` writes it. */
function recording(): Uint8Array {
  bytes ??= new TextEncoder().encode(
    framesOf(generateTurn({ deltas }).events)
      .map((frame, index) => `: at ${1_790_000_000_000 + index * 10}\ndata: ${frame}\n\n`)
      .join(''),
  )
  return bytes
}

function timeOf(run: () => unknown): number {
  const start = performance.now()
  run()
  return performance.now() - start
}

function stepTime(effort: Effort): number {
  const opened = openRecording(recording())
  const steps = effort === 'full' ? 1000 : 200
  const middle = Math.floor(opened.length / 2)
  const moments = Array.from({ length: steps }, (_, step) => [
    middle + step,
    middle - step,
    (step * 70_001) % opened.length,
  ])
  const orders = [0, 1, 2].map((way) => moments.map((ways) => ways[way] ?? 0))
  return quantile(
    orders.flatMap((order) => order.map((moment) => timeOf(() => lookAt(opened, moment)))),
    0.99,
  )
}

/** Reads what the page shows of a moment, also the newest text, which is put together on first use. */
function lookAt(opened: OpenedRecording, moment: number): void {
  opened.frame(moment)
  const part = opened.replyAt(moment)?.messages.at(-1)?.parts.at(-1)
  if (part?.type === 'text') part.text.charCodeAt(part.text.length - 1)
}

async function heapOfRecording(): Promise<number> {
  recording()
  const before = await settledHeap()
  const opened = openRecording(recording())
  for (let step = 0; step < 1000; step++) lookAt(opened, (step * 70_001) % opened.length)
  const used = (await settledHeap()) - before
  // Reached after the measurement, so that it is not collected before.
  return opened.length > 0 ? used / 1000 : 0
}
