import { expect, test } from 'vitest'
import { askDigest } from '../../src/ask/digest.ts'
import type { PermissionAsk, QuestionAsk } from '../../src/ask.ts'

const fields = { requestID: 'r', sessionID: 's', directory: undefined, path: ['s'], status: 'pending' } as const
const permission: PermissionAsk = {
  ...fields,
  type: 'permission',
  permission: 'bash',
  patterns: ['npm test'],
  always: ['npm *'],
  title: 'bash',
  metadata: { cwd: '/project', env: { A: '1', B: '2' } },
  call: { tool: 'bash', input: { command: 'npm test' } },
}
const question: QuestionAsk = {
  ...fields,
  type: 'question',
  questions: [
    {
      header: 'Color',
      question: 'Which?',
      options: [{ label: 'red', description: '' }],
      multiple: false,
      custom: false,
    },
  ],
}

test('a digest is the same for the same content in another copy, key order or state', () => {
  const metadata = { env: { B: '2', A: '1' }, cwd: '/project' }
  expect(askDigest({ ...permission, metadata, status: 'answered', requestID: 'other' })).toBe(askDigest(permission))
  expect(askDigest({ ...question, status: 'rejected' })).toBe(askDigest(question))
  expect(askDigest(permission)).toMatch(/^[\w-]{16}$/)
})

test.each<[string, PermissionAsk]>([
  ['command', { ...permission, call: { tool: 'bash', input: { command: 'npm test; rm -rf /' } } }],
  ['unknown call', { ...permission, call: undefined }],
  ['pattern', { ...permission, patterns: ['npm *'] }],
  ['scope of always', { ...permission, always: ['*'] }],
  ['metadata', { ...permission, metadata: { cwd: '/' } }],
])('another %s gives another digest', (_, changed) => {
  expect(askDigest(changed)).not.toBe(askDigest(permission))
})

test('another option gives another digest', () => {
  const [first] = question.questions
  const questions = first ? [{ ...first, options: [{ label: 'blue', description: '' }] }] : []
  expect(askDigest({ ...question, questions })).not.toBe(askDigest(question))
})
