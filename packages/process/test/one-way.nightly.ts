import { textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { localAgentSkips, sourceContract, unaskingSkips } from '@reply/core/testing'
import { describe, expect, test } from 'vitest'
import { oneWayAgents, startOneWayStage } from './one-way-stage.ts'

const tools = 'A one-way program takes a prompt and nothing else.'

const skip = {
  ...localAgentSkips('A one-way program'),
  ...unaskingSkips('A one-way program'),
  'lists its models': tools,
  'lists its commands': tools,
  'runs a command': tools,
}

describe.each(['codex', 'gemini', 'opencode'] as const)('a live %s, one-way', (agent) => {
  for (const { name, run } of sourceContract({ name: agent, setup: () => startOneWayStage(agent), skip }))
    test(name, run)

  test('runs a tool or says why not, tells why it failed, and goes on with its session', async () => {
    const { source, prepare } = oneWayAgents[agent]
    const { command, env, directory, close } = await prepare()
    const drive = connectSource(source({ command, env, cwd: directory }))
    try {
      const first = await drive.prompt({ text: '[scenario:tool] Go.' }).result
      expect([first.outcome, textOf(first)]).toEqual(['completed', 'I run it.\n\nIt is made.'])
      expect(toolsOf(first).map(({ tool, state }) => [tool, state.status])).toEqual([
        ['bash', agent === 'gemini' ? 'error' : 'completed'],
      ])
      const failed = await drive.prompt({ text: '[scenario:error] Go.', sessionID: first.sessionID }).result
      expect([failed.outcome, failed.error?.message]).toEqual(['failed', expect.stringContaining('refuses this.')])
      const last = await drive.prompt({ text: '[scenario:plain] Go.', sessionID: first.sessionID }).result
      expect([last.outcome, textOf(last)]).toEqual(['completed', 'Hello there, nice to meet you.'])
    } finally {
      await drive.close()
      await close()
    }
  })
})
