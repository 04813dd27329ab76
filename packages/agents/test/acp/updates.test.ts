import { partsOf, type Reply } from '@reply/core'
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

test('a picture that a tool returns is a file of the reply, once, and named in the output', async () => {
  const image = { type: 'content', content: { type: 'image', mimeType: 'image/png', data: 'AAAA' } }
  const call = { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'Read', kind: 'read', status: 'in_progress' }
  const ended = { sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed', content: [image] }
  const [reply] = await replies(({ say }) => {
    say(call)
    say(ended)
    say({ ...ended, title: 'Read a.png' })
  })
  const parts = reply ? partsOf(reply) : []
  expect(parts.flatMap((part) => (part.type === 'file' ? [part.url] : []))).toEqual(['data:image/png;base64,AAAA'])
  expect(parts.flatMap((part) => (part.type === 'tool' ? [part.state.output] : []))).toEqual(['[image/png, 3 B]'])
})
