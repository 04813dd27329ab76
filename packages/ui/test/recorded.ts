import { type Observation, observerOf, type Reply, replay } from '@reply/core'
import { listRecordings, type RecordingName, readRecording } from '@reply/testing'
import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from 'ai'
import { expect } from 'vitest'
import type { UIChunk } from '../src/index.ts'

/** A recorded stream of one server. */
export interface RecordedStream extends RecordingName {
  readonly global: boolean
}

/** All recorded streams of both generations. */
export function recordedStreams(): readonly RecordedStream[] {
  return [...listRecordings(), ...listRecordings({ generation: 2 })].flatMap(({ version, scenario, hasGlobal }) =>
    (hasGlobal ? [false, true] : [false]).map((global) => ({ version, scenario, global })),
  )
}

/** Every state of each reply of a recording, as live readers see them. The last one is settled. */
export async function statesOf(recorded: RecordedStream): Promise<readonly (readonly Reply[])[]> {
  const all: Reply[][] = []
  await replay(readRecording(recorded).bytes, {
    observe: (reply) => {
      const states = [reply]
      all.push(states)
      const note = ({ reply: newest }: Observation): void => {
        if (states.at(-1) !== newest) states.push(newest)
      }
      return [observerOf(note)]
    },
  })
  return all
}

/** The message that the AI SDK 6 makes of the chunks, which must all be valid. `have` is what the page had before. */
export async function messageOf(chunks: readonly UIChunk[], have?: UIMessage): Promise<UIMessage> {
  const schema = uiMessageChunkSchema()
  for (const chunk of chunks)
    expect(await schema.validate?.(chunk), JSON.stringify(chunk)).toMatchObject({ success: true })
  let message: UIMessage = have ?? { id: '', role: 'assistant', parts: [] }
  const messages = readUIMessageStream({
    message: structuredClone(message),
    stream: ReadableStream.from<UIMessageChunk>(chunks.map((chunk) => structuredClone(chunk))),
    terminateOnError: true,
    onError: (error) => expect.fail(String(error)),
  })
  for await (const newest of messages) message = newest
  return message
}

/** What a page shows of a message besides its text, in no order. */
export function shownIn({ parts }: UIMessage): unknown {
  const tools = parts.flatMap((part) => {
    if (part.type !== 'dynamic-tool') return []
    const { toolCallId, toolName, title, state, input, output, errorText } = part
    return [{ toolCallId, toolName, title, state, input, output, errorText }]
  })
  const data = parts.flatMap((part) => (/^data-(?!retracted)/.test(part.type) && 'data' in part ? [part] : []))
  const files = parts.flatMap((part) => (part.type === 'file' ? [part] : []))
  const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
  return { tools: tools.toSorted(byText), data: data.toSorted(byText), files: files.toSorted(byText) }
}
