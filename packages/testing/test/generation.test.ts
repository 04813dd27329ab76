import { expect, test } from 'vitest'
import { secondConfigFor } from '../src/config.ts'
import { inGeneration } from '../src/generation.ts'
import { callTool, sayText } from '../src/script.ts'

test('scripts call the tools of OpenCode 2 by its names', () => {
  const pieces = [
    sayText('I look.'),
    callTool('read', { filePath: 'a.txt' }),
    callTool('bash', { command: 'ls' }),
    callTool('task', { prompt: 'Go.', subagent_type: 'general' }),
  ]
  expect(inGeneration(1, pieces)).toEqual(pieces)
  expect(inGeneration(2, pieces)).toEqual([
    sayText('I look.'),
    callTool('read', { path: 'a.txt' }),
    callTool('shell', { command: 'ls' }),
    callTool('subagent', { prompt: 'Go.', agent: 'general' }),
  ])
})

test('settings of OpenCode 2 have lists of rules, also for its agents', () => {
  const settings = secondConfigFor('http://127.0.0.1:1/v1', {
    permission: { bash: { 'curl *': 'ask' } },
    agent: { general: { mode: 'subagent', permission: { task: 'allow' } } },
    subagentDepth: 2,
  })
  expect(JSON.parse(settings)).toMatchObject({
    permissions: [{ action: 'shell', resource: 'curl *', effect: 'ask' }],
    agents: { general: { mode: 'subagent', permissions: [{ action: 'subagent', resource: '*', effect: 'allow' }] } },
    experimental: { subagent_depth: 2 },
  })
})
