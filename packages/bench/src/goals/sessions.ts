import { createCounter } from '../counter.ts'
import type { Effort, Goal } from '../goal.ts'
import { readLive } from '../pipeline.ts'
import { race } from '../rounds.ts'
import { chunksOf } from '../stream/chunk.ts'
import { framesOf, generateTurn } from '../stream/turn.ts'

const sessions = 1000

/** Many concurrent sessions on one stream. Frame by frame, because adjacent deltas of one part would be merged. */
export const sessionGoals: readonly Goal[] = [
  {
    id: 'sessions.1000',
    what: '1,000 sessions interleaved, against the same streams in sequence',
    unit: '× as long',
    // The objects of 1,000 open sessions don't fit into a CPU's cache: how much that costs depends on the machine.
    bound: { atMost: 2 },
    measure: besideOneAfterAnother,
  },
]

function besideOneAfterAnother(effort: Effort): Promise<number> {
  const turns = Array.from({ length: sessions }, (_, at) => generateTurn({ deltas: 100, seed: `${at}` }).events)
  const longest = Math.max(...turns.map((events) => events.length))
  const rounds = Array.from({ length: longest }, (_, at) => turns.flatMap((events) => events.slice(at, at + 1)))
  const waitForTurn = chunksOf(framesOf(turns.flat()), 'frame')
  const interleaved = chunksOf(framesOf(rounds.flat()), 'frame')
  return race({ first: () => read(waitForTurn), second: () => read(interleaved), effort, rounds: 11 })
}

function read(chunks: readonly Uint8Array[]): void {
  const { observer, count } = createCounter()
  readLive(chunks, { observer })
  if (count.settled !== sessions) throw new Error(`${count.settled} of ${sessions} replies settled.`)
}
