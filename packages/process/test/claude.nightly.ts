import { connectSource } from '@reply/core/source'
import { localAgentSkips, sourceContract } from '@reply/core/testing'
import { agentBinary } from '@reply/testing'
import { expect, test } from 'vitest'
import { startClaudeStage } from './claude-stage.ts'

const setup = async () => await startClaudeStage(await agentBinary('claude'))

for (const { name, run } of sourceContract({ name: 'Claude Code', setup, skip: localAgentSkips('Claude Code') }))
  test(name, run)

test('its tasks are the checklist of the reply', async () => {
  const stage = await setup()
  const agent = connectSource(stage.source)
  const { outcome, todos } = await agent.prompt({ text: '[scenario:tasks] Go.' }).result
  await agent.close()
  await stage.close()
  expect([outcome, todos]).toEqual([
    'completed',
    [
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'in_progress' },
    ],
  ])
})
