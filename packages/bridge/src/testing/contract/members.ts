import type { Demand } from '@reply/core/testing'
import { beatAfter, leaveAfter, type MemberRows } from '../../store/beat-rules.ts'
import { isCurrentLease } from '../../store/lease-rules.ts'
import type { Beat, BeatRequest, Store, StoreLease, UsedCalls } from '../../store/store.ts'
import { commitDone, put, requireEqual, type StoreStage } from './stage.ts'

/** How long the members of the clauses are valid, in ms. */
const forMs = 4000
const shards = Array.from({ length: 64 }, (_, index) => `shard/${String(index).padStart(2, '0')}`)
const wants = { shards }

/** Clauses about members, their leases and budgets. */
export const memberClauses = [
  {
    name: 'gives a member alone all 64 leases in one beat, and renews them with their fences',
    run: async (stage) => {
      const store = await stage.open()
      const first = await admitted(store, 'one', { wants })
      requireEqual(namesOf(first), shards, 'The leases')
      requireEqual([first.excess, first.others], [{}, 0], 'What is to be released, and the others')
      await stage.pass(forMs - 1)
      const second = await admitted(store, 'one', { wants })
      requireEqual(second.leases.map(sorted), first.leases.map(sorted), 'The renewed leases')
      requireEqual(first.leases[63]?.validForMs, forMs, 'How long a lease is valid')
      await stage.pass(forMs - 1)
      for (const lease of first.leases.slice(0, 2)) await commitDone(store, [put('key', 'value')], lease)
      await stage.pass(1)
      await requireFenced(store, first.leases[0])
      const third = await admitted(store, 'one', { wants })
      requireEqual(
        third.leases.map(({ fence }) => fence),
        first.leases.map(({ fence }) => fence + 1),
        'The fences after the leases expired',
      )
      await commitDone(store, [put('key', 'value')], third.leases[0])
    },
  },
  {
    name: 'keeps the leases of a member that wants none, until it releases them or leaves',
    run: async (stage) => {
      const store = await stage.open()
      const { leases } = await admitted(store, 'one', { wants: { shards: ['a', 'b', 'c'] } })
      const [a, b] = leases
      if (a) await store.release(a)
      await stage.pass(forMs - 1)
      requireEqual(namesOf(await admitted(store, 'one')), ['b', 'c'], 'The leases after one was released')
      await stage.pass(forMs - 1)
      await commitDone(store, [put('key', 'value')], b)
      await store.leave('one')
      await requireFenced(store, b)
      requireEqual(namesOf(await admitted(store, 'one')), [], 'The leases of a member that left and came back')
    },
  },
  {
    name: 'gives a member alone all of each budget, but not what one that died may have used, and freezes it',
    run: async (stage) => {
      const store = await stage.open()
      const budgets = {
        bot: { total: 25, windowMs: 60_000, demand: 3, used: 0, usedFor: [{ calls: 2, forMs: 60_000 }] },
      }
      const { budgets: first } = await admitted(store, 'one', { budgets })
      requireEqual(first.bot, { share: 25, target: 25, most: 6, frozenForMs: 0 }, 'The budget')
      const frozen = { bot: { ...budgets.bot, freezeForMs: 9000 } }
      requireEqual((await admitted(store, 'one', { budgets: frozen })).budgets.bot?.frozenForMs, 9000, 'The freeze')
      await stage.pass(forMs)
      const shorter = { bot: { ...budgets.bot, freezeForMs: 1000 } }
      const { budgets: second } = await admitted(store, 'other', { budgets: shorter })
      requireEqual(second.bot, { share: 19, target: 25, most: 5, frozenForMs: 5000 }, 'The budget of the next member')
      await stage.pass(5000)
      requireEqual((await admitted(store, 'other', { budgets })).budgets.bot?.frozenForMs, 0, 'The freeze at its end')
    },
  },
  {
    name: 'sends a hint when its commit is done, and only then',
    run: async (stage) => {
      const store = await stage.open()
      await requireHints(store, store)
    },
  },
  {
    name: 'stops calling a listener that was removed',
    run: async (stage) => {
      const store = await stage.open()
      const heard = await listen(store, store)
      heard.stop()
      const later = await listen(store, store)
      await store.commit([], undefined, { hint: 'after' })
      await later.until('after')
      requireEqual(heard.hints.includes('after'), false, 'The call of a removed listener')
    },
  },
  {
    name: 'passes hints on to another store, of commits, freed leases, freezes and demands',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      await admitted(one, 'one')
      await admitted(other, 'other')
      await requireHints(one, other)
      const heard = await listen(other, one)
      const { leases } = await admitted(one, 'one', { wants })
      if (leases[0]) await one.release(leases[0])
      await heard.until('free')
      await one.leave('one')
      await heard.until('free')
      const budgets = { bot: { total: 25, windowMs: 1000, demand: 3, used: 0, freezeForMs: 1000 } }
      await admitted(one, 'one', { budgets })
      await heard.until('frozen')
      await admitted(other, 'other', { budgets })
      await heard.until('demand')
    },
  },
  {
    name: 'shares leases evenly among 1 to 4 members once they release what they have too many of',
    run: async (stage) => {
      const stores = [await stage.open(), await stage.open()]
      const members: string[] = []
      for (const member of ['a', 'b', 'c', 'd']) {
        members.push(member)
        const most = Math.ceil(64 / members.length)
        const held = new Map<string, readonly string[]>()
        await admitted(storeAt(stores, members.length - 1), member, { wants })
        for (const [index, one] of members.entries()) {
          const store = storeAt(stores, index)
          const { leases, excess, others } = await admitted(store, one, { wants })
          requireEqual(others, members.length - 1, 'The others')
          requireEqual(excess, leases.length > most ? { shards: leases.length - most } : {}, 'What is to be released')
          for (const lease of leases.slice(most)) await store.release(lease)
          held.set(
            one,
            leases.slice(0, most).map(({ name }) => name),
          )
        }
        requireEqual([...held.values()].flat().toSorted(), shards, `The leases of ${members.length} members`)
      }
    },
  },
  {
    name: 'gives the leases of a member that died to others, with the next fence, and fences the last holder',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const { leases: before } = await admitted(one, 'one', { wants: { shards: ['a', 'b'] } })
      await stage.pass(forMs - 1)
      requireEqual(namesOf(await admitted(other, 'other', { wants: { shards: ['a', 'b'] } })), [], 'Leases 1 ms early')
      await stage.pass(1)
      const { leases: after } = await admitted(other, 'other', { wants: { shards: ['a', 'b'] } })
      requireEqual(
        after.map(({ name, fence }) => [name, fence]),
        before.map(({ name, fence }) => [name, fence + 1]),
        'The leases of the next member',
      )
      for (const lease of before) await requireFenced(one, lease)
      for (const lease of after) await commitDone(other, [put('key', 'value')], lease)
      requireEqual(namesOf(await admitted(one, 'one')), [], 'The leases of the first when it is back')
    },
  },
  {
    name: 'gives free leases to the members that beat, without a part for one that has not for half of its time',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const four = { shards: ['a', 'b', 'c', 'd'] }
      await admitted(one, 'late', { wants: { shards: ['a'] } })
      requireEqual(
        namesOf(await admitted(other, 'one', { wants: four })),
        ['b', 'c'],
        'The leases beside a living member',
      )
      await stage.pass(forMs / 2 - 1)
      requireEqual(namesOf(await admitted(other, 'one', { wants: four })), ['b', 'c'], 'The leases 1 ms early')
      await stage.pass(1)
      const alone = await admitted(other, 'one', { wants: four })
      requireEqual([namesOf(alone), alone.excess], [['b', 'c', 'd'], {}], 'The leases beside one that does not beat')
      const back = await admitted(one, 'late', { wants: four })
      requireEqual(namesOf(back), ['a'], 'What the other one still has')
      requireEqual((await admitted(other, 'one', { wants: four })).excess, { shards: 1 }, 'What is to be released then')
      requireEqual(namesOf(await admitted(one, 'late', { wants: four })), ['a'], 'The leases of one that is back')
    },
  },
  {
    name: 'gives a lease that several members want alone to one of them, which keeps it',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const alone = { channel: ['channel/tg'] }
      const first = await admitted(one, 'one', { wants: alone })
      for (let times = 0; times < 3; times++) {
        const second = await admitted(other, 'other', { wants: alone })
        requireEqual([namesOf(second), second.excess, second.others], [[], {}, 1], 'The second member')
        await stage.pass(forMs - 1)
        const again = await admitted(one, 'one', { wants: alone })
        requireEqual([again.leases.map(sorted), again.excess], [first.leases.map(sorted), {}], 'The first member')
      }
    },
  },
  {
    name: 'admits no members with another layout, and one that wants to be alone only without others',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      await admitted(one, 'one', { layout: '1', wants })
      await requireRefused(other, 'layout', { layout: '2', wants })
      await requireRefused(other, 'alone', { layout: '1', isAlone: true })
      requireEqual((await admitted(one, 'one', { layout: '1', wants })).others, 0, 'The others of a member')
      await stage.pass(forMs)
      await admitted(other, 'other', { layout: '2', isAlone: true })
      await requireRefused(one, 'alone', { layout: '2' }, 'one')
      await admitted(other, 'other', { layout: '2', isAlone: true })
      await admitted(other, 'other', { layout: '2' })
      await admitted(one, 'one', { layout: '2' })
      await other.leave('other')
      await admitted(one, 'one', { layout: '3', isAlone: true })
    },
  },
  {
    name: 'counts a member that is leaving as one that wants no leases',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const { leases } = await admitted(one, 'one', { wants })
      requireEqual((await admitted(other, 'other', { wants })).others, 1, 'The others')
      requireEqual((await admitted(one, 'one')).leases.length, 64, 'The leases of a member that is leaving')
      for (const lease of leases.slice(0, 40)) await one.release(lease)
      const { leases: taken, others } = await admitted(other, 'other', { wants })
      requireEqual([taken.length, others], [40, 0], 'What the other one takes')
      for (const lease of leases.slice(40)) await one.release(lease)
      requireEqual((await admitted(other, 'other', { wants })).leases.length, 64, 'What the other one has then')
    },
  },
  {
    name: 'divides a budget by demand, and lets a share grow by what others did not use',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const share = async (store: Store, member: string, demand: number, used: number): Promise<number | undefined> => {
        const budgets = { bot: { total: 24, windowMs: 2000, demand, used } }
        return (await admitted(store, member, { budgets })).budgets.bot?.share
      }
      requireEqual(await share(one, 'one', 1, 0), 24, 'The first share')
      requireEqual(await share(other, 'other', 1, 0), 0, 'The second share before the first one shrank')
      requireEqual(await share(one, 'one', 1, 24), 12, 'The first share when it shrinks')
      requireEqual(await share(other, 'other', 1, 0), 0, 'The second share while the first one may use all')
      requireEqual(await share(one, 'one', 1, 15), 12, 'The first share after 15 calls')
      requireEqual(await share(other, 'other', 1, 0), 9, 'The second share besides 15 calls')
      requireEqual(await share(one, 'one', 1, 12), 12, 'The first share when fewer calls count')
      requireEqual(await share(other, 'other', 1, 9), 12, 'The second share besides the first one')
      requireEqual(await share(one, 'one', 10, 12), 12, 'The first share when it is to grow')
      requireEqual(await share(other, 'other', 4, 12), 9, 'What the second one demands, and a part of the rest')
      requireEqual(await share(one, 'one', 60, 12), 12, 'The first share before it is known what the second one uses')
      requireEqual(await share(other, 'other', 6, 3), 3, 'The second share if the demands are too large')
      requireEqual(await share(one, 'one', 60, 12), 21, 'The first share then')
      await other.leave('other', {
        bot: [
          { calls: 1, forMs: 500 },
          { calls: 1, forMs: 2000 },
        ],
      })
      requireEqual(await share(one, 'one', 60, 21), 22, 'The first share after the other one left and had used 2')
      await stage.pass(500)
      requireEqual(await share(one, 'one', 60, 22), 23, 'The first share when one of them no longer counts')
      await stage.pass(1500)
      requireEqual(await share(one, 'one', 60, 23), 24, 'The first share when none of them does')
      await one.leave('one', { bot: [{ calls: 20, forMs: 2000 }] })
      requireEqual(await share(other, 'next', 60, 0), 4, 'The share of a lone member after another one left')
      await stage.pass(2000)
      requireEqual(await share(other, 'next', 60, 4), 24, 'Its share when those calls no longer count')
    },
  },
  {
    name: 'takes all calls of a member that does not say what they are for as those of growing texts',
    run: async (stage) => {
      const store = await stage.open()
      const share = async (member: string, demand: number, growing?: number): Promise<number | undefined> => {
        const budgets = { bot: { total: 24, windowMs: 2000, demand, growing, used: 0 } }
        return (await admitted(store, member, { budgets })).budgets.bot?.share
      }
      for (let round = 0; round < 3; round++) {
        await share('older', 100)
        await share('newer', 20, 0)
      }
      requireEqual([await share('older', 100), await share('newer', 20, 0)], [4, 20], 'The shares')
    },
  },
  {
    name: 'reserves what a member had that died or left for one window',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const share = async (store: Store, member: string, used: number): Promise<number | undefined> => {
        const budgets = { bot: { total: 24, windowMs: 2000, demand: 0, used } }
        return (await admitted(store, member, { budgets })).budgets.bot?.share
      }
      await share(one, 'one', 0)
      await share(other, 'other', 0)
      await share(one, 'one', 0)
      requireEqual(await share(other, 'other', 0), 12, 'A share')
      await stage.pass(forMs - 1)
      await share(one, 'one', 12)
      await stage.pass(2000)
      requireEqual(await share(one, 'one', 12), 12, 'A share while the dead member may have made calls within a window')
      await stage.pass(1)
      requireEqual(await share(one, 'one', 12), 24, 'A share after that')
      await share(other, 'other', 0)
      await share(one, 'one', 0)
      requireEqual(await share(other, 'other', 0), 12, 'The share of a member that came back')
      await other.leave('other')
      requireEqual(await share(one, 'one', 12), 12, 'A share after one left that did not say what it used')
      await stage.pass(2000)
      requireEqual(await share(one, 'one', 12), 24, 'A share a window after that')
    },
  },
  {
    name: 'reserves of a member that tells for how long calls count only those, a few more, and what it needs, also if it dies',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const limit = { total: 24, windowMs: 60_000, used: 0 }
      const most = async (demand: number, ...usedFor: UsedCalls[string]): Promise<number | undefined> => {
        const budgets = { bot: { ...limit, demand, growing: 1, used: 24, usedFor } }
        return (await admitted(one, 'one', { budgets })).budgets.bot?.most
      }
      const share = async (): Promise<number | undefined> =>
        (await admitted(other, 'other', { budgets: { bot: { ...limit, demand: 0 } } })).budgets.bot?.share
      requireEqual(await most(1), 4, 'The most calls of an idle member')
      requireEqual(await most(17), 16, 'The most calls of one that needs some')
      requireEqual(await most(1, { calls: 23, forMs: 1000 }), 24, 'The most calls of one that has used its share')
      await one.leave('one', {})
      await stage.pass(60_000)
      const counted = [
        { calls: 2, forMs: 60_000 },
        { calls: 5, forMs: 30_000 },
        { calls: 3, forMs: 5000 },
      ] as const
      requireEqual(await most(1, ...counted), 14, 'The most calls of a member that has made some')
      requireEqual(await share(), 10, 'The share beside it')
      await stage.pass(forMs)
      requireEqual(await share(), 10, 'The share once it is dead')
      await stage.pass(29_999 - forMs)
      requireEqual(await share(), 10, 'The share when calls no longer count that may have made room for others')
      await stage.pass(1)
      requireEqual(await share(), 15, 'The share when calls no longer count that counted when it died')
      await stage.pass(33_999)
      requireEqual(await share(), 15, 'The share while calls may count that it made last')
      await stage.pass(1)
      requireEqual(await share(), 24, 'The share when none counts')
    },
  },
  {
    name: 'freezes a budget for all members',
    run: async (stage) => {
      const [one, other] = [await stage.open(), await stage.open()]
      const budgets = { bot: { total: 25, windowMs: 1000, demand: 3, used: 0 } }
      await admitted(other, 'other', { budgets })
      await admitted(one, 'one', { budgets: { bot: { ...budgets.bot, freezeForMs: 3000 } } })
      await stage.pass(1000)
      requireEqual((await admitted(other, 'other', { budgets })).budgets.bot?.frozenForMs, 2000, 'The freeze')
      requireEqual((await admitted(one, 'one', { budgets: {} })).budgets, {}, 'The budgets of a member without one')
    },
  },
  {
    name: 'keeps members apart whose clocks differ by a minute',
    needs: (stage) => stage.skew !== undefined,
    run: async (stage) => {
      const one = await stage.open()
      await admitted(one, 'one', { wants })
      for (const ms of [60_000, -60_000]) {
        stage.skew?.(ms)
        const other = await stage.open()
        const { leases, others } = await admitted(other, 'other', { wants })
        requireEqual([leases.length, others], [0, 1], 'The leases of the second member')
        stage.skew?.(0)
        const { leases: kept } = await admitted(one, 'one', { wants })
        requireEqual(kept.length, 64, 'The leases of the first member')
      }
    },
  },
  {
    name: 'gives each of many members that beat at the same time a share, and no lease twice',
    run: async (stage) => {
      const stores = await Promise.all(Array.from({ length: 4 }, () => stage.open()))
      const beatAll = async (): Promise<readonly Admitted[]> =>
        await Promise.all(stores.map((store, index) => admitted(store, `${index}`, { wants })))
      for (let round = 0; round < 3; round++)
        for (const [index, { leases, excess }] of (await beatAll()).entries())
          for (const lease of leases.slice(0, excess.shards ?? 0)) await storeAt(stores, index).release(lease)
      const last = await beatAll()
      requireEqual(last.flatMap(namesOf).toSorted(), shards, 'The leases of all members')
      requireEqual(
        last.map(({ leases }) => leases.length),
        [16, 16, 16, 16],
        'How many each of them has',
      )
    },
  },
  {
    name: 'answers random calls of members by the rules, whatever they are',
    run: async (stage) => {
      const stores = [await stage.open(), await stage.open()]
      const model = createModel()
      const random = createRandom(38)
      const kinds = [...repeated(12, 'beat'), ...repeated(4, 'pass'), 'release', 'leave'] as const
      for (let step = 0; step < 600; step++) {
        const member = random.pick(['a', 'b', 'c', 'd'])
        const store = storeAt(stores, random.pick([0, 1]))
        const kind = random.pick(kinds)
        if (kind === 'pass') {
          const ms = random.pick([1, 250, 500, 1000, 1000, 1000, 3000, 5000])
          await stage.pass(ms)
          model.pass(ms)
        } else if (kind === 'leave') {
          const used = random.pick<UsedCalls | undefined>([
            undefined,
            { bot: [{ calls: 2.5, forMs: 1000 }], wa: [] },
            {
              bot: [
                { calls: 1, forMs: 10 },
                { calls: 40, forMs: 400 },
                { calls: 3, forMs: 99_999 },
                { calls: 2, forMs: 400 },
              ],
              wa: [{ calls: 1, forMs: -1 }],
            },
          ])
          await store.leave(member, used)
          model.leave(member, used)
        } else if (kind === 'release') {
          const lease = random.pick([undefined, ...model.leasesOf(member)])
          if (lease) await store.release(lease)
          if (lease) model.release(lease)
        } else {
          const request = randomRequest(member, random)
          const expected = model.beat(request)
          requireEqual(sorted(await store.beat(request)), sorted(expected), `Step ${step}, ${JSON.stringify(request)}`)
        }
      }
    },
  },
] as const satisfies readonly Demand<StoreStage>[]

