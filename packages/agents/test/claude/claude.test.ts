import { partsOf, type Reply, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { createChecklist } from '../../src/claude/checklist.ts'
import { decodeClaude } from '../../src/claude/decode/line.ts'
import { createSessionWriter } from '../../src/claude/session-writer.ts'
import { type Answer, recordingOf, runRecorded } from '../replay.ts'

/** Plays a recording through the preset. Asks are answered as a person did who wrote what was recorded. */
async function played(name: string, answer?: Answer) {
  const sent: object[] = []
  const lines = recordingOf('claude', name)
  let at = 0
  const respond = async (_: string, response: object): Promise<void> => {
    sent.push(response)
    // Claude Code goes on once it has the answer.
    setImmediate(play)
  }
  const writer = createSessionWriter(
    createChecklist(),
    () => 0,
    respond,
    () => {
      throw new Error('No recorded turn begins by itself.')
    },
  )
  const reply = await runRecorded((run) => {
    writer.expectTurn(run, 'prompt')
    play()
  }, answer)
  return { reply, sent, recorded: lines.flatMap(({ from, line }) => (from === 'us' && line.response?.response) || []) }

  /** Up to where Claude Code waits for an answer. */
  function play(): void {
    for (let line = lines[at]; line; line = lines[at]) {
      at++
      if (line.from === 'us') continue
      for (const event of decodeClaude(line.line)) writer.write(event, line.line)
      if (line.line.type === 'control_request') return
    }
  }
}

const toolsOf = (reply: Reply) =>
  partsOf(reply).flatMap((part) => (part.type === 'tool' ? [[part.tool, part.state.status, part.state.output]] : []))

describe('Claude Code', () => {
  test('thinks and speaks; its tokens and cost are counted', async () => {
    const { reply } = await played('text')
    expect([reply.outcome, textOf(reply), reply.model]).toEqual([
      'completed',
      'Hello there, nice to meet you.',
      { providerID: 'anthropic', modelID: 'claude-opus-4-8' },
    ])
    expect(partsOf(reply).flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))).toEqual(['Let me think.'])
    expect(reply.usage).toMatchObject({ input: 120, output: 24, steps: 1, contextLimit: 1_000_000 })
    expect(reply.usage.cost).toBeCloseTo(0.0012)
  })

  test('asks before it runs a command, and is allowed once', async () => {
    const { reply, sent, recorded } = await played('permission-once', 'once')
    expect(sent).toEqual(recorded)
    expect(reply.asks).toMatchObject([
      {
        type: 'permission',
        permission: 'bash',
        status: 'answered',
        always: ['touch made.txt && echo made'],
        call: { tool: 'bash', input: { command: 'touch made.txt && echo made' } },
      },
    ])
    expect(toolsOf(reply)).toEqual([['bash', 'completed', 'made']])
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I run it.\n\nIt is made.'])
  })

  test('is refused with a reason, and goes on', async () => {
    const { reply, sent, recorded } = await played('permission-rejected', 'reject')
    expect(sent).toEqual(recorded)
    expect(reply.asks[0]?.status).toBe('rejected')
    expect(partsOf(reply)).toContainEqual(
      expect.objectContaining({ state: expect.objectContaining({ status: 'error', error: 'Not in this folder.' }) }),
    )
    expect(reply.outcome).toBe('completed')
  })

  test('asks a question, and takes the answer by its own text', async () => {
    const { reply, sent, recorded } = await played('question', [['Blue']])
    expect(sent).toEqual(recorded)
    expect(reply.asks).toMatchObject([{ type: 'question', status: 'answered', answers: [['Blue']] }])
    expect(textOf(reply)).toBe('Thanks.')
  })

  test('starts a sub-agent, whose permission is asked in its own session', async () => {
    const { reply, sent, recorded } = await played('sub-agent', 'once')
    expect(sent).toEqual(recorded)
    const [child] = reply.children
    expect(child).toMatchObject({ callID: 'call_0001', agent: 'general-purpose', title: 'Look around' })
    expect(child?.reply.outcome).toBe('completed')
    expect(child && toolsOf(child.reply)).toEqual([['bash', 'completed', 'child']])
    expect(reply.asks[0]?.path).toEqual([reply.sessionID, child?.reply.sessionID])
    expect(textOf(reply)).toBe('The agent is done.')
  })

  test('shows the change of a file as OpenCode does', async () => {
    const { reply } = await played('write', 'once')
    expect(reply.asks).toMatchObject([
      { permission: 'write', always: [], call: { input: { filePath: '/project/notes.txt', content: 'one\ntwo\n' } } },
    ])
  })

  test('keeps a checklist with TodoWrite', async () => {
    const { reply } = await played('todos')
    expect(reply.todos).toEqual([
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'in_progress' },
    ])
    expect(toolsOf(reply).map(([tool, status]) => [tool, status])).toEqual([
      ['todowrite', 'completed'],
      ['todowrite', 'completed'],
    ])
  })

  test('keeps a checklist with its tasks: one is deleted, and one that is not there changes nothing', async () => {
    const { reply } = await played('tasks')
    expect(reply.todos).toEqual([
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'in_progress' },
    ])
    const tools = toolsOf(reply).map(([tool]) => tool)
    expect([tools.filter((tool) => tool === 'todowrite').length, tools.at(-1)]).toEqual([8, 'todoread'])
  })

  test("shows a sub-agent's tasks in the one checklist of the session", async () => {
    const { reply } = await played('shared-tasks')
    expect(reply.todos).toEqual([
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'pending' },
    ])
  })

  test.each([
    ['abort', 'aborted', 'I begin. ', undefined],
    ['error', 'failed', '', 'API Error: 400 The scripted provider refuses this.'],
    ['cut', 'failed', 'Begun and ', 'API Error: Connection closed mid-response. The response above may be incomplete.'],
    ['retry', 'completed', 'Now.', undefined],
    ['unauthorized', 'failed', '', 'Failed to authenticate. API Error: 401 The key is wrong.'],
  ])('tells how it ended: %s', async (name, outcome, text, error) => {
    const { reply } = await played(name)
    expect([reply.outcome, textOf(reply), reply.outcome === 'failed' ? reply.error?.message : undefined]).toEqual([
      outcome,
      text,
      error,
    ])
  })
})

test('a line that is not known changes nothing', () => {
  for (const line of [undefined, 'text', [], {}, { type: 'new' }, { type: 'assistant' }, { type: 'result' }])
    expect(decodeClaude(line)).toEqual([])
})

test('the result of a tool may have no content', () => {
  const message = { content: [{ type: 'tool_result', tool_use_id: 'call' }] }
  expect(decodeClaude({ type: 'user', message })).toMatchObject([{ type: 'result', callID: 'call', text: '' }])
})
