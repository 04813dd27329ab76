import { type AgUiProjection, agUi, createAgUiProjection } from '@reply/ag-ui'
import type { Goal } from '../goal.ts'
import { heapOfEach, heapRatio } from '../heap.ts'
import { median } from '../rounds.ts'
import { projectionGoals, replyOf } from '../stream/projection.ts'

const few = 20
const many = 2000

/** What it costs to send a reply to clients that speak AG-UI. */
export const agUiGoals: readonly Goal[] = [
  ...projectionGoals('ag-ui', 'an event of AG-UI', create),
  {
    id: 'ag-ui.reader.parts',
    what: 'heap of a reader who has all of a reply of 2,000 parts, against one of 20',
    unit: '× as large',
    bound: { atMost: 1.1 },
    measure: (effort) =>
      heapRatio(
        () => heapOfReader(many),
        () => heapOfReader(few),
        effort,
      ),
  },
  {
    id: 'ag-ui.reader',
    what: 'such a reader, one of 1,000',
    unit: 'kB',
    bound: { atMost: 6 },
    measure: async () => (await heapOfReader(many)) / 1000,
  },
  {
    id: 'ag-ui.source',
    what: "a piece of an AG-UI agent's answer, read into the reply's events, one of 8,000 against one of 800",
    unit: '× as long',
    bound: { atMost: 1.3 },
    measure: async (effort) => {
      for (let times = 0; times < 40; times++) await play(800)
      const ratios: number[] = []
      for (let round = 0; round < (effort === 'quick' ? 5 : 21); round++) {
        const before = await cpuOf(async () => {
          for (let times = 0; times < 10; times++) await play(800)
        })
        ratios.push((await cpuOf(() => play(8000))) / before)
      }
      return median(ratios)
    },
  },
]

/**
 * Resolves with the CPU time of what is run, in µs. The short answers fit between two turns of other programs, and the long one
 * doesn't, so a clock would show the load of the machine.
 */
async function cpuOf(run: () => Promise<void>): Promise<number> {
  globalThis.gc?.({ type: 'minor' })
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** Plays the answer of an agent with a call after each tenth piece, and reads its events. */
async function play(pieces: number): Promise<void> {
  const run = async function* () {
    for (let at = 0; at < pieces; at++) {
      yield { type: 'TEXT_MESSAGE_CONTENT', messageId: `m${at % 50}`, delta: 'word ' }
      if (at % 10 > 0) continue
      const toolCallId = `c${at}`
      yield { type: 'TOOL_CALL_START', toolCallId, toolCallName: 'list' }
      yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: '{}' }
      yield { type: 'TOOL_CALL_END', toolCallId }
      yield { type: 'TOOL_CALL_RESULT', messageId: `r${at}`, toolCallId, content: 'done' }
    }
    yield { type: 'RUN_FINISHED' }
  }
  const source = agUi({ agent: { run } })
  const abort = new AbortController()
  const events = source.connect({ signal: abort.signal, directory: undefined })[Symbol.asyncIterator]()
  await events.next()
  const { sessionID } = await source.create({ directory: undefined })
  await source.prompt({ sessionID, directory: undefined }, { text: 'Go' })
  for (;;) {
    const { value } = await events.next()
    if (value?.some((event: { type: string; status?: string }) => event.type === 'status' && event.status === 'idle'))
      break
  }
  abort.abort()
  source.close()
}

/** Resolves with the heap that one of 1,000 readers takes who have all of a reply of so many parts. */
function heapOfReader(parts: number): Promise<number> {
  const reply = replyOf(parts)
  return heapOfEach(() => {
    const projection = create()
    projection.next(reply)
    return projection
  })
}

function create(): AgUiProjection {
  return createAgUiProjection({ threadId: 'thread', runId: 'run' })
}