type Admitted = Extract<Beat, { readonly type: 'admitted' }>

/** Returns a request that wants nothing unless `changes` do. */
function requestOf(member: string, changes: Partial<BeatRequest> = {}): BeatRequest {
  return { member, forMs, layout: '1', wants: {}, budgets: {}, ...changes }
}

/** Beats, and throws if the member is refused. */
async function admitted(store: Store, member: string, changes?: Partial<BeatRequest>): Promise<Admitted> {
  const beat = await store.beat(requestOf(member, changes))
  if (beat.type === 'admitted') return beat
  throw new Error(`${member} is refused: ${beat.reason}.`)
}

/** Throws unless a member is refused for this reason. */
async function requireRefused(
  store: Store,
  reason: string,
  changes: Partial<BeatRequest>,
  member = 'other',
): Promise<void> {
  requireEqual(sorted(await store.beat(requestOf(member, changes))), sorted({ type: 'refused', reason }), 'A beat')
}

/** Throws unless a commit with the lease is fenced. */
async function requireFenced(store: Store, lease: StoreLease | undefined): Promise<void> {
  requireEqual(await store.commit([put('fenced', 'value')], lease), { type: 'fenced' }, 'A commit without its lease')
}

/** Returns the names of a member's leases. */
function namesOf({ leases }: Admitted): readonly string[] {
  return leases.map(({ name }) => name)
}

