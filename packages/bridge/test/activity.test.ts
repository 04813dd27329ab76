import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createActivity } from '../src/notices/activity.ts'
import { createPeople } from '../src/people/people.ts'
import { createSharedState, createStoreReports } from '../src/state/state.ts'
import type { Write } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

const may = ['prompt' as const]
const people = createPeople({
  ann: { ids: ['tg:1', 'sl:U1'], may, notify: ['phone'] },
  bob: { ids: ['tg:2'], may },
})
const ann = { id: '1', name: 'Ann' }

/** Processes that share a state, and all writes of them. */
function started() {
  const clock = createHandClock()
  const memory = createStoreMemory()
  const written: Write[] = []
  const errors: Error[] = []
  const onError = (error: Error): void => void errors.push(error)
  const member = () => {
    const store = createMemoryStore({ memory, clock })
    const commit: typeof store.commit = async (writes, ...more) => {
      written.push(...writes)
      return await store.commit(writes, ...more)
    }
    const stopping = new AbortController().signal
    const state = createSharedState({
      store: { ...store, commit },
      clock,
      stopping,
      reports: createStoreReports(onError),
    })
    return createActivity({ state, people, monotonic: clock.monotonic, onError })
  }
  const settled = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve))
  return { clock, written, errors, member, settled }
}

test('a person who never acted has been away for ever', async () => {
  expect(await started().member().agoMs('ann')).toBe(Number.POSITIVE_INFINITY)
})

test('an action counts on each channel of the person, also in other processes', async () => {
  const { clock, member, settled } = started()
  const [one, other] = [member(), member()]
  one.note('sl', { id: 'U1', name: 'Ann' })
  await settled()
  await clock.advance(20_000)
  expect([await one.agoMs('ann'), await other.agoMs('ann')]).toEqual([20_000, 20_000])
  other.note('tg', ann)
  await settled()
  await clock.advance(1000)
  expect([await one.agoMs('ann'), await other.agoMs('ann')]).toEqual([1000, 1000])
})

test('an action counts after a restart, for a day', async () => {
  const { clock, member, settled } = started()
  member().note('tg', ann)
  await settled()
  await clock.advance(86_399_000)
  expect(await member().agoMs('ann')).toBe(86_399_000)
  await clock.advance(2000)
  expect(await member().agoMs('ann')).toBe(Number.POSITIVE_INFINITY)
})

test('many actions make a write each 5 s, and the last one counts in its process', async () => {
  const { clock, written, member, settled } = started()
  const one = member()
  for (let second = 0; second < 20; second++) {
    one.note('tg', ann)
    await settled()
    await clock.advance(1000)
  }
  expect(written).toHaveLength(4)
  expect(await one.agoMs('ann')).toBe(1000)
})

test.each([
  ['a person without notices', 'tg', { id: '2', name: 'Bob' }],
  ['a stranger', 'tg', { id: '3', name: 'Eve' }],
  ['an anonymous administrator', 'tg', { ...ann, isAnonymous: true }],
] as const)('the action of %s is not stored', async (_, channel, actor) => {
  const { written, member, settled } = started()
  member().note(channel, actor)
  await settled()
  expect(written).toEqual([])
})
