import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
function startForking(name: string, config = 'none') {
  const command = join(folder, name)
  const script = `#!${process.execPath}
const fs = require('node:fs')
const log = __filename + '.log'
const { argv } = process
const after = (flag) => argv.includes(flag) ? argv[argv.indexOf(flag) + 1] : undefined
const [resumed, own, at] = [after('--resume'), after('--session-id'), after('--resume-session-at')]
const begun = fs.existsSync(log) ? fs.readFileSync(log, 'utf8') : ''
if (resumed && !begun.includes('begun ' + resumed) && !resumed.startsWith('00000000')) {
  console.error('No conversation found with session ID: ' + resumed)
  process.exit(1)
}
const say = (line) => console.log(JSON.stringify(line))
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  fs.appendFileSync(log, 'begun ' + (own ?? resumed) + (own && resumed ? ' from ' + resumed : '') + (at ? ' at ' + at : '') + '\\n')
  say({ type: 'system', subtype: 'init', model: 'one' })
  say({ type: 'result', subtype: 'success', result: 'Done.' })
})
`
  writeFileSync(command, script, { mode: 0o755 })
  const env = { CLAUDE_CONFIG_DIR: join(folder, config) }
  const source = claude({ command, env, graceMs: 2000 })
  const client = connectSource(source)
  const create = async (): Promise<string> => (await source.create({ directory: folder })).sessionID
  const fork = async (sessionID: string): Promise<string> => (await client.fork(sessionID)).sessionID
  const promptOf = async (sessionID: string) => (await client.prompt({ text: 'Go.', sessionID }).result).outcome
  return {
    client,
    source,
    create,
    fork,
    promptOf,
    log: () => readFileSync(`${command}.log`, 'utf8').trim().split('\n'),
  }
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
  await expect(client.fork(original, 'u1')).rejects.toMatchObject({ type: 'unsupported' })
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

const originalID = '00000000-0000-4000-8000-000000000001'

/** A line of a transcript: a prompt, or the answer to it. */
const line = (uuid: string, text: string) => {
  const content = [{ type: 'text', text }]
  const usage = { input_tokens: 1, output_tokens: 1 }
  const answer = { type: 'assistant', message: { id: uuid, model: 'one', stop_reason: 'end_turn', content, usage } }
  return `${JSON.stringify({ uuid, cwd: folder, ...(uuid.startsWith('u') ? { type: 'user', message: { content } } : answer) })}\n`
}

test('a copy ends where the session ended when it was copied, or before the named prompt', async () => {
  const project = join(folder, 'config/projects/-project')
  mkdirSync(project, { recursive: true })
  const transcript = join(project, `${originalID}.jsonl`)
  writeFileSync(transcript, line('u1', 'One') + line('a1', '1') + line('u2', 'Two') + line('a2', '2'))
  const { client, source, fork, promptOf, log } = startForking('cut', 'config')
  const same = await fork(originalID)
  await promptOf(same)
  const whole = await fork(originalID)
  const ofCopy = await fork(whole)
  const cut = (await client.fork(originalID, 'u2')).sessionID
  const cutOfCopy = (await client.fork(whole, 'u2')).sessionID
  const empty = (await client.fork(originalID, 'u1')).sessionID
  await expect(client.fork(originalID, 'u3')).rejects.toMatchObject({ type: 'gone' })
  appendFileSync(transcript, line('u3', 'Three') + line('a3', '3'))
  for (const copyID of [whole, ofCopy, cut, cutOfCopy, empty]) expect(await promptOf(copyID)).toBe('completed')
  const from = `from ${originalID}`
  expect(log()).toEqual([
    `begun ${same} ${from}`,
    `begun ${whole} ${from} at a2`,
    `begun ${ofCopy} ${from} at a2`,
    `begun ${cut} ${from} at a1`,
    `begun ${cutOfCopy} ${from} at a1`,
    `begun ${empty}`,
  ])
  const { messages } = await source.startReading().session({ sessionID: cut, directory: folder }, { messageIDs: [] })
  const texts = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
  expect(texts).toEqual(['One', '1', 'Go.'])
  await client.close()
})

test('the copy up to a prompt that is no longer kept is read from the transcript', async () => {
  const project = join(folder, 'long/projects/-project')
  mkdirSync(project, { recursive: true })
  const turns = [1, 2, 3, 4, 5, 6].map(
    (turn) => line(`u${turn}`, `Prompt ${turn}`) + line(`a${turn}`, `Answer ${turn}`),
  )
  writeFileSync(join(project, `${originalID}.jsonl`), turns.join(''))
  const { client, source } = startForking('kept', 'long')
  const { sessionID } = await client.fork(originalID, 'u3')
  const { messages } = await source.startReading().session({ sessionID, directory: folder }, { messageIDs: [] })
  const texts = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
  expect(texts).toEqual(['Prompt 1', 'Answer 1', 'Prompt 2', 'Answer 2'])
  await client.close()
})
