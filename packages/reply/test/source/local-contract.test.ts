import { test } from 'vitest'
import type { LocalHistory, SessionRef } from '../../src/source.ts'
import { localAgentSkips, readableAgentSkips, type SourceStage, sourceContract } from '../../src/testing.ts'
import { createScripted, createUnreachable } from './local-agent.ts'

async function setup(options: Parameters<typeof createScripted>[0] = {}): Promise<SourceStage> {
  const { source } = createScripted(options)
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

for (const { name, run } of sourceContract({
  name: 'a local agent',
  setup: () => setup(),
  skip: localAgentSkips('A scripted agent'),
}))
  test(name, run)

/** A session of an earlier process, with a sub-agent. */
const existing = {
  sessionID: 'ses_old',
  messageIDs: ['msg_1', 'msg_2', 'msg_3', 'msg_4'],
  answer: 'Two.',
  childIDs: ['ses_old_child'],
}

async function read({ sessionID }: SessionRef, history: LocalHistory): Promise<void> {
  if (sessionID !== existing.sessionID) return
  const first = history.run({ parts: [{ type: 'text', text: 'First.' }], messageID: 'msg_1', at: 1000 })
  first.write({ type: 'text', delta: 'One.', messageID: 'msg_2' })
  first.child({ sessionID: 'ses_old_child', title: 'Look around', text: 'Look.' }).end({ type: 'completed' })
  first.end({ type: 'completed' })
  const second = history.run({ parts: [{ type: 'text', text: 'Second.' }], messageID: 'msg_3', at: 2000 })
  second.write({ type: 'text', delta: 'Two.', messageID: 'msg_4' })
  second.end({ type: 'completed' })
}

const old = { sessionID: existing.sessionID, directory: '/project', updatedAt: 2000 }

/** One whose sessions can be read. */
async function readable(): Promise<SourceStage> {
  const stage = await setup({
    read,
    find: async ({ sessionID }) => (sessionID === old.sessionID ? old : undefined),
    sessions: async () => [old],
    fork: async ({ directory }) => ({ sessionID: 'ses_copy', directory }),
  })
  return { ...stage, existing }
}

const skip = readableAgentSkips('A scripted agent')
for (const { name, run } of sourceContract({ name: 'a readable local agent', setup: readable, skip })) test(name, run)