/** Returns the store at an index, and begins again after the last one. */
function storeAt(stores: readonly Store[], index: number): Store {
  const store = stores[index % stores.length]
  if (!store) throw new Error('There is no store.')
  return store
}

/** The hints that a listener heard. */
interface Heard {
  readonly hints: readonly string[]
  /** Resolves once it has heard the hint, and forgets what it heard. */
  until(hint: string): Promise<void>
  stop(): void
}

/** Adds a listener, and resolves once it hears what `sender` sends: an engine may need a moment to connect. */
async function listen(store: Store, sender: Store): Promise<Heard> {
  const hints: string[] = []
  const stop = store.watch((hint) => hints.push(hint))
  const isHeard = (hint: string): boolean => hints.includes(hint)
  while (!isHeard('ready')) {
    await sender.commit([], undefined, { hint: 'ready' })
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const until = async (hint: string): Promise<void> => {
    while (!isHeard(hint)) await new Promise((resolve) => setTimeout(resolve, 1))
    hints.length = 0
  }
  return { hints, until, stop }
}

/** Throws unless the hints of commits that are done arrive in order, and those of others don't. */
async function requireHints(from: Store, to: Store): Promise<void> {
  const { leases } = await admitted(from, 'sender', { wants: { shards: ['a'] } })
  const heard = await listen(to, from)
  const lease = leases[0]
  await from.commit([put('key', 'value')], lease, { hint: 'inbox/07' })
  const conflicting = { type: 'put-if-absent', key: 'key', value: 'other' } as const
  requireEqual((await from.commit([conflicting], lease, { hint: 'conflict' })).type, 'conflict', 'A commit')
  if (lease) await from.release(lease)
  requireEqual((await from.commit([], lease, { hint: 'fenced' })).type, 'fenced', 'A commit')
  await Promise.all([
    from.commit([put('key', '')], undefined, { hint: 'answer/\ud83d\0', survives: 'process' }),
    from.commit([put('key', '')]),
  ])
  await from.commit([], undefined, { hint: 'last' })
  let found: readonly string[] = []
  while (!found.includes('last')) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    found = [...heard.hints]
  }
  const sent = found.filter((hint) => hint !== '' && hint !== 'ready')
  requireEqual(sent, ['inbox/07', 'free', 'answer/\ud83d\0', 'last'], 'The hints')
  heard.stop()
  await from.leave('sender')
}

