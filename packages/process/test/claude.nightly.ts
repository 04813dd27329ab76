import { sourceContract } from '@reply/core/testing'
import { agentBinary } from '@reply/testing'
import { test } from 'vitest'
import { startClaudeStage } from './claude-stage.ts'
import { skipsOf } from './skips.ts'

const setup = async () => await startClaudeStage(await agentBinary('claude'))

for (const { name, run } of sourceContract({ name: 'Claude Code', setup, skip: skipsOf('Claude Code') }))
  test(name, run)
