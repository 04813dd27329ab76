import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createPeople } from '../src/people/people.ts'
import { createRate } from '../src/people/rate.ts'

const ann = { id: '1', name: 'Ann' }
const bob = { id: '2', name: 'Bob' }

const people = createPeople({
  ann: { ids: ['tg:1', 'sl:U1'], may: ['prompt', 'approve'] },
  bob: { ids: ['tg:2'], may: ['prompt'] },
})

describe('people', () => {
  test('are known by channel and id, and may what is listed', () => {
    expect(people.find('tg', ann)).toEqual({ name: 'ann', may: new Set(['prompt', 'approve']) })
    expect(people.find('sl', ann)).toBeUndefined()
    expect(people.find('tg', { id: '3', name: 'Ann' })).toBeUndefined()
  })

  test('are never channels or anonymous administrators', () => {
    expect(people.find('tg', { ...ann, isAnonymous: true })).toBeUndefined()
  })

  test('the requester must answer questions; permissions too with the right to, and otherwise the approvers must', () => {
    expect(people.answerers('question', 'tg', { channel: 'tg', actor: bob })).toEqual([bob])
    expect(people.answerers('permission', 'tg', { channel: 'tg', actor: ann })).toEqual([ann])
    expect(people.answerers('permission', 'tg', { channel: 'tg', actor: bob })).toEqual([{ id: '1', name: 'ann' }])
  })
})

test('a rate holds for each person, and a minute', async () => {
  const clock = createHandClock()
  const rate = createRate({ perMinute: 2, clock })
  expect([rate.take('a'), rate.take('a'), rate.take('a'), rate.take('b')]).toEqual([true, true, false, true])
  await clock.advance(60_001)
  expect(rate.take('a')).toBe(true)
})

test('an album counts as one message, up to ten files', () => {
  const rate = createRate({ perMinute: 2, clock: createHandClock() })
  const files = Array.from({ length: 21 }, () => rate.take('a', 'album'))
  expect(files).toEqual([...Array.from({ length: 20 }, () => true), false])
})
