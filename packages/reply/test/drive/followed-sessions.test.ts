import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createFollowing } from '../../src/drive/connection/following.ts'
import { createEngine } from '../../src/drive/engine.ts'
import type { SnapshotEvent } from '../../src/event.ts'
import type { AddedSession } from '../../src/source/port.ts'

function setup(keepReleased = 2) {
  const clock = createHandClock()
  const engine = createEngine((error) => expect.fail(error.message), 1000)
  const following = createFollowing({ engine, clock, keepReleased }, false)
  const released: AddedSession[] = []
  const told: string[] = []
  following.onAdded((added) => {
    released.push(...added)
    return []
  })
  following.setListeners({ needed: () => told.push('needed'), idle: () => told.push('idle'), receive: () => {} })
  const included = (...ids: readonly string[]): readonly string[] => ids.filter((id) => following.includes(id))
  return { clock, engine, following, released, told, included }
}

const snapshot = (sessionID: string, children: readonly SnapshotEvent[] = []): SnapshotEvent => ({
  type: 'snapshot',
  at: 2,
  readAt: 1,
  sessionID,
  session: {},
  messages: [],
  status: 'idle',
  asks: [],
  todos: [],
  children,
  gap: true,
  complete: false,
})
const nothing = async (): Promise<void> => {}

test('a held session is followed once a read of it was applied, with its events since it was held', () => {
  const { clock, engine, following, released, included } = setup()
  following.hold('ses_a')
  expect(included('ses_a')).toEqual([])
  engine.apply([snapshot('ses_b')])
  expect(included('ses_a', 'ses_b')).toEqual([])
  engine.apply([snapshot('ses_a')])
  expect([included('ses_a'), released]).toEqual([['ses_a'], [{ sessionID: 'ses_a', since: clock.now() }]])
})

test('the sub-agents in a read are followed, at all levels', () => {
  const { engine, following, released, included } = setup()
  following.hold().cover('ses_a')
  const below = { ...snapshot('ses_b', [{ ...snapshot('ses_c'), session: { parentID: 'ses_b' } }]) }
  engine.apply([snapshot('ses_a', [{ ...below, session: { parentID: 'ses_a' } }])])
  expect(included('ses_b', 'ses_c')).toEqual(['ses_b', 'ses_c'])
  expect(released.map(({ sessionID }) => sessionID)).toEqual(['ses_b', 'ses_c'])
})

test('a session that can not be read is followed all the same', () => {
  const { following, included } = setup()
  following.hold('ses_a')
  following.noteUnreadable('ses_a')
  expect(included('ses_a')).toEqual(['ses_a'])
})

test('an open reply keeps its session followed and the stream open', async () => {
  const { clock, engine, told, included } = setup()
  engine.apply([{ type: 'opened', sessionID: 'ses_a', text: 'Hello.', at: 1 }])
  await clock.advance(60_000, nothing)
  expect([included('ses_a'), told.includes('idle')]).toEqual([['ses_a'], false])
  engine.apply([{ type: 'settle', sessionID: 'ses_a', at: 2, by: 'lost' }])
  await clock.advance(30_000, nothing)
  expect([included('ses_a'), told.at(-1)]).toEqual([[], 'idle'])
})

test('the newest sessions that were released stay followed, until the next connection', () => {
  const { following, included } = setup()
  for (const id of ['ses_a', 'ses_b', 'ses_c']) {
    const hold = following.hold()
    hold.cover(id)
    hold.release()
  }
  expect(included('ses_a', 'ses_b', 'ses_c')).toEqual(['ses_b', 'ses_c'])
  following.hold().cover('ses_b')
  following.forgetReleased()
  expect(included('ses_a', 'ses_b', 'ses_c')).toEqual(['ses_b'])
})

test('a session that is held twice is followed until both are released', () => {
  const { following, included } = setup(0)
  const [first, second] = [following.hold(), following.hold()]
  for (const hold of [first, second, second]) hold.cover('ses_a')
  second.release()
  second.release()
  expect(included('ses_a')).toEqual(['ses_a'])
  first.release()
  expect(included('ses_a')).toEqual([])
})

test('all sessions are followed until the last hold of all is released', () => {
  const { following } = setup()
  const [first, second] = [following.hold(), following.hold()]
  for (const hold of [first, second, second]) hold.coverEvery()
  second.release()
  expect(following.isEvery()).toBe(true)
  first.release()
  expect(following.isEvery()).toBe(false)
})

test('the wait for a need begins again with each need', async () => {
  const { clock, following, told } = setup()
  await clock.advance(29_000, nothing)
  following.hold().release()
  await clock.advance(29_000, nothing)
  expect(told).toEqual(['needed'])
  await clock.advance(1000, nothing)
  expect(told).toEqual(['needed', 'idle'])
})

test('nothing is reported after the stop', async () => {
  const { clock, following, told } = setup()
  following.stop()
  following.hold().release()
  await clock.advance(60_000, nothing)
  expect(told).toEqual([])
})
