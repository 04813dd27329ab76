import { connectSource, createLocalAgent, type LocalRun } from '@reply/core/source'
import { createUIProjection, toUIMessageStream } from '@reply/ui'
import type { Goal } from '../goal.ts'
import { heapOfEach, heapRatio } from '../heap.ts'
import { projectionGoals } from '../stream/projection.ts'

const few = 20
const many = 2000

/** What it costs to send a reply to front ends of the AI SDK. */
export const uiGoals: readonly Goal[] = [
  ...projectionGoals('ui', 'a chunk for useChat', createUIProjection),
  {
    id: 'ui.readers',
    what: 'heap of 1,000 readers of a reply of 2,000 parts, against 1,000 web streams that only wait',
    unit: '× the floor',
    bound: { atMost: 3 },
    measure: (effort) => heapRatio(() => heapOfReader(many), heapOfFloor, effort),
  },
  {
    id: 'ui.readers.parts',
    what: 'the same, against 1,000 readers of a reply of 20 parts',
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
    id: 'ui.reader',
    what: 'one of these readers: its web stream and its cursor',
    unit: 'kB',
    bound: { atMost: 12 },
    measure: async () => (await heapOfReader(many)) / 1000,
  },
]

/** Resolves with the heap that each of 1,000 readers takes who have all of a running reply of so many parts, and wait for more. */
async function heapOfReader(parts: number): Promise<number> {
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
  while (!isThere()) await turn()
  const chunks = stream.reply ? createUIProjection().next(stream.reply).length : 0
  let last: WaitingRead | undefined
  const heap = await heapOfEach(async () => {
    const reader = toUIMessageStream(stream).getReader()
    for (let at = 0; at < chunks; at++) await reader.read()
    last = await waitingRead(reader)
    return last
  })
  const more = await Promise.race([last?.next, turn()])
  if (more !== undefined) throw new Error('A reader does not wait: it was sent more than a projection returns.')
  await client.close()
  return heap
}

/** Resolves with the heap that each of as many web streams takes whose readers wait, all for the same. */
async function heapOfFloor(): Promise<number> {
  const never = new Promise<void>(() => {})
  return await heapOfEach(() =>
    waitingRead(new ReadableStream<object>({ pull: async () => await never }, { highWaterMark: 0 }).getReader()),
  )
}

/** Begins to wait for more. Resolves with the reader and what it waits for, which both live as long as this. */
async function waitingRead(reader: ReadableStreamDefaultReader<object>): Promise<WaitingRead> {
  const next = reader.read()
  await turn()
  return { reader, next }
}

interface WaitingRead {
  readonly reader: ReadableStreamDefaultReader<object>
  readonly next: Promise<unknown>
}

/** Resolves once all that is ready has run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
