import { localAgentSkips, sourceContract } from '@reply/core/testing'
import { agentBinary } from '@reply/testing'
import { test } from 'vitest'
import { startClaudeStage } from './claude-stage.ts'

const setup = async () => await startClaudeStage(await agentBinary('claude'))

for (const { name, run } of sourceContract({ name: 'Claude Code', setup, skip: localAgentSkips('Claude Code') }))
  test(name, run)
