import { expect, test } from 'vitest'
import { ledgerKeyOf, messageRefsOf } from '../src/ledger/refs.ts'
import { settledWith, text } from './make.ts'
import { createScene } from './scene.ts'

test('all messages of a reply are found by the text of its ledger', async () => {
  const texts = new Map<string, string>()
  const store = {
    read: async (key: string) => texts.get(key),
    write: async (key: string, ledger: string) => void texts.set(key, ledger),
  }
  const { fake, show, end } = createScene({ fake: { limits: { maxLength: 100 } }, sink: { store } })
  show(settledWith([text('Word. '.repeat(60))]))
  await end()
  const [[key, ledger] = ['', '']] = texts
  expect(messageRefsOf(ledger).map(({ id }) => id)).toEqual(fake.screen().map(({ id }) => id))
  expect(fake.screen().length).toBeGreaterThan(2)
  expect(ledgerKeyOf(key)).toEqual({ chat: { id: 'chat' }, sessionID: 'ses_1', promptID: 'msg_1' })
})

test('a text that is not a ledger is refused', () => {
  expect(() => messageRefsOf('{}')).toThrow()
})

test.each([
  ['-7/12/ses_1/msg_1', { chat: { id: '-7', thread: '12' }, sessionID: 'ses_1', promptID: 'msg_1' }],
  ['a%2Fb/ses_1/msg_1', { chat: { id: 'a/b' }, sessionID: 'ses_1', promptID: 'msg_1' }],
  ['inbound/telegram/42', undefined],
  ['7', undefined],
  ['a/b/c/d/e', undefined],
])('the key %s', (key, expected) => {
  expect(ledgerKeyOf(key)).toEqual(expected)
})
