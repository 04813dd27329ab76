import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codex } from '../../src/codex.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-hostile-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * A Codex of this test. `script` runs for each line whose response is not given here, with its `id`, its `method` and the
 * current `turn`. It writes with the functions before it.
 */
function codexThat(name: string, script: string): string {
  const file = join(folder, name)
  const program = `#!${process.execPath}
const write = (text) => process.stdout.write(text)
const say = (line) => write(JSON.stringify(line) + '\\n')
const note = (method, params) => say({ method, params: { threadId: 't', ...params } })
const begin = (turnId) => note('turn/started', { turn: { id: turnId } })
const text = (turnId, delta, itemId = turnId) => note('item/agentMessage/delta', { turnId, itemId, delta })
const end = (turnId, status = 'completed') => note('turn/completed', { turn: { id: turnId, status } })
const approve = (id, turnId) => say({ id, method: 'item/commandExecution/requestApproval', params: { threadId: 't', turnId, itemId: 'c', command: 'ls' } })
const done = (turnId) => { text(turnId, 'Done.'); end(turnId) }
let count = 0
const settings = { model: 'own', modelProvider: 'openai' }
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  const answer = (result) => say({ id, result })
  if (method === 'initialize') return answer({})
  if (method === 'thread/start' || method === 'thread/resume') return answer({ thread: { id: 't' }, ...settings })
  if (method === 'thread/list' || method === 'thread/turns/list') return answer({ data: [] })
  if (method === 'thread/settings/update') return answer({})
  if (method === 'turn/start') count++
  const turn = 'turn' + count
  ${script}
})`
  writeFileSync(file, program, { mode: 0o755 })
  return file
}

/** Starts a turn as Codex does. */
const start = `if (method !== 'turn/start') return
answer({ turn: { id: turn } })
begin(turn)
`

/** Prompts this Codex, with the errors that it reports. */
async function prompted(name: string, script: string) {
  const errors: string[] = []
  const command = codexThat(name, script)
  const client = connectSource(codex({ command, graceMs: 200, onError: ({ message }) => errors.push(message) }))
  const reply = await client.prompt({ text: 'Go.' }).result
  return { client, errors, reply }
}

test.each([
  [
    'a stream that is cut in the middle of a line',
    `text(turn, 'Half.'); write('{"method":"turn/comp'); process.exit(0)`,
    ['failed', 'Half.', 'ended with code 0'],
  ],
  [
    'a turn that ends twice, and says more afterwards',
    "text(turn, 'A'); end(turn); end(turn, 'failed'); text(turn, 'late')",
    ['completed', 'A', ''],
  ],
  [
    'half an emoji in each of two texts',
    "text(turn, '\\ud83d'); text(turn, '\\ude00'); end(turn)",
    ['completed', '😀', ''],
  ],
  [
    'a turn that ends without a status',
    "note('turn/completed', { turn: { id: turn } })",
    ['failed', '', 'The turn is over for an unknown reason.'],
  ],
  [
    'a turn whose error is a text',
    "note('turn/completed', { turn: { id: turn, status: 'failed', error: 'No.' } })",
    ['failed', '', 'The turn is failed.'],
  ],
  [
    'a megabyte in small pieces',
    "for (let i = 0; i < 1000; i++) text(turn, 'x'.repeat(1000)); end(turn)",
    ['completed', 'x'.repeat(1_000_000), ''],
  ],
])('%s ends the reply', async (name, script, [outcome = '', shown = '', error = '']) => {
  const { client, reply } = await prompted(name.replaceAll(/\W/g, '-'), `${start} ${script}`)
  await client.close()
  expect(reply.outcome).toBe(outcome)
  expect(textOf(reply) === shown).toBe(true)
  expect(reply.error?.message ?? '').toContain(error)
})

test('responses to requests that were not made change nothing', async () => {
  const script = `if (method !== 'turn/start') return
for (const id of [999, 'x', null]) say({ id, result: { turn: { id: 'other' } } })
say({ id: 998, error: { message: 'No.' } })
answer({ turn: { id: turn } })
answer({ turn: { id: 'other' } })
begin(turn)
done(turn)`
  const { client, errors, reply } = await prompted('unknown-ids', script)
  await client.close()
  expect([reply.outcome, textOf(reply), errors]).toEqual(['completed', 'Done.', []])
})

test('a response to a prompt in an unknown form fails the reply with a sentence, and ends Codex', async () => {
  const ended = join(folder, 'ended')
  const script = `if (method !== 'turn/start') return
process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(ended)}, ''))
process.stdin.on('end', () => process.exit(0))
answer({ turn: 'turn1' })`
  const { client, reply } = await prompted('unknown-form', script)
  expect(reply.outcome).toBe('failed')
  expect(reply.error?.message).toContain('unknown-form answered turn/start in an unknown form. Update Codex')
  await expect.poll(() => existsSync(ended)).toBe(true)
  await client.close()
})

test('two turns of a thread that alternate are both shown, and the prompted one ends the reply', async () => {
  const script = `begin('own'); text(turn, 'A'); text('own', 'X'); text(turn, 'B'); text('own', 'Y'); end('own')
text(turn, 'C'); end(turn)`
  const { client, reply } = await prompted('interleaved', `${start} ${script}`)
  await client.close()
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'ABC\n\nXY'])
})

test('an approval after the end of its run is refused, and reported', async () => {
  const { client, errors, reply } = await prompted('late-approval', `${start} end(turn); approve(7, turn)`)
  await expect.poll(() => errors.join()).toContain('belongs to no run that is open. It was refused.')
  await client.close()
  expect([reply.outcome, reply.asks]).toEqual(['completed', []])
})

test('an approval whose run ends first is withdrawn', async () => {
  const { client, reply } = await prompted('early-end', `${start} approve(7, turn); end(turn)`)
  await client.close()
  expect([reply.outcome, reply.asks.map(({ status }) => status)]).toEqual(['completed', ['withdrawn']])
})

test('the end of a long output begins with a whole character', async () => {
  const script = `const item = { type: 'commandExecution', id: 'c', command: 'yes', status: 'inProgress' }
note('item/started', { turnId: turn, item })
for (let i = 0; i < 10; i++)
  note('item/commandExecution/outputDelta', { turnId: turn, itemId: 'c', delta: '😀'.repeat(300) + 'x' })
done(turn)`
  const { client, reply } = await prompted('long-output', `${start} ${script}`)
  await client.close()
  const [output = ''] = toolsOf(reply).map(({ state }) => state.output)
  expect(output.length).toBeGreaterThan(3000)
  expect(output).not.toMatch(/^[\uDC00-\uDFFF]/)
})

test.each([0, 1, 2, 3, 4, 5])('a kill after %i lines of a turn fails the reply, and closes its asks', async (lines) => {
  const script = `if (method !== 'turn/start') return
const all = [
  () => answer({ turn: { id: turn } }), () => begin(turn), () => text(turn, 'A'), () => approve(7, turn), () => text(turn, 'B'),
]
for (const one of all.slice(0, ${lines})) one()
process.stdout.write('{"half', () => process.kill(process.pid, 'SIGKILL'))`
  const { client, reply } = await prompted(`kill-${lines}`, script)
  await client.close()
  expect(reply.outcome).toBe('failed')
  expect(reply.error?.message).toContain('ended with SIGKILL')
  expect(textOf(reply).replace(/\s/g, '')).toBe(lines < 3 ? '' : lines < 5 ? 'A' : 'AB')
  expect(reply.asks.filter(({ status }) => status === 'pending')).toEqual([])
})
