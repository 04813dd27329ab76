import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-fork-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A Claude Code that refuses to resume a session which no process of it has begun, and notes how each was started. */
function startForking(name: string) {
  const command = join(folder, name)
  const script = `#!${process.execPath}
const fs = require('node:fs')
const log = __filename + '.log'
const { argv } = process
const after = (flag) => argv.includes(flag) ? argv[argv.indexOf(flag) + 1] : undefined
const [resumed, own] = [after('--resume'), after('--session-id')]
const begun = fs.existsSync(log) ? fs.readFileSync(log, 'utf8') : ''
if (resumed && !begun.includes('begun ' + resumed)) {
  console.error('No conversation found with session ID: ' + resumed)
  process.exit(1)
}
const say = (line) => console.log(JSON.stringify(line))
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  fs.appendFileSync(log, 'begun ' + (own ?? resumed) + (own && resumed ? ' from ' + resumed : '') + '\\n')
  say({ type: 'system', subtype: 'init', model: 'one' })
  say({ type: 'result', subtype: 'success', result: 'Done.' })
})
`
  writeFileSync(command, script, { mode: 0o755 })
  const env = { CLAUDE_CONFIG_DIR: join(folder, 'none') }
  const source = claude({ command, env, graceMs: 2000 })
  const client = connectSource(source)
  const create = async (): Promise<string> => (await source.create({ directory: folder })).sessionID
  const fork = async (sessionID: string): Promise<string> => (await client.fork(sessionID)).sessionID
  const promptOf = async (sessionID: string) => (await client.prompt({ text: 'Go.', sessionID }).result).outcome
  return { client, create, fork, promptOf, log: () => readFileSync(`${command}.log`, 'utf8').trim().split('\n') }
}

test('the copy of a session without a turn begins empty, also if the session has begun since', async () => {
  const { client, create, fork, promptOf, log } = startForking('empty')
  const original = await create()
  const [first, second] = [await fork(original), await fork(original)]
  const copied = await fork(first)
  expect(await promptOf(first)).toBe('completed')
  expect(await promptOf(original)).toBe('completed')
  expect([await promptOf(second), await promptOf(copied)]).toEqual(['completed', 'completed'])
  expect(log()).toEqual([first, original, second, copied].map((id) => `begun ${id}`))
  await client.close()
})

test('the copy of a copy without a turn is one of the session', async () => {
  const { client, create, fork, promptOf, log } = startForking('twice')
  const original = await create()
  await promptOf(original)
  const first = await fork(original)
  const second = await fork(first)
  expect([await promptOf(second), await promptOf(first)]).toEqual(['completed', 'completed'])
  expect(log()).toEqual([`begun ${original}`, `begun ${second} from ${original}`, `begun ${first} from ${original}`])
  await client.close()
})