/** Returns a value whose fields are ordered by name, because engines may order them differently. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const fields = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]))
}

/** The rules by themselves, with a clock that only `pass` advances. */
function createModel() {
  let rows: MemberRows = { members: [], leases: [], shares: [], freezes: [] }
  let now = 1_000_000
  return {
    pass: (ms: number): void => {
      now += ms
    },
    beat: (request: BeatRequest): Beat => {
      const effect = beatAfter(rows, request, now)
      rows = effect.rows
      return effect.beat
    },
    leave: (member: string, used?: UsedCalls): void => {
      rows = leaveAfter(rows, member, now, used)
    },
    leasesOf: (member: string): readonly StoreLease[] =>
      rows.leases.filter(({ holder }) => holder === member).map((lease) => ({ ...lease, validForMs: forMs })),
    release: (lease: StoreLease): void => {
      const leases = rows.leases.map((one) =>
        one.name === lease.name && isCurrentLease(one, lease, now) ? { ...one, expiresAt: 0 } : one,
      )
      rows = { ...rows, leases }
    },
  }
}

/** Picks what looks random, and is the same each time. */
interface Random {
  pick<Item>(items: readonly [Item, ...Item[]]): Item
}

/** Creates random numbers from a seed: https://en.wikipedia.org/wiki/Lehmer_random_number_generator. */
function createRandom(seed: number): Random {
  let state = seed
  return {
    pick: (items) => {
      state = (state * 48_271) % 2_147_483_647
      return items[state % items.length] ?? items[0]
    },
  }
}

