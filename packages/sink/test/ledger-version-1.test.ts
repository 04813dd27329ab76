import { expect, test } from 'vitest'
import { toLedger } from '../src/ledger/decode.ts'
import type { Entry } from '../src/ledger/entry.ts'
import { settledWith, text } from './make.ts'
import { createScene } from './scene.ts'
import { beginning } from './timeline.ts'

const fields = { card: 'answer', type: 'answer', id: 'x', tries: 1, at: beginning, isLoud: false }
const old = { ...fields, key: 'answer#0', state: 'shown', body: 'b', whole: 'w', ref: { id: '1' } }
const counts = { notices: 0, heartbeats: 0, doubtful: 0, calls: 1, rateLimited: 0 }
const lists = { breaks: [], told: [], asks: {}, outdated: [], plain: [], caps: {}, ids: {} }
const stream = { openedAt: beginning, length: 4, hash: 'h' }

function ledgerOf(...entries: readonly object[]): string {
  return JSON.stringify({ version: 1, entries, ...counts, ...lists })
}

test.each<[string, object, object]>([
  ['a shown message', {}, { state: 'shown', ref: { id: '1' }, access: { type: 'editable' } }],
  ['a message that can no longer be edited', { isFixed: true }, { state: 'shown', access: { type: 'fixed' } }],
  ['an open stream', { stream }, { access: { type: 'open-stream', sent: stream } }],
  ['a closed stream', { isClosed: true, isUnsure: true }, { access: { type: 'closed-stream' }, isUnsure: true }],
  ['an expired stream', { stream, isFixed: true }, { access: { type: 'fixed' } }],
  ['known text', {}, { content: { type: 'known', body: 'b', whole: 'w' } }],
  ['text that may be older', { whole: '' }, { content: { type: 'newest-or-older', body: 'b' } }],
  ['an intent', { state: 'intent', ref: undefined }, { state: 'intent' }],
  ['a doubtful message', { state: 'doubtful', ref: undefined }, { state: 'doubtful' }],
  ['a removed message', { state: 'gone' }, { state: 'gone', ref: { id: '1' } }],
  ['a removed message of a stream', { state: 'gone', isClosed: true }, { state: 'gone', isClosed: true }],
  ['a failed post', { state: 'failed', ref: undefined, reason: 'No.' }, { state: 'failed', reason: 'No.' }],
  ['a failed edit', { state: 'failed', isFixed: true, reason: 'No.' }, { reason: 'No.', olderRef: { id: '1' } }],
  ['a replaced message', { key: 'answer#0~y~x', card: 'answer~~' }, { ...fields, key: 'answer#0', isReplaced: true }],
])('%s is read from version 1', (_, before, after) => {
  const { version, entries } = toLedger(ledgerOf({ ...old, ...before }))
  expect([version, entries]).toMatchObject([2, [after]])
})

test('an entry read from version 1 keeps no field that this version does not have', () => {
  const [entry] = toLedger(ledgerOf({ ...old, isFixed: true, isUnsure: true, reason: 'No.' })).entries
  const content = { type: 'known', body: 'b', whole: 'w' }
  const common = { ...fields, key: 'answer#0', content }
  expect(entry).toEqual({ ...common, state: 'shown', ref: { id: '1' }, access: { type: 'fixed' }, isUnsure: true })
})

test('a reply is resumed from a ledger of version 1 that was written just before a post', async () => {
  const scene = createScene({})
  const intent = { ...old, state: 'intent', ref: undefined, isLoud: true }
  await scene.store.write('chat/ses_1/msg_1', ledgerOf(intent))
  scene.show(settledWith([text('All of it.')]))
  expect(await scene.end()).toMatchObject({ shown: 1, doubtful: 1, undelivered: [] })
  expect(scene.fake.screen().map(({ text }) => text)).toEqual(['All of it.'])
  const kept = toLedger((await scene.store.read('chat/ses_1/msg_1')) ?? '')
  expect(kept).toMatchObject({ version: 2, entries: [{ state: 'shown', tries: 2 }] satisfies Partial<Entry>[] })
})

test('a status that version 1 had given up is still removed', async () => {
  const scene = createScene({})
  const given = { ...old, key: 'status~x', card: 'status~', type: 'status', isFixed: true }
  const { signal } = new AbortController()
  const bubble = { text: 'Old', plain: 'Old', length: 3, source: 'Old', isPlain: false, buttons: [] }
  await scene.fake.port.post(bubble, { chat: { id: 'chat' }, silent: true, key: 'x', signal })
  await scene.pass(1000)
  await scene.store.write('chat/ses_1/msg_1', ledgerOf(given))
  scene.show(settledWith([text('All of it.')]))
  await scene.end()
  expect(scene.fake.screen().map(({ text }) => text)).toEqual(['All of it.'])
})
