import { filesOf, partsOf, type Reply, toolsOf } from '@reply/core'
import { expect, test } from 'vitest'
import { clientOf } from '../../src/acp/client.ts'
import { chunk, scripted, type Turn } from './agent.ts'

const options = { command: 'agent', cwd: '/project' } as const

/** The replies of prompts in one session. The agent does one of these for each, in order. */
async function replies(...turns: readonly ((turn: Turn) => void)[]): Promise<readonly Reply[]> {
  const left = [...turns]
  const { source } = scripted((turn) => {
    left.shift()?.(turn)
    turn.end({ stopReason: 'end_turn' })
  })
  const client = clientOf(source, options)
  const settled: Reply[] = []
  for (const _ of turns)
    settled.push(await client.prompt({ text: 'Go.', sessionID: settled[0]?.sessionID ?? undefined }).result)
  await client.close()
  return settled
}

const compaction = (status: string) => ({ sessionUpdate: 'compaction_update', compactionId: 'k', status })
const summary = {
  sessionUpdate: 'compaction_summary_chunk',
  compactionId: 'k',
  content: { type: 'text', text: 'Sum.' },
}

test('a compaction is shown, and its summary is not part of the answer', async () => {
  const [reply] = await replies(({ say }) => {
    say(compaction('in_progress'))
    say(summary)
    say(compaction('completed'))
    say(chunk('On I go.'))
  })
  expect(reply && partsOf(reply).flatMap((part) => (part.type === 'text' ? [part.text] : []))).toEqual(['On I go.'])
  expect(reply?.compaction).toMatchObject({ state: 'done', auto: true })
})

test('a compaction that fails replaced nothing', async () => {
  const [reply] = await replies(({ say }) => {
    say(compaction('in_progress'))
    say(compaction('failed'))
    say(chunk('On I go.'))
  })
  expect([reply?.outcome, reply?.compaction?.state]).not.toEqual(['completed', 'done'])
})

test("a run's cost is what the session's cost grew by, and the context window is told", async () => {
  const usage = (used: number, amount: number, currency = 'USD') => ({
    sessionUpdate: 'usage_update',
    used,
    size: 200_000,
    cost: { amount, currency },
  })
  const all = await replies(
    ({ say }) => say(usage(100, 0.25)),
    ({ say }) => {
      say(usage(150, 0.5))
      say(usage(200, 0.75))
    },
    ({ say }) => say(usage(200, 3, 'EUR')),
  )
  expect(all.map((reply) => [reply.usage.cost, reply.usage.contextLimit])).toEqual([
    [0.25, 200_000],
    [0.5, 200_000],
    [0, 200_000],
  ])
})

test('a picture that a tool returns is attached to the call, once, and named in the output', async () => {
  const image = { type: 'content', content: { type: 'image', mimeType: 'image/png', data: 'AAAA' } }
  const call = { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'Read', kind: 'read', status: 'in_progress' }
  const ended = { sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed', content: [image] }
  const [reply] = await replies(({ say }) => {
    say(call)
    say(ended)
    say({ ...ended, title: 'Read a.png' })
  })
  expect(reply && filesOf(reply)).toMatchObject([{ url: 'data:image/png;base64,AAAA', size: 3 }])
  expect(reply && toolsOf(reply).map(({ state }) => state.output)).toEqual(['[image/png, 3 B]'])
})

test.each([
  [
    'an image with its address',
    { type: 'image', mimeType: 'image/png', data: 'AAAA', uri: 'file:///a/dot.png' },
    { mime: 'image/png', url: 'data:image/png;base64,AAAA', filename: 'dot.png', size: 3 },
  ],
  [
    'a sound',
    { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
    { mime: 'audio/wav', url: 'data:audio/wav;base64,AAAA', filename: undefined, size: 3 },
  ],
  [
    'a link with its size and caption',
    {
      type: 'resource_link',
      uri: 'file:///a/all.zip',
      name: 'all.zip',
      mimeType: 'application/zip',
      size: 12,
      description: 'All',
    },
    { mime: 'application/zip', url: 'file:///a/all.zip', filename: 'all.zip', size: 12, caption: 'All' },
  ],
  [
    'a link without a type',
    { type: 'resource_link', uri: 'https://example.com/a', name: 'a' },
    { mime: 'application/octet-stream', url: 'https://example.com/a', filename: 'a', size: undefined },
  ],
  [
    'an embedded text',
    { type: 'resource', resource: { uri: 'notes://1/day.md', mimeType: 'text/markdown', text: 'é' } },
    { mime: 'text/markdown', url: 'data:text/markdown;base64,w6k=', filename: 'day.md', size: 2 },
  ],
  [
    'an embedded file',
    { type: 'resource', resource: { uri: 'notes://1/a.bin', blob: 'AAA=' } },
    { mime: 'application/octet-stream', url: 'data:application/octet-stream;base64,AAA=', filename: 'a.bin', size: 2 },
  ],
])('the agent and its tools may give %s', async (_, content, file) => {
  const [reply] = await replies(({ say }) => {
    say({ sessionUpdate: 'tool_call', toolCallId: 'c', title: 'Draw', content: [{ type: 'content', content }] })
    say({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed' })
    say({ sessionUpdate: 'agent_message_chunk', content })
  })
  const [attached, own] = reply ? filesOf(reply) : []
  expect([attached, own]).toMatchObject([file, file])
  expect(attached?.id).not.toBe(own?.id)
})