/** Returns a beat with groups, budgets and rules of admission that may be in the way of others. */
function randomRequest(member: string, random: Random): BeatRequest {
  const few = shards.slice(0, 8)
  const bot = {
    total: random.pick([...repeated(9, 25), 24.5, 2]),
    windowMs: random.pick([...repeated(9, 1000), 3000]),
    demand: random.pick([0, 1, 2.5, 7, 40]),
    growing: random.pick([undefined, 0, 1.5, 6, 50]),
    mostGrowing: random.pick([...repeated(5, 20), undefined, 0, 30]),
    used: random.pick([0, 1, 3.5, 12, 30]),
    usedFor: random.pick<UsedCalls[string] | undefined>([undefined, [], [{ calls: 2.5, forMs: 900 }]]),
    freezeForMs: random.pick([...repeated(9, undefined), 1500, 6000]),
  }
  const wa = {
    ...{
      total: 48,
      windowMs: random.pick([4000, 40_000]),
      demand: random.pick([0, 3, 9]),
      growing: random.pick([0, 3]),
    },
    used: random.pick([0, 5, 48]),
    usedFor: random.pick<UsedCalls[string] | undefined>([
      undefined,
      [],
      [{ calls: 60, forMs: 38_000 }],
      [
        { calls: 4, forMs: 40_000 },
        { calls: 7.5, forMs: 12_000 },
        { calls: 1, forMs: 6000 },
        { calls: 9, forMs: 5000 },
        { calls: 2, forMs: -1 },
      ],
    ]),
  }
  return requestOf(member, {
    layout: random.pick([...repeated(20, '1'), '2']),
    isAlone: random.pick([...repeated(20, undefined), true]),
    wants: random.pick<BeatRequest['wants']>([
      {},
      ...repeated(3, { shards: few }),
      { shards: few, channel: ['channel/tg'] },
    ]),
    budgets: random.pick<BeatRequest['budgets']>([{}, ...repeated(5, { bot }), ...repeated(4, { bot, wa })]),
  })
}

/** Returns a list that has an item several times. */
function repeated<Item>(times: number, item: Item): readonly [Item, ...Item[]] {
  return [item, ...Array.from({ length: times - 1 }, () => item)]
}
