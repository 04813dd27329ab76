import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claude } from '../src/claude.ts'
import { codex } from '../src/codex.ts'
import { commandSource } from '../src/command.ts'
import { heldClock } from './held-clock.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-silent-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** How a Codex without sessions answers. */
const unprompted = { initialize: {}, 'thread/list': { data: [] } }
const answers = { ...unprompted, 'thread/start': { thread: { id: 'one' } } }

/** A Codex that answers these methods alone. A file beside it says which one it left unanswered. */
function silentCodex(name: string, known: object): string {
  const file = join(folder, name)
  const script = `#!${process.execPath}
const known = ${JSON.stringify(known)}
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method } = JSON.parse(text)
  if (id !== undefined && method in known) console.log(JSON.stringify({ id, result: known[method] }))
  else if (id !== undefined) require('node:fs').writeFileSync(__filename + '.' + method.replace('/', '-'), '')
})
setInterval(() => {}, 1000)
`
  writeFileSync(file, script, { mode: 0o755 })
  return file
}

test.each([
  ['initialize', {}],
  ['thread/start', unprompted],
  ['turn/start', answers],
])('a Codex that never answers %s fails the prompt, which says so', async (method, known) => {
  const deadlineMs = 3_600_000
  const { clock, elapse } = heldClock(deadlineMs)
  const command = silentCodex(method.replace('/', '-'), known)
  const agent = connectSource(codex({ command, clock, graceMs: 200, deadlineMs }), { connectTimeoutMs: deadlineMs })
  const said = agent.prompt({ text: 'Go.' }).result.then(
    ({ outcome, error }) => [outcome, error?.message],
    (error: Error) => ['failed', error.message],
  )
  await expect.poll(() => existsSync(`${command}.${method.replace('/', '-')}`)).toBe(true)
  elapse()
  expect(await said).toEqual(['failed', expect.stringContaining(`did not answer ${method} within ${deadlineMs} ms`)])
  await agent.close()
})

test('a Claude Code that never says what it offers is ended after the deadline', async () => {
  const { clock, elapse } = heldClock(3_600_000)
  const file = join(folder, 'mute')
  const script = `require('node:fs').writeFileSync(__filename + '.pid', String(process.pid))
setInterval(() => {}, 1000)`
  writeFileSync(file, `#!${process.execPath}\n${script}\n`, { mode: 0o755 })
  const agent = connectSource(claude({ command: file, clock, deadlineMs: 3_600_000, graceMs: 200 }))
  const said = agent.models().catch((error: Error) => error.message)
  await expect.poll(() => existsSync(`${file}.pid`) && readFileSync(`${file}.pid`, 'utf8')).toMatch(/\d/)
  const isAlive = (): boolean => {
    try {
      return process.kill(Number(readFileSync(`${file}.pid`, 'utf8')), 0)
    } catch {
      return false
    }
  }
  elapse()
  expect(await said).toContain('did not list its models and commands')
  await expect.poll(isAlive).toBe(false)
  await agent.close()
})

test('a command of Claude Code is listed also without a description', async () => {
  const commands = [
    { name: 'review', description: null },
    { name: 'cost', description: 'What it cost' },
    { name: 'init' },
  ]
  const file = join(folder, 'describing')
  const script = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const response = { subtype: 'success', request_id: JSON.parse(line).request_id, response: ${JSON.stringify({ commands })} }
  console.log(JSON.stringify({ type: 'control_response', response }))
})`
  writeFileSync(file, `#!${process.execPath}\n${script}\n`, { mode: 0o755 })
  const agent = connectSource(claude({ command: file, graceMs: 200 }))
  expect((await agent.commands()).map(({ name, description }) => [name, description])).toEqual([
    ['review', undefined],
    ['cost', 'What it cost'],
    ['init', undefined],
  ])
  await agent.close()
})

test('each prompt for a command that does not exist fails at once, and says the cure', async () => {
  // They would wait for an hour otherwise, and between two attempts to start it.
  const hourMs = 3_600_000
  const agent = connectSource(commandSource({ command: 'no-such-command' }), {
    connectTimeoutMs: hourMs,
    backOff: { minMs: hourMs, maxMs: hourMs },
  })
  for (let prompt = 0; prompt < 3; prompt++) {
    const { outcome, error } = await agent.prompt({ text: 'Go.' }).result
    expect([outcome, error?.message]).toEqual([
      'failed',
      'The command "no-such-command" was not found. Install it, or give its full path.',
    ])
  }
  await agent.close()
})

test('a command that was installed meanwhile runs with the next prompt', async () => {
  const command = join(folder, 'installed-late')
  const hourMs = 3_600_000
  const agent = connectSource(commandSource({ command }), { backOff: { minMs: hourMs, maxMs: hourMs } })
  expect((await agent.prompt({ text: 'Go.' }).result).outcome).toBe('failed')
  writeFileSync(command, '#!/bin/sh\necho Here.\n', { mode: 0o755 })
  const { outcome } = await agent.prompt({ text: 'Go.' }).result
  await agent.close()
  expect(outcome).toBe('completed')
})
