import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-environment-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const names = ['EMIT_SESSION_STATE_EVENTS', 'ENABLE_TODO_TOOLS', 'FORWARD_SUBAGENT_TEXT']

test.each([
  { env: {}, told: '1 1 1' },
  { env: { CLAUDE_CODE_FORWARD_SUBAGENT_TEXT: '0' }, told: '1 1 0' },
])('with $env, Claude Code is told $told', async ({ env, told }) => {
  const command = join(folder, 'claude')
  const script = `#!${process.execPath}
const say = (line) => console.log(JSON.stringify(line))
process.stdin.once('data', () => {
  const text = ${JSON.stringify(names)}.map((name) => process.env['CLAUDE_CODE_' + name]).join(' ')
  say({ type: 'stream_event', event: { type: 'content_block_delta', delta: { type: 'text_delta', text } } })
  say({ type: 'result', subtype: 'success', result: text })
})
`
  writeFileSync(command, script, { mode: 0o755 })
  const client = connectSource(claude({ command, env }))
  expect(textOf(await client.prompt({ text: 'Go.' }).result)).toBe(told)
  await client.close()
})
