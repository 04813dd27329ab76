import { readUIMessageStream, type UIMessageChunk } from 'ai'
import { createCounter } from '../counter.ts'
import type { Effort, Goal } from '../goal.ts'
import { readParsed } from '../pipeline.ts'
import { race } from '../rounds.ts'
import { framesOf, generateTurn, type Turn } from '../stream/turn.ts'

const sizes = [
  { id: '1k', deltas: 1000, atLeast: 3, rounds: 21 },
  { id: '10k', deltas: 10_000, atLeast: 5, rounds: 9 },
  { id: '100k', deltas: 100_000, atLeast: 20, rounds: 3 },
]

/** From parsed events, compared with the AI SDK's reading of the same text in as many pieces. */
export const peerGoals: readonly Goal[] = sizes.map(({ id, deltas, atLeast, rounds }) => ({
  id: `ai-sdk.${id}`,
  what: `parsed events → one observer against readUIMessageStream of the AI SDK, ${deltas.toLocaleString('en')} deltas`,
  unit: '× as fast',
  bound: { atLeast },
  measure: (effort) => besideUIMessages(generateTurn({ deltas }), effort, rounds),
}))

function besideUIMessages(turn: Turn, effort: Effort, rounds: number): Promise<number> {
  const events: readonly unknown[] = framesOf(turn.events).map((frame) => JSON.parse(frame))
  const chunks = toUIMessageChunks(turn)
  const { observer } = createCounter()
  return race({ first: () => readParsed(events, { observer }), second: () => readUIMessages(chunks), effort, rounds })
}

async function readUIMessages(chunks: readonly UIMessageChunk[]): Promise<void> {
  let at = 0
  const stream = new ReadableStream<UIMessageChunk>({
    pull: (controller) => {
      const chunk = chunks[at]
      at += 1
      if (chunk) controller.enqueue(chunk)
      else controller.close()
    },
  })
  let units = 0
  for await (const message of readUIMessageStream({ stream })) {
    const part = message.parts.at(-1)
    if (part?.type === 'text') units += part.text.length
  }
  if (units === 0) throw new Error('The AI SDK read no text.')
}

function toUIMessageChunks({ texts }: Turn): readonly UIMessageChunk[] {
  const steps = texts.map((deltas, index): UIMessageChunk[] => {
    const id = `text-${index}`
    const toolCallId = `call-${index}`
    const tool: UIMessageChunk[] = [
      { type: 'tool-input-start', toolCallId, toolName: 'bash' },
      { type: 'tool-input-available', toolCallId, toolName: 'bash', input: { command: 'npm test' } },
      { type: 'tool-output-available', toolCallId, output: 'ok\n'.repeat(200) },
    ]
    return [
      { type: 'start-step' },
      { type: 'text-start', id },
      ...deltas.map((delta): UIMessageChunk => ({ type: 'text-delta', id, delta })),
      { type: 'text-end', id },
      ...(index === texts.length - 1 ? [] : tool),
      { type: 'finish-step' },
    ]
  })
  return [{ type: 'start', messageId: 'message' }, ...steps.flat(), { type: 'finish' }]
}
