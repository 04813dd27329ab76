import { describe, expect, test } from 'vitest'
import { queueDecoders, rowDecoders } from '../src/failed/unreadable-rows.ts'
import { toFailure, toForwardedPress, toPressAnswer, toSharedFact } from '../src/state/decode.ts'
import { playScene } from './play-scene.ts'
import { currentRows, demandsIn, faultsForReleased, releasedRows } from './released-rows.ts'

// `lives.ts` adds a field to all rows before each bridge starts, and `playScene` rejects if a bridge loses one. All other scenes are
// played by `lost-answers.full.ts`.
test.each([
  'a message',
  'what an earlier process began',
  'what is allowed for always',
  'an answer whose chat an earlier process could not tell',
])('a field that a newer version added to the rows is kept in %s', async (scene) => {
  await playScene(scene)
})

const chat = { id: '1', thread: '2', more: 1 }
const prompt = {
  ...{ id: '9', channel: 'telegram', chat, actor: { id: '1', more: 1 }, text: '', files: [{ more: 1 }], more: 1 },
  ...{ messageRef: { id: '9', more: 1 }, receivedAt: 1 },
}
const execution = { id: 'abc', phase: 'done', status: 'complete', server: 'home', startedAt: 1, prompt, more: 1 }
const used = { server: 'home', sessionID: 'ses_1', usedAt: 1, more: 1 }
const failure = { channel: 'telegram', chat, server: 'home', missing: 1, reason: '', text: '', at: 1, more: 1 }
const aside = { key: 'route/telegram/1/', value: '', at: 1, more: 1 }
/** A row of each kind that has fields, with one more at each level. */
const rows: Readonly<Record<string, object>> = {
  'execution/': execution,
  'log/': [{ from: 'stdout', text: '', more: 1 }],
  'newest/': execution,
  'page/': execution,
  'route/': { server: 'home', model: { providerID: 'a', modelID: 'b', more: 1 }, more: 1 },
  'session/': used,
  'session-chat/': { channel: 'telegram', chat, more: 1 },
  'message/': used,
  'allowed/': {
    ...{ id: 'a', server: 'home', permission: 'bash', patterns: [], at: 1, isConfirmed: true, more: 1 },
    by: { channel: 'telegram', actorID: '1', name: 'Ann', more: 1 },
  },
  'unknown/': prompt,
  'notice/': {
    ...{ id: 'a', kind: 'ask', title: '', text: '', to: 'phone', executionID: 'abc', channel: 'telegram', chat },
    ...{ at: 1, doubtful: 0, more: 1 },
  },
  'suspect/': { level: 1, points: 1, more: 1 },
  'stopping/': execution,
  'inbox/': prompt,
  'prompts/': prompt,
  'backlog/': prompt,
}
/** Times, the name of a session in a key, and ledgers, which are kept as texts. */
const isWithoutFields: ReadonlySet<string> = new Set(['ask/', 'told/', 'seen/', 'ledger/', 'wake/'])
const passedOn = {
  delivery: [toFailure, { type: 'delivery', id: 'abc', files: [{ id: '', mime: '', url: '', more: 1 }], ...failure }],
  row: [toFailure, { type: 'row', reason: '', ...aside }],
  poison: [toFailure, { type: 'poison', tries: 1, ...aside }],
  press: [
    toForwardedPress,
    { id: 'a', member: 'b', channel: 'c', inbound: { type: 'stop', chat, actor: chat }, more: 1 },
  ],
  answer: [toPressAnswer, { type: 'open', form: { token: 'a', more: 1 }, more: 1 }],
  fact: [toSharedFact, { channel: 'a', fact: { more: 1 }, more: 1 }],
} as const

describe('fields that a newer version added are read', () => {
  test.each(Object.entries({ ...rowDecoders, ...queueDecoders }).filter(([kind]) => !isWithoutFields.has(kind)))(
    'in %s',
    (kind, decode) => expect(decode(JSON.stringify(rows[kind]), kind)).toEqual(rows[kind]),
  )

  test.each(Object.entries(passedOn))('in a %s', (_, [decode, row]) => {
    expect(decode(JSON.stringify(row))).toEqual(row)
  })
})

describe('beside the released version', () => {
  const [released, current] = [releasedRows(), currentRows()]

  test('each kind of row with fields has a schema', () => {
    expect(Object.keys(current)).toEqual(expect.arrayContaining(Object.keys(rows)))
  })

  test('each value of a field that it writes is read', () => {
    const values = (schemas: object): readonly string[] => demandsIn(schemas).filter((one) => one.includes('/enum '))
    expect(values(current)).toEqual(expect.arrayContaining([...values(released)]))
  })

  test('no field is required that it may not have written', () => {
    const known = Object.fromEntries(Object.entries(current).filter(([kind]) => Object.hasOwn(released, kind)))
    const required = demandsIn(known).filter((one) => one.includes('/required '))
    expect(required.filter((one) => !demandsIn(released).includes(one))).toEqual([])
  })

  test('a value that it can’t read is found when it is written', () => {
    const value = JSON.stringify({ server: 'home', follow: 'new' })
    expect(faultsForReleased({ type: 'put', key: 'route/00/telegram/1/', value })).toHaveLength(1)
    expect(faultsForReleased({ type: 'put', key: 'route/00/telegram/1/', value: '{"server":"home"}' })).toEqual([])
  })
})
