import { type Child, causeOf, filesOf, ownTodosOf, type Reply, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { readRecording, replayed } from '../replay.ts'
import { agentsOfV2, type SceneV2 } from './scenes.ts'

const agents = agentsOfV2.map(({ folder, version, mode, agent, scenes }) => ({
  recorded: `${folder}-${version}-v2`,
  agent,
  mode,
  scenes,
}))
type Recorded = (typeof agents)[number]

/** Replays a scene. `sent` is what the client sent, `wanted` what it sent when the scene was recorded. */
async function replay({ recorded, mode }: Pick<Recorded, 'recorded' | 'mode'>, { name, play }: SceneV2) {
  const { client, sent, restart } = replayed(name, recorded, 2)
  const replies = await play({ client, restart, directory: '/project' }, mode)
  const details = client.details(replies[0]?.sessionID ?? '')
  await client.close()
  const wanted = readRecording(name, recorded).flatMap(({ from, message }) => (from === 'client' ? [message] : []))
  return { replies, details, sent, requests: once(sent.map(outline)), wanted: once(wanted.map(outline)) }
}

/** An abort may send more than one cancel. */
function once(requests: readonly string[]): readonly string[] {
  return requests.filter((request, at) => request !== 'session/cancel' || requests[at - 1] !== request)
}

/** A request's method, a permission's outcome, or that it is another response. */
function outline(message: unknown): string {
  const { method, result } = Object(message)
  return method ?? result?.outcome?.optionId ?? result?.outcome?.outcome ?? 'response'
}

const all = agents.flatMap((agent) => agent.scenes.map((scene) => [agent.recorded, scene.name, agent, scene] as const))

test.each(all)(
  'the recording of %s, %s, shows nothing of its machine, and is replayed with its requests',
  async (...given) => {
    const [recorded, name, agent, scene] = given
    expect(JSON.stringify(readRecording(name, recorded))).not.toMatch(
      /tmp-reply-|\/tmp\/reply-|\/root|registry|claude-0/,
    )
    const { requests, wanted } = await replay(agent, scene)
    expect(requests).toEqual(wanted)
  },
)

describe.each(agents)('version 2 with $recorded', (recorded) => {
  const { agent, scenes } = recorded
  const isClaude = agent === 'claude'

  async function played(name: string) {
    const scene = scenes.find((one) => one.name === name)
    if (!scene) throw new Error(`There is no scene ${name}.`)
    const { replies, details, sent } = await replay(recorded, scene)
    const [reply] = replies
    const last = replies.at(-1)
    if (!reply || !last) throw new Error('There is no reply.')
    return { reply, last, replies, details, sent }
  }

  test('answers, thinks, and counts tokens', async () => {
    const { reply, details } = await played('text')
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', expect.stringMatching(/^Hello from C\w+\.$/)])
    expect(reply.messages.flatMap(({ parts }) => parts.map(({ type }) => type))).toContain('reasoning')
    expect(reply.usage).toMatchObject({ input: 120, output: 24 })
    expect(reply.usage.cost > 0).toBe(isClaude)
    const mode = details?.config.find(({ category }) => category === 'mode')
    expect(mode).toMatchObject({ value: isClaude ? 'default' : 'read-only' })
    expect(details?.commands.length).toBeGreaterThan(0)
  })

  test('shows a command with its output', async () => {
    const { reply } = await played('tool')
    expect(textOf(reply)).toMatch(/^I look\.\s+I looked\.$/)
    expect(toolsOf(reply)).toMatchObject([
      {
        tool: isClaude ? 'bash' : 'exec_command',
        state: { status: 'completed', output: expect.stringMatching(/^README\.md\n?$/) },
      },
    ])
  })

  test('asks before it runs a command', async () => {
    const { reply } = await played('permission-allowed')
    expect(reply.asks).toMatchObject([
      { status: 'answered', permission: 'bash', call: { input: { command: 'touch made.txt && echo made' } } },
    ])
    expect(toolsOf(reply)).toMatchObject([
      { state: { status: 'completed', output: expect.stringMatching(/^made\n?$/) } },
    ])
    if (!isClaude)
      expect(reply.asks).toMatchObject([{ title: 'Run command?', metadata: { reason: 'May I make a file?' } }])
  })

  test('attaches a picture that is read, or a link to it', async () => {
    const { reply } = await played('picture')
    const file = isClaude
      ? { mime: 'image/png', url: expect.stringMatching(/^data:image\/png;base64,iVBO/), size: 70 }
      : { mime: 'application/octet-stream', url: '/project/dot.png', filename: '/project/dot.png', size: undefined }
    expect(filesOf(reply)).toMatchObject([file])
  })

  test('is told of a rejection', async () => {
    const { reply } = await played('permission-rejected')
    expect(reply).toMatchObject({ outcome: isClaude ? 'completed' : 'aborted', asks: [{ status: 'rejected' }] })
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'error' } }])
  })

  test('asks a question, and takes its answer', async () => {
    const { reply, sent } = await played('question')
    expect(reply.asks).toMatchObject([
      { type: 'question', status: 'answered', answers: [['Blue']], questions: [{ custom: true, multiple: false }] },
    ])
    const content = isClaude ? { question_0: 'Blue' } : { color: 'Blue' }
    expect(sent).toContainEqual(expect.objectContaining({ result: { action: 'accept', content } }))
  })

  test('shows its plan as todos', async () => {
    const { reply } = await played('todos')
    expect(reply.todos.map(({ status }) => status)).toEqual(['completed', 'in_progress'])
    expect(ownTodosOf(reply)).toEqual(reply.todos)
  })

  test('stops when it is aborted', async () => {
    const { reply } = await played('abort')
    expect([reply.outcome, textOf(reply)]).toEqual(['aborted', expect.stringContaining('This answer will never')])
  })

  test('fails with a key that is refused', async () => {
    const { reply } = await played('error')
    expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unauthorized' } })
    expect(reply.error && causeOf(reply.error)).toBe('credentials')
  })

  test('shows a sub-agent that asks after the turn, and what the agent says after it', async () => {
    const { reply, replies } = await played('subagent')
    const child = childOf(replies.findLast(({ children }) => children.length > 0))
    expect([child.reply.outcome, textOf(child.reply), child.background]).toEqual([
      'completed',
      expect.stringMatching(/^The child works\.\s*The child is done\.$/),
      true,
    ])
    expect(replies.flatMap(({ asks }) => asks)).toContainEqual(
      expect.objectContaining({ status: 'answered', path: [reply.sessionID, child.reply.sessionID] }),
    )
    expect(replies.map(textOf).join(' ')).toContain(isClaude ? 'The agent is done.' : 'It runs.')
  })

  test("rejects a sub-agent's ask", async () => {
    const { replies, last } = await played('subagent-rejected')
    const { reply } = childOf(last)
    expect(replies.flatMap(({ asks }) => asks)).toContainEqual(
      expect.objectContaining({ status: 'rejected', sessionID: reply.sessionID }),
    )
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'error' } }])
  })

  test('finds the run of a program that was killed, and goes on with its session', async () => {
    const { replies } = await played('killed')
    // Codex repeats the text that was cut off, and Claude does not.
    expect(replies.map((reply) => [reply.prompt?.text, reply.outcome, textOf(reply)])).toEqual([
      ['[scenario:abort] Go.', 'aborted', isClaude ? '' : expect.stringContaining('never come')],
      ['[scenario:text] Go on.', 'completed', expect.stringContaining('Hello from C')],
    ])
  })

  test('queues a prompt behind the turn, which then has its own answer', async () => {
    const { replies, sent } = await played('queue')
    expect(replies.map((reply) => [textOf(reply), reply.promptIDs.length, reply.outcome])).toEqual([
      // Claude Code reads the queued prompt when the call has returned, and ends the first turn there.
      [isClaude ? 'I begin.' : expect.stringMatching(/^I begin\.\s*I went on\.$/), 1, 'completed'],
      ['The second answer.', 1, 'completed'],
    ])
    expect(sent.filter(({ method }) => method === 'session/prompt')).toHaveLength(2)
  })

  test('stops a sub-agent with its session', async () => {
    const { last } = await played('subagent-abort')
    expect([childOf(last).reply.outcome, textOf(childOf(last).reply)]).toEqual(['aborted', 'The child works.'])
  })
})

