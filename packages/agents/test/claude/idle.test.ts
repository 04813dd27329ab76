import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChecklists } from '../../src/claude/checklist.ts'
import { claude } from '../../src/claude.ts'
import { heldClock } from '../held-clock.ts'
import { openRaw } from '../raw-session.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-idle-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const hourMs = 3_600_000

/** A Claude Code that ends runs when it is told "Go.", and takes its time to end. It writes down what happens. */
function startIdle(name: string) {
  const command = join(folder, name)
  const script = `#!${process.execPath}
const note = (what) => require('node:fs').appendFileSync(__filename + '.log', what + '\\n')
const say = (line) => console.log(JSON.stringify(line))
const { argv } = process
const how = argv.includes('--resume') ? '--resume' : '--session-id'
note('start ' + how + ' ' + argv[argv.indexOf(how) + 1])
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const said = JSON.parse(text).message.content[0].text
  note(said)
  say({ type: 'system', subtype: 'init', model: 'one' })
  if (said === 'Go.') say({ type: 'result', subtype: 'success', result: 'Done.' })
})
process.stdin.on('end', () => setTimeout(() => { note('end'); process.exit(0) }, 100))
`
  writeFileSync(command, script, { mode: 0o755 })
  const { clock, elapse } = heldClock(hourMs)
  const source = claude({ command, clock, idleMs: hourMs, graceMs: 2000 })
  return { source, elapse, log: () => readFileSync(`${command}.log`, 'utf8').trim().split('\n') }
}

test('an idle process is ended, and the next prompt resumes its session once it is gone', async () => {
  const { source, elapse, log } = startIdle('one')
  const agent = connectSource(source)
  const { sessionID } = await agent.prompt({ text: 'Go.' }).result
  elapse()
  const { outcome } = await agent.prompt({ text: 'Go.', sessionID }).result
  expect(outcome).toBe('completed')
  expect(log()).toEqual([`start --session-id ${sessionID}`, 'Go.', 'end', `start --resume ${sessionID}`, 'Go.'])
  await agent.close()
})

test('a process at work is not idle, and one that is used again in time goes on', async () => {
  const { source, elapse, log } = startIdle('two')
  const agent = connectSource(source)
  const { sessionID } = await agent.prompt({ text: 'Go.' }).result
  const stream = agent.prompt({ text: 'Wait.', sessionID })
  await expect.poll(log).toContain('Wait.')
  elapse()
  expect(log()).toEqual([`start --session-id ${sessionID}`, 'Go.', 'Wait.'])
  await agent.close()
  expect((await stream.result).outcome).not.toBe('completed')
})

test('a prompt that is aborted while the process before it is being ended is not sent, and the next one is', async () => {
  const { source, elapse, log } = startIdle('three')
  const { sessionID, prompt, abort, ended, close } = await openRaw(source, folder)
  await prompt('Go.')
  await expect.poll(ended).toBe(1)
  elapse()
  const aborted = prompt('Never.')
  await abort()
  const next = prompt('Go.')
  await Promise.all([aborted, next])
  await expect.poll(ended).toBe(3)
  // One process for both.
  expect(log()).toEqual([`start --session-id ${sessionID}`, 'Go.', 'end', `start --resume ${sessionID}`, 'Go.'])
  await close()
})

test('a prompt that follows a process that ignored an abort gets a new one, while the old one still ends', async () => {
  const command = join(folder, 'ignores')
  const script = `#!${process.execPath}
const say = (line) => console.log(JSON.stringify(line))
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { message } = JSON.parse(text)
  if (!message) return require('node:fs').writeFileSync(__filename + '.log', 'asked to stop')
  say({ type: 'system', subtype: 'init', model: 'one' })
  if (message.content[0].text === 'Go.') say({ type: 'result', subtype: 'success', result: 'Done.' })
})
process.stdin.on('end', () => {
  say({ type: 'system', subtype: 'init', model: 'one' })
  say({ type: 'assistant', message: { model: 'one', content: [{ type: 'text', text: 'Never shown.' }] } })
  setTimeout(() => process.exit(0), 300)
})
`
  writeFileSync(command, script, { mode: 0o755 })
  // The time after which a run that ignored its abort is killed.
  const { clock, elapse } = heldClock(10_000)
  const agent = connectSource(claude({ command, clock, graceMs: 2000 }))
  const { sessionID } = await agent.prompt({ text: 'Go.' }).result
  const stream = agent.prompt({ text: 'Wait.', sessionID })
  await expect.poll(() => stream.reply?.phase).toBe('working')
  const aborted = stream.abort()
  await expect.poll(() => existsSync(`${command}.log`)).toBe(true)
  elapse()
  const next = await agent.prompt({ text: 'Go.', sessionID }).result
  expect([next.outcome, JSON.stringify(next)]).toEqual(['completed', expect.not.stringContaining('Never shown.')])
  await aborted
  await agent.close()
})

test('the checklists of the 256 sessions that were used last are kept', () => {
  const checklists = createChecklists()
  const task = { type: 'task', id: '1', content: 'Read' } as const
  checklists.of('first').apply(task)
  checklists.of('second').apply(task)
  for (let at = 0; at < 254; at++) checklists.of(`other ${at}`)
  checklists.of('first')
  checklists.of('last')
  const done = { type: 'task', id: '1', status: 'completed' } as const
  expect(checklists.of('first').apply(done)).toEqual([{ content: 'Read', status: 'completed' }])
  expect(checklists.of('second').apply(done)).toEqual([])
})

test('an idleMs of zero or without a value is refused', () => {
  expect(() => claude({ idleMs: 0 })).toThrow('idleMs is 0. Give a number above 0.')
  expect(() => claude({ idleMs: Number.NaN })).toThrow('idleMs is NaN')
})
