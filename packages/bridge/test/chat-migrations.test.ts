import { expect, test } from 'vitest'
import { createChatMigrations } from '../src/chats/chat-migrations.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import { entryFor, placeKey } from '../src/place.ts'
import { createMemoryStore } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

const group = { channel: 'tg', chat: { id: '-7' } }
const supergroup = { channel: 'tg', chat: { id: '-1007' } }
const elsewhere = { channel: 'dc', chat: { id: '-1007' } }

test('a chat that got another id keeps its key and what the config says of it, also after a restart', async () => {
  const state = stateOf(createMemoryStore())
  const before = createChatMigrations(state)
  expect(before.withFirstID(supergroup)).toBe(supergroup)
  await before.storeMove('tg', { from: '-7', to: '-1007' })
  const after = createChatMigrations(state)
  await after.loadMoves()
  for (const { withFirstID: former } of [before, after]) {
    expect(former(supergroup)).toEqual(group)
    expect(former(elsewhere)).toBe(elsewhere)
    expect(entryFor({ 'tg:-7': 'shop', tg: 'all' }, supergroup, former)).toBe('shop')
    // What the config says of the new id itself counts first.
    expect(entryFor({ 'tg:-7': 'shop', 'tg:-1007': 'store' }, supergroup, former)).toBe('store')
    for (const mirrors of [createMirrors([], former), createMirrors([['tg:-7', 'dc:1']], former)]) {
      expect(mirrors.keyOf(supergroup)).toBe(placeKey(group))
      expect([mirrors.isShared(supergroup), mirrors.isShared(elsewhere)]).toEqual([true, false])
    }
    expect(createMirrors([['tg:-7', 'dc:1']], former).others(supergroup)).toEqual([
      { channel: 'dc', chat: { id: '1' } },
    ])
    // A config that already has the new id finds what was kept under the old one.
    expect(createMirrors([['tg:-1007', 'dc:1']], former).keyOf(supergroup)).toBe(placeKey(group))
  }
})

test('a move that could not be written is known at once, and written when it is told again', async () => {
  const state = stateOf(createMemoryStore())
  let isFull = true
  const moves = createChatMigrations({
    ...{ read: state.read, list: state.list },
    commitWithoutLease: async (changes) => {
      if (isFull) throw new Error('The disk is full.')
      return await state.commitWithoutLease(changes)
    },
  })
  const move = { from: '-7', to: '-1007' }
  await expect(moves.storeMove('tg', move)).rejects.toThrow('The disk is full.')
  expect(moves.withFirstID(supergroup)).toEqual(group)
  isFull = false
  await moves.storeMove('tg', move)
  const after = createChatMigrations(state)
  await after.loadMoves()
  expect(after.withFirstID(supergroup)).toEqual(group)
})

test('a change that another process was told of is learned before the first message of the chat, which is looked up once', async () => {
  const state = stateOf(createMemoryStore())
  const reads: string[] = []
  const read = async (key: string) => {
    reads.push(key)
    return await state.read(key)
  }
  const here = createChatMigrations({ ...state, read })
  await here.loadMoves()
  await createChatMigrations(state).storeMove('tg', { from: '-7', to: '-1007' })
  expect(here.withFirstID(supergroup)).toBe(supergroup)
  await Promise.all([supergroup, elsewhere, supergroup, elsewhere].map(here.learnMove))
  expect([here.withFirstID(supergroup), here.withFirstID(elsewhere)]).toEqual([group, elsewhere])
  await here.learnMove(elsewhere)
  expect(reads).toEqual(['moved/tg/-1007', 'moved/dc/-1007'])
})

test('a change that could not be looked up is looked up with the next message', async () => {
  const state = stateOf(createMemoryStore())
  let fails = true
  const here = createChatMigrations({
    ...state,
    read: async (key) => {
      if (fails) throw new Error('The disk failed.')
      return await state.read(key)
    },
  })
  await createChatMigrations(state).storeMove('tg', { from: '-7', to: '-1007' })
  await expect(here.learnMove(supergroup)).rejects.toThrow('The disk failed.')
  fails = false
  await here.learnMove(supergroup)
  expect(here.withFirstID(supergroup)).toEqual(group)
})
