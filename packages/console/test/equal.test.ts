import { type PermissionAsk, ReplyError } from '@reply/core'
import { expect, test } from 'vitest'
import { unattendedAskObserver } from '../src/asks/unattended.ts'
import { fakeClock } from './fixture/clock.ts'
import { picture } from './fixture/picture.ts'
import { permission, replyOf, START, settledOf, tool } from './fixture/reply.ts'
import { setup } from './fixture/sink.ts'

const calls = [
  tool('a', 'bash', { status: 'running', title: 'npm publish' }),
  tool('b', 'bash', { status: 'running', title: 'npm publish' }),
]
const done = [tool('a', 'bash', { title: 'npm publish' }), tool('b', 'bash', { title: 'npm publish' })]

/** Two calls ask for the same permission, the second while the first still waits. */
function pair(first: Partial<PermissionAsk> = {}, second: Partial<PermissionAsk> = {}) {
  return [
    permission({ callID: 'call_a', askedAt: START, ...first }),
    permission({ requestID: 'per_2', callID: 'call_b', askedAt: START + 10, ...second }),
  ]
}

const answered = { status: 'answered', reply: 'once', closedAt: START + 3000 } as const
const blocked = (asks: readonly PermissionAsk[]) => replyOf(calls, { phase: 'blocked', asks })

test('a terminal asks once, and not again while the answer is on its way to both', async () => {
  let arrive = (): void => {}
  const opencode = {
    answer: () =>
      new Promise<void>((resolve) => {
        arrive = resolve
      }),
    reject: async () => {},
  }
  const { terminal, show, type } = setup([60, 16], { client: opencode })
  show(blocked(pair()))
  const asked = (await terminal.screen()).filter((row) => row.startsWith('! Allow this?'))
  expect(asked).toHaveLength(1)
  expect((await terminal.screen()).at(-1)).toContain('Waiting for an answer')
  await type('1\r')
  show(blocked(pair(answered)))
  expect((await terminal.screen()).join('\n')).not.toContain('Allow this?')
  arrive()
  await type('')
  show(blocked(pair(answered, { askedAt: START + 10 })))
  expect((await terminal.screen()).join('\n')).toContain('Allow this?')
})

test('a log asks once and prints the answer once', () => {
  const options = { live: false }
  const asked = picture(blocked(pair()), options).filter((row) => row.startsWith('! Allow this?'))
  expect(asked).toHaveLength(1)
  const rows = picture(settledOf(done, { asks: pair(answered, { ...answered, closedAt: START + 3010 }) }), options)
  expect(rows.filter((row) => row.startsWith('! Allow this?'))).toHaveLength(1)
  expect(rows.filter((row) => row.includes('allowed once'))).toHaveLength(1)
})

test('one answer to both is one line, two different results are two', () => {
  const both = pair(answered, { ...answered, closedAt: START + 3010 })
  expect(picture(settledOf(done, { asks: both })).slice(0, 3)).toEqual([
    '✓ allowed once: bash: npm publish',
    '✓ bash npm publish 1.2s',
    '✓ bash npm publish 1.2s',
  ])
  const apart = pair(answered, { status: 'rejected', closedAt: START + 3010 })
  expect(picture(settledOf(done, { asks: apart }))).toContain('⊘ rejected: bash: npm publish')
})

test('a permission that is asked for again after its answer is a new question', () => {
  const again = pair(answered, { askedAt: START + 4000, status: 'answered', reply: 'once', closedAt: START + 5000 })
  const rows = picture(settledOf(done, { asks: again }), { live: false })
  expect(rows.filter((row) => row.startsWith('! Allow this?'))).toHaveLength(2)
  expect(rows.filter((row) => row.includes('allowed once'))).toHaveLength(2)
})

test('without a person, both are rejected and one line says so', async () => {
  const said: string[] = []
  const refused: string[] = []
  const reject = async ({ requestID }: { requestID: string }): Promise<void> => {
    if (refused.length > 0) throw new ReplyError('already-resolved', 'It is resolved.')
    refused.push(requestID)
  }
  const opencode = { answer: async () => {}, reject }
  const observer = unattendedAskObserver('reject', {
    client: opencode,
    note: (text) => said.push(text),
    clock: fakeClock(),
    cure: 'use a terminal',
    isOwn: () => true,
  })
  const [first, second] = pair()
  if (first === undefined || second === undefined) throw new Error('There are two.')
  observer.permissionAsked?.({ type: 'permissionAsked', ask: first, reply: blocked([first]) })
  observer.permissionAsked?.({ type: 'permissionAsked', ask: second, reply: blocked([first, second]) })
  await new Promise(setImmediate)
  expect(refused).toEqual(['per_1'])
  expect(said).toEqual([expect.stringContaining('Rejected "bash: npm publish"')])
})
