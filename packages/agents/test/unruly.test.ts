import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ReplyError, textOf } from '@reply/core'
import { connectSource, type LocalRun } from '@reply/core/source'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChecklist } from '../src/claude/checklist.ts'
import { decodeClaude } from '../src/claude/decode/line.ts'
import { createSessionWriter } from '../src/claude/session-writer.ts'
import { claude } from '../src/claude.ts'
import { createAsks } from '../src/codex/ask.ts'
import { decodeRequest, decodeRpc } from '../src/codex/decode/request.ts'
import { createRunWriter } from '../src/codex/run-writer.ts'
import { codex } from '../src/codex.ts'
import { run } from '../src/command.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-unruly-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A program of this test, for Node. */
function programOf(name: string, script: string): string {
  const file = join(folder, name)
  writeFileSync(file, `#!${process.execPath}\n${script}\n`, { mode: 0o755 })
  return file
}

const written = {
  type: 'stream_event',
  event: { type: 'content_block_delta', delta: { type: 'text_delta', text: 'All is well.' } },
}
const completed = { type: 'result', subtype: 'success', result: 'All is well.' }

/** A Claude Code that writes these lines when it is prompted. */
function claudeThatWrites(name: string, lines: readonly (string | object)[]): string {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  return programOf(name, `process.stdin.once('data', () => console.log(${JSON.stringify(text)}))`)
}

test('lines that are not JSON are one report, which names none of their content', async () => {
  const command = claudeThatWrites('garbage', ['token=sk-secret-123', 'more of it', written, completed])
  const errors: ReplyError[] = []
  const agent = connectSource(claude({ command, onError: (error) => errors.push(error) }))
  const reply = await agent.prompt({ text: 'Go.' }).result
  await agent.close()
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'All is well.'])
  expect(errors.map(({ type }) => type)).toEqual(['malformed'])
  expect(errors[0]?.message).not.toContain('secret')
})

test('an onError that throws leaves a run whole', async () => {
  const agent = connectSource(
    claude({
      command: claudeThatWrites('again', ['garbage', written, completed]),
      onError: () => {
        throw new Error('The host failed.')
      },
    }),
  )
  const reply = await agent.prompt({ text: 'Go.' }).result
  await agent.close()
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'All is well.'])
})

test('a program that ends in the middle of a line has failed, whatever its exit code', async () => {
  const script = `process.stdin.once('data', () => process.stdout.write('{"type":"resu', () => process.exit(0)))`
  const agent = connectSource(claude({ command: programOf('half', script) }))
  const { outcome, error } = await agent.prompt({ text: 'Go.' }).result
  await agent.close()
  expect(outcome).toBe('failed')
  expect(error?.message).toMatch(/half ended with code 0\.$/)
})

test('a Claude Code that closes its input before it is asked for its models is an error of that call alone', async () => {
  const command = join(folder, 'deaf')
  writeFileSync(command, '#!/bin/sh\nexec 0<&-\nwhile true; do sleep 1; done\n', { mode: 0o755 })
  const agent = connectSource(claude({ command, deadlineMs: 2000, graceMs: 200 }))
  await expect(agent.models()).rejects.toThrow('deaf')
  await agent.close()
})

test('a Codex that refuses the greeting is ended', async () => {
  const pids = join(folder, 'pids')
  const script = `require('node:fs').appendFileSync(${JSON.stringify(pids)}, process.pid + '\\n')
process.stdin.once('data', () => console.log('{"id":1,"error":{"code":1,"message":"No."}}'))
setInterval(() => {}, 1000)`
  const agent = connectSource(codex({ command: programOf('refuses', script), graceMs: 200 }))
  await expect(agent.ready).rejects.toThrow('refused: No.')
  await agent.close()
  const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number)
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  await expect.poll(() => started.filter(isAlive)).toEqual([])
})