describe.each(agents.filter(({ agent }) => agent === 'claude'))('version 2 with $recorded', (recorded) => {
  async function played(name: string): Promise<readonly Reply[]> {
    const scene = recorded.scenes.find((one) => one.name === name)
    if (!scene) throw new Error(`There is no scene ${name}.`)
    return (await replay(recorded, scene)).replies
  }

  test('shows the answer after a command in the background, and the answer of a prompt sent meanwhile', async () => {
    const replies = await played('background-command')
    expect(replies.map((reply) => [reply.prompt?.text, textOf(reply), reply.outcome])).toEqual([
      ['[scenario:background-command] Go.', 'It runs.', 'completed'],
      [undefined, 'The command is done.', 'completed'],
      ['[scenario:meanwhile] Go.', 'The second answer.', 'completed'],
    ])
  })

  test('asks for an edit with its changes', async () => {
    const [reply] = await played('edit')
    expect(reply?.asks).toMatchObject([
      {
        status: 'answered',
        permission: 'write',
        call: { input: { content: 'one\ntwo\n' } },
        always: [expect.any(String)],
      },
    ])
    expect(reply && toolsOf(reply)).toMatchObject([
      { state: { status: 'completed', metadata: { content: [{ type: 'diff', changes: [{ operation: 'add' }] }] } } },
    ])
  })

  test('shows a sub-agent of a sub-agent, with its ask', async () => {
    const replies = await played('subagent-deep')
    const middle = childOf(replies.at(-1))
    const inner = childOf(middle.reply)
    expect([textOf(inner.reply), middle.reply.outcome, inner.reply.outcome]).toEqual([
      expect.stringContaining('The child is done.'),
      'completed',
      'completed',
    ])
    expect(replies.flatMap(({ asks }) => asks)).toContainEqual(
      expect.objectContaining({
        status: 'answered',
        path: [replies[0]?.sessionID, middle.reply.sessionID, inner.reply.sessionID],
      }),
    )
  })
})

test.each(agents.filter(({ agent }) => agent === 'codex'))(
  'a prompt joins the work of $recorded where its message is',
  async (recorded) => {
    const scene = recorded.scenes.find(({ name }) => name === 'steer')
    if (!scene) throw new Error('There is no scene steer.')
    const { replies, sent } = await replay(recorded, scene)
    expect(replies.map((reply) => [textOf(reply), reply.promptIDs.length, reply.outcome])).toEqual([
      [expect.stringMatching(/^I begin\.\s*The second answer\.$/), 2, 'completed'],
    ])
    expect(replies[0]?.usage).toMatchObject({ input: 240, output: 48 })
    expect(sent.filter(({ method }) => method === 'session/prompt')).toHaveLength(1)
  },
)

function childOf(reply: Reply | undefined): Child {
  const child = reply?.children[0]
  if (!child) throw new Error('The reply has no sub-agent.')
  return child
}
