import { test } from 'vitest'
import { localAgentSkips, type SourceStage, sourceContract } from '../../src/testing.ts'
import { createScripted, createUnreachable } from './local-agent.ts'

async function setup(): Promise<SourceStage> {
  const { source } = createScripted()
  return {
    source,
    unreachable: createUnreachable().source,
    directory: '/project',
    prompts: {
      plain: { text: 'Hello.', answer: 'An answer.' },
      endless: 'endless',
      permission: 'permission',
      always: 'always',
      question: 'question',
      delegate: 'delegate',
      command: 'review',
    },
    close: async () => source.close(),
  }
}

for (const { name, run } of sourceContract({ name: 'a local agent', setup, skip: localAgentSkips('A scripted agent') }))
  test(name, run)
