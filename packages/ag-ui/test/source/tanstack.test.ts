import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import {
  type AnyTextAdapter,
  chat,
  chatParamsFromRequestBody,
  type TextOptions,
  toolDefinition,
  toServerSentEventsResponse,
} from '@tanstack/ai'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { agUi } from '../../src/index.ts'
import { partsOf, pendingOf } from './stage.ts'

/** A model that removes a file when it is told to, and says what the tool returned. */
const adapter = {
  kind: 'text',
  name: 'scripted',
  model: 'scripted-1',
  async *chatStream({ messages, runId = 'run', threadId = 'thread' }: TextOptions) {
    const last = messages.at(-1)
    const base = { timestamp: 1, model: 'scripted-1' }
    const step = messages.length
    yield { type: 'RUN_STARTED', runId, threadId, ...base }
    const isDone = last?.role === 'tool'
    const text = isDone ? `The tool said ${String(last.content)}.` : 'I remove it.'
    yield { type: 'TEXT_MESSAGE_START', messageId: `m${step}`, role: 'assistant', ...base }
    yield { type: 'TEXT_MESSAGE_CONTENT', messageId: `m${step}`, delta: text, ...base }
    yield { type: 'TEXT_MESSAGE_END', messageId: `m${step}`, ...base }
    if (!isDone) {
      const toolCallId = `call-${step}`
      yield {
        type: 'TOOL_CALL_START',
        toolCallId,
        toolCallName: 'remove',
        parentMessageId: `m${step}`,
        index: 0,
        ...base,
      }
      yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: '{"path":"a.txt"}', ...base }
      yield { type: 'TOOL_CALL_END', toolCallId, toolCallName: 'remove', input: { path: 'a.txt' }, ...base }
    }
    const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 }
    yield { type: 'RUN_FINISHED', runId, threadId, finishReason: isDone ? 'stop' : 'tool_calls', usage, ...base }
  },
}

/** Starts a TanStack AI agent on this computer. Its tool asks first if it `needsApproval`. */
async function startTanStack(needsApproval: boolean) {
  const removed: string[] = []
  const definition = {
    name: 'remove',
    description: 'Removes a file',
    inputSchema: z.object({ path: z.string() }),
    outputSchema: z.object({ removed: z.string() }),
    needsApproval,
  }
  const remove = toolDefinition(definition).server(async ({ path }) => {
    removed.push(path)
    return { removed: path }
  })
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const params = await chatParamsFromRequestBody(JSON.parse(body))
    const options = { adapter: adapter as unknown as AnyTextAdapter, ...params, tools: [remove] }
    const events = chat(options as unknown as Parameters<typeof chat>[0])
    const streamed = toServerSentEventsResponse(events as Parameters<typeof toServerSentEventsResponse>[0])
    response.writeHead(streamed.status, Object.fromEntries(streamed.headers))
    if (streamed.body) Readable.fromWeb(streamed.body as never).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const client = connectSource(agUi({ url: `http://127.0.0.1:${port}/` }))
  return {
    client,
    removed,
    [Symbol.asyncDispose]: async () => {
      await client.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

test('an approval of TanStack AI is answered once, and the call runs', async () => {
  await using agent = await startTanStack(true)
  const stream = agent.client.prompt({ text: 'Remove a.txt' })
  const [ask] = await pendingOf(stream)
  expect(ask).toMatchObject({
    type: 'permission',
    title: 'Approval required to run remove',
    call: { tool: 'remove', input: { path: 'a.txt' } },
    always: [],
  })
  expect(agent.removed).toEqual([])
  if (ask) await agent.client.answer(ask, 'once')
  const reply = await stream.result
  expect(agent.removed).toEqual(['a.txt'])
  expect(partsOf(reply)).toEqual([
    ['text', 'I remove it.'],
    ['remove', 'completed', { path: 'a.txt' }, '{"removed":"a.txt"}'],
    ['text', 'The tool said {"removed":"a.txt"}.'],
  ])
  expect([reply.outcome, reply.usage.input, reply.usage.output]).toEqual(['completed', 6, 4])
  const again = agent.client.prompt({ text: 'Remove it again', sessionID: reply.sessionID })
  const [second] = await pendingOf(again)
  if (second) await agent.client.reject(second)
  expect((await again.result).outcome).toBe('completed')
  expect(agent.removed).toEqual(['a.txt'])
})

test('a rejected approval of TanStack AI runs nothing', async () => {
  await using agent = await startTanStack(true)
  const stream = agent.client.prompt({ text: 'Remove a.txt' })
  const [ask] = await pendingOf(stream)
  if (ask) await agent.client.reject(ask)
  const reply = await stream.result
  expect(agent.removed).toEqual([])
  expect(partsOf(reply)[1]).toEqual(['remove', 'error', { path: 'a.txt' }, expect.stringContaining('declined')])
  expect(textOf(reply)).toContain('declined')
})

test('a tool of TanStack AI that needs no approval runs in the same stream', async () => {
  await using agent = await startTanStack(false)
  const reply = await agent.client.prompt({ text: 'Remove a.txt' }).result
  expect(partsOf(reply).map(([what]) => what)).toEqual(['text', 'remove', 'text'])
  expect([reply.outcome, reply.messages.length]).toEqual(['completed', 2])
})

test('TanStack AI in the same process is an agent, too', async () => {
  const client = connectSource(
    agUi({
      agent: {
        run: async (input) => {
          const options = { adapter: adapter as unknown as AnyTextAdapter, ...(await chatParamsFromRequestBody(input)) }
          return chat({ ...options, tools: [] } as unknown as Parameters<typeof chat>[0]) as AsyncIterable<unknown>
        },
      },
    }),
  )
  const reply = await client.prompt({ text: 'Remove a.txt' }).result
  expect(textOf(reply)).toContain('I remove it.')
  await client.close()
})
