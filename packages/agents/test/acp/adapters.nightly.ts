import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Reply, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { launchClaude, launchCodex } from './adapter-stage.ts'
import { listAgain } from './list-again.ts'
import { loadCut } from './load-cut.ts'
import { play } from './play.ts'
import { replayed } from './replay.ts'
import { claudeScenes, codexScenes } from './scenes.ts'
import { listedAgents, sessionAgents } from './session-agents.ts'
import { agentsOfV2 } from './v2/scenes.ts'

const adapters = [
  { name: 'claude-agent-acp', open: launchClaude, scenes: claudeScenes, rejected: 'completed' },
  { name: 'codex-acp', open: launchCodex, scenes: codexScenes, rejected: 'aborted' },
] as const
const agents = adapters.flatMap((adapter) => ([1, 2] as const).map((protocol) => ({ ...adapter, protocol })))

describe.each(agents)('a live $name in version $protocol of ACP', ({ open, protocol, scenes, rejected }) => {
  const launch = (scenario: string) => open(scenario, undefined, undefined, protocol)

  async function settled(name: string) {
    const scene = scenes.find((one) => one.name === name)
    if (!scene) throw new Error(`There is no scene ${name}.`)
    const stage = await launch(scene.scenario)
    try {
      const reply = await play(stage.client, scene)
      return { reply, made: existsSync(join(stage.directory, 'made.txt')) }
    } finally {
      await stage.close()
    }
  }

  test('answers a prompt', async () => {
    const { reply } = await settled('text')
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', expect.stringContaining('Hello from C')])
  })

  test('runs a command that was allowed', async () => {
    const { reply, made } = await settled('permission-allowed')
    expect([reply.outcome, reply.asks[0]?.status, made]).toEqual(['completed', 'answered', true])
  })

  test('does not run a command that was rejected', async () => {
    const { reply, made } = await settled('permission-rejected')
    expect([reply.outcome, reply.asks[0]?.status, made]).toEqual([rejected, 'rejected', false])
  })

  test('asks a question, and goes on with its answer', async () => {
    const { reply } = await settled('question')
    expect([reply.outcome, reply.asks[0]?.status, textOf(reply)]).toEqual([
      'completed',
      'answered',
      expect.stringContaining('Thanks.'),
    ])
  })

  test('fails with a key that is refused', async () => {
    const { reply } = await settled('error')
    expect([reply.outcome, reply.error?.name]).toEqual(['failed', 'unauthorized'])
  })

  test('stops when it is aborted, and answers the next prompt of the session', async () => {
    const scene = scenes.find((one) => one.name === 'abort')
    if (!scene) throw new Error('There is no scene abort.')
    const stage = await launch('abort')
    try {
      // Only version 1 of Codex's adapter begins its answer with a warning.
      const reply = await play(stage.client, protocol === 1 ? scene : { ...scene, abortAt: 40 })
      expect(reply.outcome).toBe('aborted')
      const next = await stage.client.prompt({ text: '[scenario:text] Go on.', sessionID: reply.sessionID }).result
      expect([next.outcome, textOf(next)]).toEqual(['completed', expect.stringContaining('Hello from C')])
    } finally {
      await stage.close()
    }
  })

  test('goes on with a session of an earlier process', async () => {
    const stage = await launch('text')
    try {
      const { sessionID } = await stage.client.prompt({ text: '[scenario:text] Begin.' }).result
      await stage.client.close()
      const restarted = stage.restart?.()
      if (!restarted) throw new Error('The stage can not restart its agent.')
      try {
        const next = await restarted.prompt({ text: '[scenario:text] Go on.', sessionID }).result
        expect([next.outcome, next.sessionID]).toEqual(['completed', sessionID])
        expect(textOf(next)).toContain('Hello from C')
      } finally {
        await restarted.close()
      }
    } finally {
      await stage.close()
    }
  })
})

describe.each(sessionAgents)('a live $folder $version', ({ launch, version, mode, scenes }) => {
  test.each(scenes.map((scene) => [scene.name, scene] as const))('plays %s', async (name, scene) => {
    const stage = await launch('text', undefined, version)
    try {
      const replies = await scene.play(stage, mode)
      if (name === 'question') return expect(replies[0]?.asks[0]?.status).toBe('answered')
      if (name.startsWith('wake'))
        return expect(replies.at(-1)?.outcome).toBe(name === 'wake-abort' ? 'aborted' : 'completed')
      if (name === 'steer' || name === 'queue')
        return expect(replies.map(({ promptIDs, outcome }) => [promptIDs.length, outcome])).toEqual(
          name === 'steer'
            ? [[2, 'completed']]
            : [
                [1, 'completed'],
                [1, 'completed'],
              ],
        )
      const child = replies.at(-1)?.children[0]?.reply
      if (name === 'subagent') expect(child?.outcome).toBe('completed')
      if (name === 'subagent-abort') expect(child?.outcome).toBe('aborted')
      else expect(replies.at(-1)?.asks[0]?.status).toBe(name === 'subagent-rejected' ? 'rejected' : 'answered')
    } finally {
      await stage.close()
    }
  })
})

describe.each(agentsOfV2)(
  'a live $folder $version in version 2 of ACP',
  ({ folder, launch, version, mode, scenes }) => {
    test.each(scenes.map((scene) => [scene.name, scene] as const))('plays %s as recorded', async (name, scene) => {
      const recorded = replayed(name, `${folder}-${version}-v2`, 2)
      const wanted = await scene.play({ ...recorded, directory: '/project' }, mode)
      await recorded.client.close()
      const stage = await launch('text', undefined, version, 2)
      try {
        const { outcomes, ...rest } = summaryOf(await scene.play(stage, mode))
        // The turn may be over before it is aborted.
        if (name === 'subagent-abort') expect(summaryOf(wanted)).toMatchObject(rest)
        else expect({ outcomes, ...rest }).toEqual(summaryOf(wanted))
      } finally {
        await stage.close()
      }
    })
  },
)

/** The end of each prompt's reply, of all asks and of the first sub-agent. */
function summaryOf(replies: readonly Reply[]) {
  const asks = new Map(replies.flatMap((reply) => reply.asks.map((ask) => [ask.requestID, ask.status] as const)))
  return {
    outcomes: replies.flatMap(({ prompt, outcome }) => (prompt ? [outcome] : [])),
    asks: [...asks.values()],
    child: replies.flatMap(({ children }) => children.map(({ reply }) => reply.outcome)).at(-1),
  }
}

test.each(sessionAgents)('a live $folder $version finds a prompt again that its end cut off', async (given) => {
  const stage = await given.launch('text', undefined, given.version)
  try {
    const reply = await loadCut(stage, given.mode)
    expect([reply.prompt?.text, reply.outcome]).toEqual(['[scenario:cut] Go.', 'aborted'])
  } finally {
    await stage.close()
  }
})

test.each(listedAgents)('a live $folder $version lists the session of another process in its folder', async (given) => {
  const stage = await given.launch('text', undefined, given.version)
  try {
    const { sessionID, here, elsewhere, everywhere } = await listAgain(stage, given.mode)
    expect(here.map((info) => [info.sessionID, info.directory])).toEqual([[sessionID, stage.directory]])
    expect([elsewhere, everywhere]).toEqual([[], here])
  } finally {
    await stage.close()
  }
})
