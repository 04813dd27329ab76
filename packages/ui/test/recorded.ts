import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from 'ai'
import { expect } from 'vitest'
import type { UIChunk } from '../src/index.ts'

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
