import { textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import {
  chat,
  chatParamsFromRequestBody,
  type StreamChunk,
  type TextOptions,
  toolDefinition,
  toServerSentEventsResponse,
} from '@tanstack/ai'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { serve } from '../../../reply/test/web/serve.ts'
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

/** TanStack AI's answer. Its types are made for adapters with the models of a provider. */
const answerTo = (options: object) =>
  chat({ adapter, ...options } as unknown as Parameters<typeof chat>[0]) as AsyncIterable<StreamChunk>

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
  const server = await serve(async (request) => {
    if (request.method !== 'POST') return new Response(undefined, { status: 405 })
    const params = await chatParamsFromRequestBody(await request.json())
    return toServerSentEventsResponse(answerTo({ ...params, tools: [remove] }))
  })
  const client = connectSource(agUi({ url: server.url }))
  return {
    client,
    removed,
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await server.close()
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
          return answerTo({ ...(await chatParamsFromRequestBody(input)), tools: [] })
        },
      },
    }),
  )
  const reply = await client.prompt({ text: 'Remove a.txt' }).result
  expect(textOf(reply)).toContain('I remove it.')
  await client.close()
})
