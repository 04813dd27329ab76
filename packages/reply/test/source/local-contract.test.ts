import { test } from 'vitest'
import { type SourceStage, sourceContract } from '../../src/testing.ts'
import { createScripted, createUnreachable } from './local-agent.ts'

const unread = 'What a session held before is not shown: only its runs are.'
const one = 'It runs one prompt at a time.'

const skip = {
  'finds a session without its directory': unread,
  "reads a session's newest run": unread,
  'reads back to the messages that are asked for': unread,
  'reads one message': unread,
  "lists a session's sub-agents": unread,
  'lists sessions, those that changed since then, and the newest time': unread,
  'requests what covers several sessions once per reading': unread,
  'reads a run as its events told it': unread,
  'keeps a queued prompt behind a run, and lists it': one,
  'takes back a prompt that waits, once': one,
  'only stores a message without a reply': 'It takes no notes.',
  'lists its agents, including one to prompt': 'It has one agent.',
  'forks a session with its messages': unread,
  'reverts to a message, and takes it back': unread,
}

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

for (const { name, run } of sourceContract({ name: 'a local agent', setup, skip })) test(name, run)
