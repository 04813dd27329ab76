import { emptyReply, type PermissionAsk, type QuestionAsk, type Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { askTexts, endTexts } from '../src/notices/notice-texts.ts'
import type { Execution } from '../src/state/execution.ts'

const prompt = {
  ...{ channel: 'tg', chat: { id: '1' }, id: '9', actor: { id: '1', name: 'Ann' }, text: 'The prompt', files: [] },
  ...{ isCommand: false, messageRef: { id: '9' }, receivedAt: 1000 },
}
const execution: Execution = {
  ...{
    id: 'ab12cd',
    prompt,
    server: 'home',
    phase: 'delivering',
    status: 'complete',
    startedAt: 1000,
    finishedAt: 93_000,
  },
}
const part = { id: 'p1', messageID: 'm1', raw: undefined, status: 'sealed' } as const
const reply: Reply = {
  ...emptyReply('ses_1'),
  ...{ phase: 'settled', outcome: 'completed', startedAt: 2000, settledAt: 92_000 },
  usage: { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0.12, steps: 1 },
  messages: [
    {
      ...{ id: 'm1', raw: undefined },
      parts: [
        { ...part, type: 'patch', hash: 'abc', files: ['/shop/a.ts', '/shop/b.ts', '/shop/c.ts'] },
        { ...part, id: 'p2', type: 'text', text: 'The secret answer\nwith sk-0123456789abcdef0123456789abcdef.' },
      ],
    } as Reply['messages'][number],
  ],
}

test('the end of a run has its outcome, time, files, cost and id', () => {
  expect(endTexts(execution, reply)).toEqual({
    ...{ kind: 'final', title: 'Done', text: '1m 30s · 3 files · $0.12 · ab12cd' },
  })
})

test('the lines are those of the line below the answer', () => {
  const change = { path: 'a.ts', kind: 'modified', additions: 41, deletions: 7, patches: [] } as const
  const { text } = endTexts(execution, { ...reply, changes: { msg_1: [change] } })
  expect(text).toBe('1m 30s · 1 file · +41 −7 · $0.12 · ab12cd')
})

test('what is not known is left out', () => {
  expect(endTexts(execution, undefined).text).toBe('1m 32s · ab12cd')
  expect(endTexts({ ...execution, finishedAt: undefined }, undefined).text).toBe('ab12cd')
})

test.each([
  ['stopped', 'final', 'Stopped'],
  ['error', 'failure', 'Failed'],
] as const)('a run that is %s is told as that', (status, kind, title) => {
  const ended = { ...execution, status, reason: 'Because of /etc/shop' }
  const { text, ...rest } = endTexts(ended, reply)
  expect(rest).toEqual({ kind, title })
  expect(text).not.toContain('shop')
  expect(endTexts(ended, reply, 'summary').text).toMatch(/\nBecause of \/etc\/shop$/)
})

test('nothing that a person or the agent wrote is in a notice without a summary', () => {
  expect(JSON.stringify(endTexts(execution, reply))).not.toMatch(/answer|prompt|shop|Ann|home/)
})

test('a summary is one line, without secrets', () => {
  const [facts, quote, ...more] = endTexts(execution, reply, 'summary').text.split('\n')
  expect(more).toEqual([])
  expect(facts).toBe('1m 30s · 3 files · $0.12 · ab12cd')
  expect(quote).toMatch(/^The secret answer with /)
  expect(quote).not.toContain('0123456789abcdef')
})

const asked = {
  requestID: 'per_1',
  sessionID: 'ses_1',
  directory: undefined,
  path: ['ses_1'],
  status: 'pending',
} as const
const permission: PermissionAsk = {
  ...asked,
  type: 'permission',
  permission: 'bash',
  patterns: ['rm a'],
  always: [],
  title: 'rm a',
  metadata: {},
}
const question: QuestionAsk = {
  ...asked,
  type: 'question',
  questions: [{ header: 'Database', question: 'Which one?', options: [], multiple: false, custom: true }],
}

test('an ask says that it waits, and its words only in a summary', () => {
  expect(askTexts(execution, permission)).toEqual({ kind: 'ask', title: 'A request waits for you', text: 'ab12cd' })
  expect(askTexts(execution, question)).toEqual({ kind: 'ask', title: 'A question waits for you', text: 'ab12cd' })
  expect(askTexts(execution, permission, 'summary').text).toBe('ab12cd\nrm a')
  expect(askTexts(execution, question, 'summary').text).toBe('ab12cd\nWhich one?')
})
