import { localAgentSkips, type SourceStage, sourceContract, unaskingSkips } from '@reply/core/testing'
import { test } from 'vitest'
import { commandSource } from '../../src/command.ts'

const skip = {
  ...localAgentSkips('A command'),
  ...unaskingSkips('A command'),
  'lists its models': 'A command has no models.',
  'lists its commands': 'A command has no slash commands.',
  'runs a command': 'A command has no slash commands.',
}

async function setup(): Promise<SourceStage> {
  const source = commandSource({ command: 'sh', args: (text) => ['-c', text], graceMs: 200 })
  return {
    source,
    unreachable: commandSource({ command: 'no-such-command', env: { TOKEN: 'secret' } }),
    directory: process.cwd(),
    prompts: { plain: { text: 'printf Hello.', answer: 'Hello.' }, endless: 'echo Begun.; sleep 100' },
    secrets: ['secret'],
    close: async () => source.close(),
  }
}

for (const { name, run } of sourceContract({ name: 'a command', setup, skip })) test(name, run)
