import { answerOf, filesOf, type Reply, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { play } from './play.ts'
import { readRecording, replayed } from './replay.ts'
import { type Scene, scenes } from './scenes.ts'

function sceneOf(name: string): Scene {
  const found = scenes.find((scene) => scene.name === name)
  if (!found) throw new Error(`There is no scene ${name}.`)
  return found
}

async function settled(name: string): Promise<{ readonly reply: Reply; readonly sent: readonly unknown[] }> {
  const { client, sent } = replayed(name)
  const reply = await play(client, sceneOf(name))
  await client.close()
  return { reply, sent }
}

const recorded = scenes.filter(({ preset }) => !preset).map(({ name }) => name)

test.each(recorded)('the recording %s says nothing of the machine that made it', (name) => {
  expect(JSON.stringify(readRecording(name))).not.toMatch(/\/tmp\/reply-|\/root|registry/)
})

test.each(recorded)('the recording %s replays with the requests that were recorded', async (name) => {
  const { sent } = await settled(name)
  const wanted = readRecording(name).flatMap(({ from, message }) => (from === 'client' ? [wordOf(message)] : []))
  expect(sent.map(wordOf)).toEqual(wanted)
})

/** A request's method, a permission's outcome, or that it is another response. */
function wordOf(message: unknown): string {
  const { method, result } = Object(message)
  return method ?? result?.outcome?.outcome ?? 'response'
}

describe('OpenCode over ACP', () => {
  test('answers with text and counts tokens', async () => {
    const { reply } = await settled('text')
    expect(reply).toMatchObject({ outcome: 'completed', finish: 'stop', phase: 'settled', error: undefined })
    expect(textOf(reply)).toBe(
      'Hello! This is a plain answer, streamed in a few small pieces, with nothing else to see.',
    )
    expect(reply.usage).toMatchObject({ input: 120, output: 24, cost: 0, contextLimit: 200_000, steps: 1 })
  })

  test('thinks, runs tools and writes its checklist', async () => {
    const { reply } = await settled('tools')
    expect(toolsOf(reply).map(({ tool, state }) => [tool, state.status, state.title])).toEqual([
      ['todowrite', 'completed', '3 todos'],
      ['read', 'completed', 'notes.txt'],
      ['bash', 'completed', 'wc -l notes.txt'],
      ['todowrite', 'completed', expect.any(String)],
    ])
    expect(toolsOf(reply)[2]).toMatchObject({
      state: { input: { command: 'wc -l notes.txt' }, output: '3 notes.txt\n', metadata: { kind: 'execute', exit: 0 } },
    })
    expect(reply.todos.map(({ status }) => status)).toEqual(['completed', 'completed', 'in_progress'])
    const kinds = reply.messages.flatMap(({ parts }) => parts.map(({ type }) => type))
    expect(kinds.filter((kind) => kind === 'reasoning').length).toBe(3)
    expect(kinds[0]).toBe('reasoning')
  })

  test('runs a command that was allowed', async () => {
    const { reply } = await settled('permission-allowed')
    expect(reply.asks).toMatchObject([
      {
        status: 'answered',
        reply: 'once',
        permission: 'bash',
        title: 'echo allowed',
        call: { tool: 'bash', input: { command: 'echo allowed', description: 'Run echo allowed' } },
      },
    ])
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'completed', output: 'allowed\n' } }])
    expect(answerOf(reply)).toContain('It ran.')
  })

  test('is told that a command was rejected', async () => {
    const { reply } = await settled('permission-rejected')
    expect(reply.asks).toMatchObject([{ status: 'rejected', reply: 'reject' }])
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'error', error: expect.stringContaining('rejected') } }])
    expect(reply.outcome).toBe('completed')
  })

  test('asks for an edit with its diff', async () => {
    const { reply } = await settled('permission-edit')
    expect(reply.asks[0]).toMatchObject({
      call: { tool: 'edit', input: { oldString: 'b', newString: 'B' } },
      metadata: { diff: expect.stringContaining('-b\n+B') },
    })
  })

  test('stops when it is aborted, also while it asks', async () => {
    const { reply } = await settled('abort')
    expect([reply.outcome, textOf(reply)]).toEqual(['aborted', expect.stringContaining('This answer will never')])
    const asking = await settled('abort-permission')
    expect(asking.reply).toMatchObject({ outcome: 'aborted', asks: [{ status: 'rejected' }] })
    expect(asking.sent.map(wordOf).slice(-2)).toEqual(['cancelled', 'session/cancel'])
  })

  test('shows the call of a sub-agent, whose session it does not tell', async () => {
    const { reply } = await settled('subagent')
    expect(reply).toMatchObject({ outcome: 'completed', children: [] })
    expect(toolsOf(reply)).toMatchObject([{ tool: 'task', state: { status: 'completed' } }])
  })

  test("fails with the provider's words", async () => {
    const { reply } = await settled('error')
    expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'JSON-RPC -32603' } })
    expect(reply.error?.message).toContain('The key is wrong')
  })

  test('keeps what a cut stream left, as ACP does not take it back', async () => {
    const { reply } = await settled('cut')
    expect(reply.outcome).toBe('completed')
    expect(textOf(reply)).toBe(
      'This sentence was cut off in theThis sentence was said again, and this time to its end.',
    )
  })

  test('says that an answer was cut off by its limit only if the agent says so', async () => {
    const { reply } = await settled('length')
    expect(reply.outcome).toBe('completed')
  })

  test('attaches the files of a call, of an MCP server without their names', async () => {
    const url = (type: string) => expect.stringMatching(`^data:image/${type};base64,`)
    const { reply } = await settled('picture')
    expect(filesOf(reply)).toMatchObject([{ mime: 'image/png', url: url('png'), size: 70 }])
    const { reply: other } = await settled('mcp-files')
    expect(filesOf(other)).toMatchObject([
      { mime: 'image/png', url: url('png'), size: 70 },
      { mime: 'image/gif', url: url('gif'), size: 42 },
    ])
  })

  test('tells the summary of a compaction as its answer', async () => {
    const { reply } = await settled('compaction')
    expect([reply.outcome, reply.prompt?.text, textOf(reply)]).toEqual([
      'completed',
      '/compact',
      'Summary: nothing was done yet.',
    ])
  })
})
