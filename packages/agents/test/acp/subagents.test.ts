import { type Child, type Reply, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { readRecording, replayed } from './replay.ts'
import { sessionAgents } from './session-agents.ts'
import { deepScene, type SessionScene, subagentScenes } from './session-scenes.ts'

const agents = sessionAgents
  .filter(({ agent }) => agent !== 'qwen')
  .map(({ folder, version, mode, agent, scenes }) => ({
    recorded: `${folder}-${version}`,
    agent,
    mode,
    scenes,
  }))
const all = sessionAgents.flatMap(({ folder, version, mode, scenes }) =>
  scenes.map((scene) => {
    const recorded = `${folder}-${version}`
    return [recorded, scene.name, { recorded, mode, scene }] as const
  }),
)

/** Replays a scene. `sent` is what the client sent, `wanted` what it sent when the scene was recorded. */
async function replay({
  recorded,
  mode,
  scene,
}: {
  readonly recorded: string
  readonly mode: string
  readonly scene: SessionScene
}) {
  const { client, sent } = replayed(scene.name, recorded)
  const replies = await scene.play({ client, directory: '/project' }, mode)
  await client.close()
  const wanted = readRecording(scene.name, recorded).flatMap(({ from, message }) =>
    from === 'client' ? [message] : [],
  )
  return { replies, sent: sent.map(outline), wanted: wanted.map(outline) }
}

/** A request's method, a permission's outcome, or that it is another response. */
function outline(message: unknown): string {
  const { method, result } = Object(message)
  return method ?? result?.outcome?.optionId ?? result?.outcome?.outcome ?? 'response'
}

/** The newest version of the sub-agent's run. */
function childOf(replies: readonly Reply[]): Child {
  const child = replies.at(-1)?.children[0]
  if (!child) throw new Error('The last reply has no sub-agent.')
  return child
}

function sceneOf(name: string): SessionScene {
  const found = [...subagentScenes, deepScene].find((scene) => scene.name === name)
  if (!found) throw new Error(`There is no scene ${name}.`)
  return found
}

test.each(all)(
  'the recording of %s, %s, shows nothing of its machine, and is replayed with its requests',
  async (...given) => {
    const [recorded, name, scene] = given
    expect(JSON.stringify(readRecording(name, recorded))).not.toMatch(
      /tmp-reply-|\/tmp\/reply-|\/root|registry|claude-0/,
    )
    const { sent, wanted } = await replay(scene)
    expect(sent).toEqual(wanted)
  },
)

describe.each(agents)('sub-agents of $recorded', ({ recorded, mode, agent }) => {
  const played = async (name: string) => (await replay({ recorded, mode, scene: sceneOf(name) })).replies

  test('write, ask and end in their own session', async () => {
    const replies = await played('subagent')
    const [first] = replies
    const { reply, title } = childOf(replies)
    expect([reply.outcome, textOf(reply)]).toEqual([
      'completed',
      expect.stringMatching(/^The child works\.\s*The child is done\.$/),
    ])
    expect(['Look around', 'general-purpose', '[scenario:child] Go']).toContain(title)
    expect(toolsOf(reply)).toMatchObject([{ tool: 'bash', state: { status: 'completed' } }])
    expect(replies.at(-1)?.asks).toMatchObject([
      { type: 'permission', status: 'answered', path: [first?.sessionID, reply.sessionID], call: { tool: 'bash' } },
    ])
    expect(first && toolsOf(first)).toMatchObject([{ tool: 'task', state: { status: 'completed' } }])
  })

  test('answer after their own end, or after that of the turn that began them', async () => {
    const replies = await played('subagent')
    const background = childOf(replies).background
    // Claude's agent holds its turn until its sub-agents are done. Codex's does not.
    if (agent === 'claude')
      expect([replies.length, background, replies[0] && textOf(replies[0])]).toEqual([
        1,
        false,
        expect.stringContaining('The agent is done.'),
      ])
    else expect([replies.length, background]).toEqual([2, true])
  })

  test('get the rejection of their own ask', async () => {
    const replies = await played('subagent-rejected')
    const { reply } = childOf(replies)
    expect(replies.at(-1)?.asks).toMatchObject([{ status: 'rejected', sessionID: reply.sessionID }])
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'error' } }])
    expect(replies[0]?.outcome).toBe('completed')
  })

  test('end with the session that is aborted', async () => {
    const replies = await played('subagent-abort')
    const { reply } = childOf(replies)
    expect([reply.outcome, textOf(reply)]).toEqual(['aborted', 'The child works.'])
    if (agent === 'claude') expect(replies.at(-1)?.outcome).toBe('aborted')
  })
})

test.each(agents.filter(({ agent }) => agent === 'claude'))(
  'a sub-agent of a sub-agent of $recorded asks by itself',
  async ({ recorded, mode }) => {
    const { replies } = await replay({ recorded, mode, scene: deepScene })
    const middle = childOf(replies)
    const inner = childOf([middle.reply])
    expect(textOf(middle.reply)).toContain('The middle works.')
    expect(textOf(inner.reply)).toContain('The child is done.')
    expect(replies.at(-1)?.asks).toMatchObject([
      { status: 'answered', path: [replies[0]?.sessionID, middle.reply.sessionID, inner.reply.sessionID] },
    ])
    expect([middle.reply.outcome, inner.reply.outcome]).toEqual(['completed', 'completed'])
  },
)
