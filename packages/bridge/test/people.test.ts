import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createPeople } from '../src/people/people.ts'
import { createRateLimit } from '../src/people/rate-limit.ts'

const ann = { id: '1', name: 'Ann' }
const bob = { id: '2', name: 'Bob' }

const people = createPeople({
  ann: { ids: ['tg:1', 'sl:U1'], may: ['prompt', 'approve'] },
  bob: { ids: ['tg:2'], may: ['prompt'] },
})

describe('people', () => {
  test('are known by channel and id, and may what is listed', () => {
    expect(people.personOf('tg', ann)).toEqual({ name: 'ann', may: new Set(['prompt', 'approve']) })
    expect(people.personOf('sl', ann)).toBeUndefined()
    expect(people.personOf('tg', { id: '3', name: 'Ann' })).toBeUndefined()
  })

  test('are never channels or anonymous administrators', () => {
    expect(people.personOf('tg', { ...ann, isAnonymous: true })).toBeUndefined()
  })

  test('the requester must answer questions; permissions too with the right to, and otherwise the approvers must', () => {
    expect(
      people.expectedAnswerers('question', { channel: 'tg', chat: { id: '-100' } }, { channel: 'tg', actor: bob }),
    ).toEqual([bob])
    expect(
      people.expectedAnswerers('permission', { channel: 'tg', chat: { id: '-100' } }, { channel: 'tg', actor: ann }),
    ).toEqual([ann])
    expect(
      people.expectedAnswerers('permission', { channel: 'tg', chat: { id: '-100' } }, { channel: 'tg', actor: bob }),
    ).toEqual([{ id: '1', name: 'ann' }])
  })

  describe('who wrote a prompt together', () => {
    const prompt = { channel: 'tg', actor: ann, editors: [{ channel: 'tg', actor: bob }] }

    test('have the rights that all of them have', () => {
      expect([people.allMay(prompt, 'prompt'), people.allMay(prompt, 'approve')]).toEqual([true, false])
      expect(people.allMay({ ...prompt, editors: [{ channel: 'sl', actor: { id: 'U1' } }] }, 'approve')).toBe(true)
      expect(people.allMay({ ...prompt, editors: [{ channel: 'tg', actor: { id: '9' } }] }, 'prompt')).toBe(false)
    })

    test('both answer its questions; its permissions are asked of all who may approve', () => {
      expect(people.expectedAnswerers('question', { channel: 'tg', chat: { id: '-100' } }, prompt)).toEqual([ann, bob])
      expect(people.expectedAnswerers('permission', { channel: 'sl', chat: { id: '-100' } }, prompt)).toEqual([
        { id: 'U1', name: 'ann' },
      ])
      expect([ann, bob, { id: '3' }].map((actor) => people.isAuthor(prompt, { channel: 'tg', actor }))).toEqual([
        ...[true, true, false],
      ])
    })
  })

  test('that leave the list may nothing, and what was asked of them is asked of those who may approve', () => {
    const list = createPeople({ bob: { ids: ['tg:2'], may: ['prompt'] }, cat: { ids: ['tg:3'], may: ['approve'] } })
    const asked = () =>
      list.expectedAnswerers('question', { channel: 'tg', chat: { id: '-100' } }, { channel: 'tg', actor: bob })
    expect(asked()).toEqual([bob])
    list.replaceAll({ cat: { ids: ['tg:3'], may: ['approve'] } })
    expect([list.personOf('tg', bob), asked()]).toEqual([undefined, [{ id: '3', name: 'cat' }]])
    list.replaceAll({})
    expect(asked()).toEqual([])
  })
})

test('a rate holds for each person, and a minute', async () => {
  const clock = createHandClock()
  const rate = createRateLimit(2, clock)
  expect([
    rate.countIfAllowed('a'),
    rate.countIfAllowed('a'),
    rate.countIfAllowed('a'),
    rate.countIfAllowed('b'),
  ]).toEqual([true, true, false, true])
  await clock.advance(60_001)
  expect(rate.countIfAllowed('a')).toBe(true)
})

test('an album counts as one message, up to ten files', () => {
  const rate = createRateLimit(2, createHandClock())
  const files = Array.from({ length: 21 }, (_, n) => rate.countIfAllowed('a', { id: `${n}`, albumID: 'album' }))
  expect(files).toEqual([...Array.from({ length: 20 }, () => true), false])
})

test('a message that is delivered again counts once, also one of an album', async () => {
  const clock = createHandClock()
  const rate = createRateLimit(2, clock)
  const counts = (id: string, albumID?: string): boolean => rate.countIfAllowed('a', { id, albumID })
  expect(['1', '1', '1'].map((id) => counts(id))).toEqual([true, true, true])
  const files = Array.from({ length: 10 }, (_, n) => `file ${n}`)
  expect([...files, ...files].map((id) => counts(id, 'album'))).not.toContain(false)
  expect([counts('file 10', 'album'), counts('2'), counts('1')]).toEqual([false, false, true])
})
