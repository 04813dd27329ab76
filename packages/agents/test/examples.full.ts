import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { callTool, sayText, startModel } from '@reply/testing'
import { prepareOpencode } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import { type Ended, root, runBundled } from './run-bundled.ts'

/** Runs an example as a reader would, without a terminal. */
async function example(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = root): Promise<Ended> {
  return await runBundled(join(root, 'examples', file), { home: 'examples', args, env, cwd })
}

test('command.ts shows what a command writes, and how it ends', async () => {
  const script = 'console.log("to stdout"); console.error("to stderr"); process.exit(3)'
  const { code, said } = await example('command.ts', [process.execPath, '-e', script])
  expect(said).toContain('to stdout\n')
  expect(said).toContain('to stderr\n')
  expect(said).toMatch(/failed: .*exited with code 3\. \(10 characters\)/)
  expect(code).toBe(3)
})

test('acp.ts prompts an agent, and allows nothing', async () => {
  const scripts = {
    touch: {
      steps: [[callTool('bash', { command: 'touch it', description: 'Touch' })], [sayText('I was not allowed to.')]],
    },
    hello: { steps: [[sayText('Hello to you.')]] },
  }
  const model = await startModel({ scripts })
  const opencode = await prepareOpencode({ model, config: { permission: { bash: 'ask' } } })
  const env = { ...opencode.env, PATH: `${dirname(opencode.command)}${delimiter}${process.env.PATH}` }
  const hello = await example('acp.ts', ['Hi [scenario:hello]'], env, opencode.directory)
  expect(hello).toEqual({ code: 0, said: '\ncompleted: Hello to you.\n' })
  const touch = await example('acp.ts', ['Touch [scenario:touch]', 'opencode', 'acp'], env, opencode.directory)
  expect(touch.said).toContain('bash: error')
  const missing = await example('acp.ts', ['Hi', 'no-such-agent'], env, opencode.directory)
  expect(missing).toMatchObject({ code: 1, said: expect.stringContaining('"no-such-agent" was not found') })
  await opencode.remove()
  await model.close()
})

test('claude.ts shows the answer of Claude Code', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reply-example-'))
  const recording = join(root, 'packages/agents/recordings/claude/text.jsonl')
  // Says what Claude Code said, each time after it was told as much.
  const claude = `#!/usr/bin/env node
const { createInterface } = require('node:readline')
const lines = require('node:fs').readFileSync(${JSON.stringify(recording)}, 'utf8').trim().split('\\n').map(JSON.parse)
const go = () => {
  while (lines[0] && lines[0].from !== 'us') console.log(JSON.stringify(lines.shift().line))
}
go()
createInterface({ input: process.stdin }).on('line', () => {
  lines.shift()
  go()
})
`
  writeFileSync(join(folder, 'claude'), claude, { mode: 0o755 })
  const { code, said } = await example('claude.ts', ['Hi'], { PATH: `${folder}${delimiter}${process.env.PATH}` })
  expect(said).toContain('nice to meet you')
  expect(said).toContain('completed')
  expect(code).toBe(0)
  rmSync(folder, { recursive: true })
})