test('Claude Code is told that a request is not known, and goes on', async () => {
  const script = `const { createInterface } = require('node:readline')
const say = (line) => console.log(JSON.stringify(line))
createInterface({ input: process.stdin }).on('line', (text) => {
  const { type, response } = JSON.parse(text)
  if (type === 'user') say({ type: 'control_request', request_id: 'one', request: { subtype: 'hook_callback' } })
  if (type === 'control_response' && response.subtype === 'error' && response.request_id === 'one')
    say({ type: 'result', subtype: 'success', result: 'Done.' })
})`
  const errors: string[] = []
  const command = programOf('claude', script)
  const agent = connectSource(claude({ command, graceMs: 200, onError: ({ message }) => errors.push(message) }))
  const { outcome } = await agent.prompt({ text: 'Go.' }).result
  await agent.close()
  expect(outcome).toBe('completed')
  expect(errors.join()).toContain('"hook_callback"')
})

const asking = (behavior: string) => ({
  type: 'control_request',
  request_id: 'one',
  request: {
    subtype: 'can_use_tool',
    tool_name: 'Bash',
    input: { command: 'ls' },
    tool_use_id: 'call',
    permission_suggestions: [{ type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'ls' }], behavior }],
  },
})

test('"always" covers what Claude Code would allow, not what it would deny', () => {
  expect(decodeClaude(asking('allow'))).toMatchObject([{ type: 'ask', rules: [{ content: 'ls' }] }])
  expect(decodeClaude(asking('deny'))).toMatchObject([{ type: 'ask', rules: [] }])
})

test('what Claude Code asks outside a run is denied', () => {
  const sent: object[] = []
  const respond = async (_: string, decision: object): Promise<void> => void sent.push(decision)
  const writer = createSessionWriter(
    createChecklist(),
    () => 0,
    respond,
    () => runOf('woken').run,
  )
  for (const event of decodeClaude(asking('allow'))) writer.write(event, undefined)
  expect(sent).toMatchObject([{ behavior: 'deny' }])
})

test('a permission of Codex shows all that it would allow', () => {
  const params = {
    threadId: 't',
    turnId: 'u',
    itemId: 'i',
    grantRoot: '/etc',
    networkApprovalContext: { host: 'example.com' },
  }
  const asked = decodeRequest('item/fileChange/requestApproval', { ...params, reason: null, cwd: '/project' })
  const ask = asked && createAsks(createRunWriter(() => 0)).toAsk('one', asked, runOf('one').run, async () => {})
  expect(ask?.type === 'permission' && ask.metadata).toEqual({
    grantRoot: '/etc',
    network: { host: 'example.com' },
    cwd: '/project',
  })
})

test('the end of one thread of Codex leaves the live output of another alone', () => {
  const { write, leaveCommands } = createRunWriter(() => 0)
  const one = runOf('one')
  const other = runOf('other')
  const state = { status: 'running', input: {} } as const
  const ids = { threadID: 'one', turnID: 'turn', callID: 'call' }
  write(one.run, { ...ids, type: 'call', tool: 'bash', state }, undefined)
  leaveCommands(other.run)
  write(one.run, { ...ids, type: 'output', delta: 'made' }, undefined)
  expect(one.written.at(-1)).toMatchObject({ callID: 'call', state: { metadata: { output: 'made' } } })
})

function runOf(sessionID: string): { readonly run: LocalRun; readonly written: object[] } {
  const written: object[] = []
  const run: LocalRun = {
    sessionID,
    directory: '/project',
    promptID: 'msg',
    isOpen: () => true,
    write: (...outputs) => void written.push(...outputs),
    ask: () => {},
    closeAsk: () => {},
    child: () => run,
    end: () => {},
  }
  return { run, written }
}

test('JSON-RPC without params, and errors without words, are read', () => {
  expect(decodeRpc({ id: 1, method: 'x' })).toEqual({ type: 'request', id: 1, method: 'x', params: undefined })
  expect(decodeRpc({ id: 1, error: { code: 2 } })).toEqual({ type: 'response', id: 1, error: 'it gave no reason' })
})

test.each([0, 1, 2, 3, 5, 8])('a command that is aborted %i turns after its start says so', async (turns) => {
  const abort = new AbortController()
  const ended = run({ command: 'sleep', args: ['60'], graceMs: 200, signal: abort.signal }).then(
    ({ reply }) => reply.outcome,
    (error: ReplyError) => error.type,
  )
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  abort.abort()
  expect(['aborted', 'closed']).toContain(await ended)
})
