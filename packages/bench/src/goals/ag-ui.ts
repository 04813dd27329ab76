import { type AgUiProjection, agUi, createAgUiProjection } from '@reply/ag-ui'
import type { Goal } from '../goal.ts'
import { heapOfEach, heapRatio } from '../heap.ts'
import { eventsOfParts, eventsOfSteps } from '../stream/many.ts'
import { bytesOfDeltas, deltaRatio, lastOf, lateRatio, statesOf } from '../stream/projection.ts'

const few = 20
const many = 2000

/** What it costs to send a reply to clients that speak AG-UI. */
export const agUiGoals: readonly Goal[] = [
  {
    id: 'ag-ui.delta.steps',
    what: 'one more delta as an event of AG-UI, in a reply of 2,000 parts in 667 steps, against one of 20',
    unit: '× as long',
    bound: { atMost: 1.3 },
    measure: (effort) => deltaRatio(create, statesOf(eventsOfSteps(few)), statesOf(eventsOfSteps(many)), effort),
  },
  {
    id: 'ag-ui.delta.parts',
    what: 'the same with all parts in one message',
    unit: '× as long',
    bound: { atMost: 1.3 },
    measure: (effort) => deltaRatio(create, statesOf(eventsOfParts(few)), statesOf(eventsOfParts(many)), effort),
  },
  {
    id: 'ag-ui.bytes',
    what: 'bytes of that delta, 2,000 parts against 20',
    unit: '× as large',
    bound: { atMost: 1.3 },
    measure: () =>
      bytesOfDeltas(create, statesOf(eventsOfSteps(many))) / bytesOfDeltas(create, statesOf(eventsOfSteps(few))),
  },
  {
    id: 'ag-ui.late',
    what: 'the whole difference for a late reader, 2,000 parts against 200',
    unit: '× as long',
    // Ten times the parts, and each may take half as long again, because more of them are young garbage at once.
    bound: { atMost: 15 },
    measure: (effort) =>
      lateRatio(create, lastOf(statesOf(eventsOfSteps(200))), lastOf(statesOf(eventsOfSteps(many))), effort),
  },
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
    measure: async () => {
      await pieceTime(800)
      const ratios: number[] = []
      for (let round = 0; round < 5; round++) ratios.push((await pieceTime(8000)) / (await pieceTime(800)))
      return Math.min(...ratios)
    },
  },
]

/** Plays the answer of an agent with a call after each tenth piece. Resolves with the time for a piece, in ms. */
async function pieceTime(pieces: number): Promise<number> {
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
  const start = performance.now()
  await source.prompt({ sessionID, directory: undefined }, { text: 'Go' })
  for (;;) {
    const { value } = await events.next()
    if (value?.some((event: { type: string; status?: string }) => event.type === 'status' && event.status === 'idle'))
      break
  }
  const took = performance.now() - start
  abort.abort()
  source.close()
  return took / pieces
}

/** Resolves with the heap that one of 1,000 readers takes who have all of a reply of so many parts. */
function heapOfReader(parts: number): Promise<number> {
  const reply = lastOf(statesOf(eventsOfSteps(parts)))
  return heapOfEach(() => {
    const projection = create()
    projection.next(reply)
    return projection
  })
}

function create(): AgUiProjection {
  return createAgUiProjection({ threadId: 'thread', runId: 'run' })
}
