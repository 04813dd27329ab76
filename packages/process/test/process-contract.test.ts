import { localAgentSkips, type SourceStage, sourceContract } from '@reply/core/testing'
import { test } from 'vitest'
import { processSource } from '../src/index.ts'

const none = 'A command asks nothing.'

const skip = {
  ...localAgentSkips('A command'),
  'lists its models': 'A command has no models.',
  'lists a permission with its call, and allows it once': none,
  'allows what a permission says is always allowed': none,
  'says gone for an ask that was answered': none,
  'rejects a permission': none,
  'tells the agent why a permission is rejected': none,
  'answers a question': none,
  'rejects a question': none,
  'does not send an answer whose signal has aborted': none,
  "answers a sub-agent's permission, and lists the sub-agent as a child": none,
  'lists its commands': 'A command has no slash commands.',
  'runs a command': 'A command has no slash commands.',
}

async function setup(): Promise<SourceStage> {
  const source = processSource({ command: 'sh', args: (text) => ['-c', text], graceMs: 200 })
  return {
    source,
    unreachable: processSource({ command: 'no-such-command', env: { TOKEN: 'secret' } }),
    directory: process.cwd(),
    prompts: { plain: { text: 'printf Hello.', answer: 'Hello.' }, endless: 'echo Begun.; sleep 100' },
    secrets: ['secret'],
    close: async () => source.close(),
  }
}

for (const { name, run } of sourceContract({ name: 'a command', setup, skip })) test(name, run)
