import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codex } from '../src/codex.ts'
import { commandSource } from '../src/command.ts'
import { openRaw } from './raw-session.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-early-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function programOf(name: string, script: string): string {
  const file = join(folder, name)
  writeFileSync(file, `#!${process.execPath}\n${script}\n`, { mode: 0o755 })
  return file
}

test('a command that is aborted while it is being started is ended', async () => {
  const command = programOf('endless', 'setInterval(() => {}, 1000)')
  const session = await openRaw(commandSource({ command, graceMs: 200 }), folder)
  const posting = session.prompt('Go.')
  await session.abort()
  await posting
  await expect.poll(session.ended).toBe(1)
  expect(session.errors()).toEqual(['MessageAbortedError'])
  await session.close()
})

/** A Codex that answers `turn/start` when the file `go` is there, and writes down what it is asked for. */
const slowCodex = `const { appendFileSync, existsSync } = require('node:fs')
const results = { initialize: {}, 'thread/start': { thread: { id: 'one' } }, 'turn/start': { turn: { id: 'turn' } } }
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method, params } = JSON.parse(text)
  appendFileSync(__filename + '.log', method + (params?.turnId ? ' ' + params.turnId : '') + '\\n')
  const say = (line) => console.log(JSON.stringify(line))
  const answer = () => say({ id, result: results[method] ?? {} })
  if (method === 'turn/interrupt') {
    answer()
    return say({ method: 'turn/completed', params: { threadId: 'one', turn: { id: 'turn', status: 'interrupted' } } })
  }
  if (method !== 'turn/start') return id !== undefined && answer()
  const wait = setInterval(() => {
    if (!existsSync(__filename + '.go')) return
    clearInterval(wait)
    answer()
  }, 5)
})`

test('a turn of Codex that is aborted before it has an id is interrupted once it has one', async () => {
  const command = programOf('slow-codex', slowCodex)
  const log = () => (existsSync(`${command}.log`) ? readFileSync(`${command}.log`, 'utf8').trim().split('\n') : [])
  const session = await openRaw(codex({ command, graceMs: 200 }), folder)
  const posting = session.prompt('Go.')
  await expect.poll(log).toContain('turn/start')
  await session.abort()
  writeFileSync(`${command}.go`, '')
  await posting
  await expect.poll(session.ended).toBe(1)
  expect(log().at(-1)).toBe('turn/interrupt turn')
  expect(session.errors()).toEqual(['MessageAbortedError'])
  await session.close()
})
