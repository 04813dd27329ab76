import { connectSource } from '@reply/core/source'
import { localAgentSkips, sourceContract } from '@reply/core/testing'
import { agentBinary } from '@reply/testing'
import { expect, test } from 'vitest'
import { startCodexStage } from './codex-stage.ts'

const question = 'Codex offers its question tool in plan mode alone.'
const agents = 'The approvals of sub-agents have not been recorded yet.'

const skip = {
  ...localAgentSkips('Codex'),
  'tells the agent why a permission is rejected': 'Codex takes a decision without a reason.',
  'answers a question': question,
  'rejects a question': question,
  "answers a sub-agent's permission, and lists the sub-agent as a child": agents,
  'lists its commands': 'Codex has no slash commands in this mode.',
  'runs a command': 'Codex has no slash commands in this mode.',
}

const setup = async () => await startCodexStage(await agentBinary('codex'))

for (const { name, run } of sourceContract({ name: 'Codex', setup, skip })) test(name, run)

test('has its plan as todos where the plan tool is enabled', async () => {
  const args = ['-c', 'tools.update_plan.enabled=true']
  const stage = await startCodexStage(await agentBinary('codex'), { args })
  const agent = connectSource(stage.source)
  const { outcome, todos } = await agent.prompt({ text: '[scenario:plan] Go.' }).result
  await agent.close()
  await stage.close()
  expect([outcome, todos.map(({ content, status }) => [content, status])]).toEqual([
    'completed',
    [
      ['Read', 'completed'],
      ['Write', 'in_progress'],
    ],
  ])
})
