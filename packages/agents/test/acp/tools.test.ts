import type { Thought } from '@reply/core/thoughts'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { clientOf } from '../../src/acp/client.ts'
import { chunk, type Message, scripted } from './agent.ts'

const options = { command: 'agent', cwd: '/project' } as const
const look = { description: 'Looks.', schema: z.object({ at: z.string() }), handler: ({ at }: { at: string }) => at }
const output = z.object({ count: z.int() })

/** An agent that connects to MCP servers over HTTP. */
function connecting(message: Message, fake: { say(message: unknown): void }): boolean {
  if (message.method !== 'initialize') return false
  const result = { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } }
  fake.say({ jsonrpc: '2.0', id: message.id, result })
  return true
}

interface HttpServer {
  readonly url: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
}

/** Calls a tool as the agent does, at the server that its last session was given. */
async function callTool(heard: readonly Message[], name: string, input: object): Promise<unknown> {
  const params = heard.findLast(({ method }) => method === 'session/new')?.params
  const { mcpServers } = z.object({ mcpServers: z.array(z.custom<HttpServer>()) }).parse(params)
  const [server = expect.fail()] = mcpServers
  const headers = Object.fromEntries(server.headers.map((one) => [one.name, one.value]))
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  })
  return await response.json()
}

test('an agent returns a value by a tool, before the turn ends', async () => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const stage = scripted(
    async ({ say, end }) => {
      await callTool(stage.heard, 'return_result', { count: 3 })
      await held
      say(chunk('Done.'))
      end({ stopReason: 'end_turn' })
    },
    {},
    connecting,
  )
  const client = clientOf(stage.source, options)
  const turn = client.stream('How many?', { output })
  expect(await turn.result).toEqual({ count: 3 })
  release()
  const thoughts: Thought[] = []
  for await (const thought of turn) thoughts.push(thought)
  expect(thoughts).toEqual([{ type: 'message', text: 'Done.' }])
  const prompt = stage.heard.find(({ method }) => method === 'session/prompt')?.params?.prompt
  expect(prompt?.map(({ text }) => text)).toEqual(['How many?', expect.stringContaining('return_result')])
  await client.close()
})

test('an agent calls the tools of a turn, and has none in the next session', async () => {
  const answers: unknown[] = []
  const stage = scripted(
    async ({ text, end }) => {
      if (text === 'Look.') answers.push(await callTool(stage.heard, 'look', { at: 'it' }))
      end({ stopReason: 'end_turn' })
    },
    {},
    connecting,
  )
  const client = clientOf(stage.source, options)
  expect((await client.run('Look.', { tools: { look } })).outcome).toBe('completed')
  expect(answers).toMatchObject([{ result: { content: [{ type: 'text', text: 'it' }] } }])
  await client.run('Rest.')
  const opened = stage.heard.filter(({ method }) => method === 'session/new')
  expect(opened.map(({ params }) => params)).toMatchObject([{ mcpServers: [{ type: 'http' }] }, { mcpServers: [] }])
  await expect(callTool(opened.slice(0, 1), 'look', { at: 'it' })).rejects.toThrow('fetch failed')
  await client.close()
})

test.each([
  ['that does not connect to MCP servers over HTTP', {}, () => false],
  ['in a session that exists', { sessionID: 'ses_1' }, connecting],
])('an agent %s gets no tools, and no prompt', async (_, input, more) => {
  const stage = scripted(({ end }) => end({ stopReason: 'end_turn' }), {}, more)
  const client = clientOf(stage.source, options)
  const turn = client.run({ text: 'How many?', ...input }, { output })
  await expect(turn).rejects.toMatchObject({ type: 'unsupported' })
  expect(stage.heard.map(({ method }) => method)).not.toContain('session/prompt')
  await client.close()
})
