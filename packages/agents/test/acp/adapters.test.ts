import { causeOf, ownTodosOf, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { play } from './play.ts'
import { readRecording, replayed } from './replay.ts'
import { claudeScenes, codexScenes, type Scene } from './scenes.ts'

async function settledWith(agent: string, scenes: readonly Scene[], name: string) {
  const scene = scenes.find((one) => one.name === name)
  if (!scene) throw new Error(`There is no scene ${name}.`)
  const { client, sent } = replayed(name, agent)
  const reply = await play(client, scene)
  const details = client.details(reply.sessionID)
  await client.close()
  return { reply, details, sent }
}

const claude = 'claude-agent-acp-0.101.0'
const codex = 'codex-acp-2.6.0'
const recorded = [
  ...claudeScenes.map(({ name }) => [claude, name] as const),
  ...codexScenes.map(({ name }) => [codex, name] as const),
]

test.each(recorded)('the recording of %s, %s, says nothing of its machine', (agent, name) => {
  expect(JSON.stringify(readRecording(name, agent))).not.toMatch(/tmp-reply-|\/tmp\/reply-|\/root|registry/)
})

describe("Claude's agent", () => {
  const settled = (name: string) => settledWith(claude, claudeScenes, name)

  test('thinks, answers, counts tokens and cost, and is set to the mode that asks', async () => {
    const { reply, details } = await settled('text')
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello from Claude.'])
    expect(reply.messages.flatMap(({ parts }) => parts.map(({ type }) => type))).toContain('reasoning')
    expect(reply.usage).toMatchObject({ input: 120, output: 24, cost: expect.any(Number), contextLimit: 1_000_000 })
    expect(reply.usage.cost).toBeGreaterThan(0)
    expect(details).toMatchObject({ modeID: 'default' })
    expect(details?.modes.map(({ id }) => id)).toEqual(['default', 'acceptEdits', 'plan', 'auto'])
  })

  test('attaches a picture to the call that reads it', async () => {
    const { reply } = await settled('picture')
    const size = { mime: 'image/png', size: 70, url: expect.stringMatching(/^data:image\/png;base64,iVBO/) }
    expect(toolsOf(reply).map(({ tool, state }) => [tool, state.attachments])).toEqual([
      ['bash', undefined],
      ['read', [expect.objectContaining(size)]],
    ])
  })

  test('names its tools as Claude Code does, in small letters', async () => {
    const { reply } = await settled('tool')
    expect(toolsOf(reply)).toMatchObject([
      { tool: 'bash', state: { status: 'completed', input: { command: 'ls' }, output: 'README.md' } },
    ])
  })

  test('asks before it runs a command', async () => {
    const { reply } = await settled('permission-allowed')
    expect(reply.asks).toMatchObject([
      { status: 'answered', permission: 'bash', title: 'touch made.txt && echo made', always: [] },
    ])
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'completed', output: 'made' } }])
  })

  test('is told that a command was rejected, and goes on', async () => {
    const { reply } = await settled('permission-rejected')
    expect(reply).toMatchObject({ outcome: 'completed', asks: [{ status: 'rejected' }] })
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'error' } }])
    expect(textOf(reply)).toContain('That was it.')
  })

  test('asks one question for a choice and its field for other words', async () => {
    const { reply, sent } = await settled('question')
    expect(reply.asks).toMatchObject([
      {
        type: 'question',
        status: 'answered',
        answers: [['Blue']],
        questions: [{ header: 'Color', custom: true, multiple: false, options: [{ label: 'Red' }, { label: 'Blue' }] }],
      },
    ])
    expect(sent).toContainEqual(
      expect.objectContaining({ result: { action: 'accept', content: { question_0: 'Blue' } } }),
    )
  })

  test('tells its checklist as a plan', async () => {
    const { reply } = await settled('todos')
    expect(reply.todos.map(({ content, status }) => [content, status])).toEqual([
      ['Read', 'completed'],
      ['Writing', 'in_progress'],
    ])
    expect(ownTodosOf(reply)).toEqual(reply.todos)
  })

  test('stops when it is aborted', async () => {
    const { reply } = await settled('abort')
    expect([reply.outcome, textOf(reply)]).toEqual(['aborted', expect.stringContaining('This answer will never')])
  })

  test('fails with a key that is refused, and says it in its answer', async () => {
    const { reply } = await settled('error')
    expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unauthorized' } })
    expect(reply.error && causeOf(reply.error)).toBe('credentials')
    expect(textOf(reply)).toBe('Failed to authenticate. API Error: 401 The key is wrong.')
  })
})

describe("Codex's agent", () => {
  const settled = (name: string) => settledWith(codex, codexScenes, name)

  test('thinks, answers, and counts tokens', async () => {
    const { reply, details } = await settled('text')
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', expect.stringContaining('Hello from Codex.')])
    expect(reply.usage).toMatchObject({ input: 120, output: 24, contextLimit: 258_400 })
    expect(details?.modes.map(({ id }) => id)).toEqual(['read-only', 'workspace-write', 'agent', 'agent-full-access'])
  })

  test('tells what a command printed beside its result', async () => {
    const { reply } = await settled('tool')
    expect(toolsOf(reply)).toMatchObject([
      { tool: 'exec_command', state: { status: 'completed', output: 'README.md\n' } },
    ])
  })

  test('asks before it runs a command outside of its sandbox', async () => {
    const { reply } = await settled('permission-allowed')
    expect(reply.asks).toMatchObject([
      { status: 'answered', permission: 'bash', always: [expect.stringContaining('`touch made.txt`')] },
    ])
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'completed', output: 'made\n' } }])
  })

  test('ends its turn when a command is rejected', async () => {
    const { reply } = await settled('permission-rejected')
    expect(reply).toMatchObject({ outcome: 'aborted', asks: [{ status: 'rejected' }] })
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'error' } }])
  })

  test('asks one question for a choice and its note', async () => {
    const { reply, sent } = await settled('question')
    expect(reply.asks).toMatchObject([
      { type: 'question', status: 'answered', answers: [['Blue']], questions: [{ custom: true, multiple: false }] },
    ])
    const [ask] = reply.asks
    expect(ask?.type === 'question' && ask.questions[0]?.options.map(({ label }) => label)).toEqual(['Red', 'Blue'])
    expect(sent).toContainEqual(expect.objectContaining({ result: { action: 'accept', content: { color: 'Blue' } } }))
  })

  test('tells its plan where its plan tool is enabled', async () => {
    const { reply } = await settled('todos')
    expect(reply.todos).toMatchObject([
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'in_progress' },
    ])
  })

  test('attaches a link to the picture that its model looks at, whose address is a path', async () => {
    const { reply } = await settled('picture')
    const [, looked] = toolsOf(reply)
    expect([looked?.tool, looked?.state.attachments]).toMatchObject([
      'view_image',
      [{ url: '/project/dot.png', filename: '/project/dot.png', size: undefined }],
    ])
  })

  test('stops when it is aborted', async () => {
    expect((await settled('abort')).reply.outcome).toBe('aborted')
  })

  test('says that its provider refused the key', async () => {
    const { reply } = await settled('error')
    expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unauthorized' } })
    expect(reply.error && causeOf(reply.error)).toBe('credentials')
  })
})
