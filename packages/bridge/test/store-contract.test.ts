import { cpSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { type Store, StoreError } from '../src/store/store.ts'
import {
  createMemoryStore,
  createStoreMemory,
  type StoreClauseName,
  type StoreContractOptions,
  type StoreStage,
  storeContract,
} from '../src/testing.ts'

const noNetwork = 'no network is between it and its engine'
const oneClock = 'it works on one machine, which has one clock'
const withoutNetwork: StoreContractOptions['skip'] = {
  'finds out that a commit was made whose answer was lost': noNetwork,
  'makes a commit once that was lost on its way': noNetwork,
  'keeps the order of calls behind a commit whose answer was lost': noNetwork,
  'fences a commit that was on its way when another took the lease': noNetwork,
  'decides by its own clock, whatever the clocks of its users show': oneClock,
  'keeps members apart whose clocks differ by a minute': oneClock,
  'answers rightly, however slow its engine is': noNetwork,
  'rejects calls as busy while its engine is out of reach, and goes on when it is back': noNetwork,
}

const oneMember = 'it admits one member at a time'
const forOneMember: StoreContractOptions['skip'] = {
  'shares leases evenly among 1 to 4 members once they release what they have too many of': oneMember,
  'gives free leases to the members that beat, without a part for one that has not for half of its time': oneMember,
  'gives the leases of a member that died to others, with the next fence, and fences the last holder': oneMember,
  'gives a lease that several members want alone to one of them, which keeps it': oneMember,
  'admits no members with another layout, and one that wants to be alone only without others': oneMember,
  'counts a member that is leaving as one that wants no leases': oneMember,
  'divides a budget by demand, and lets a share grow by what others did not use': oneMember,
  'takes all calls of a member that does not say what they are for as those of growing texts': oneMember,
  'reserves what a member had that died or left for one window': oneMember,
  'reserves of a member that tells for how long calls count only those, a few more, and what it needs, also if it dies':
    oneMember,
  'freezes a budget for all members': oneMember,
  'gives each of many members that beat at the same time a share, and no lease twice': oneMember,
  'answers random calls of members by the rules, whatever they are': oneMember,
  'passes hints on to another store, of commits, freed leases, freezes and demands': oneMember,
}

const forgetful = 'it forgets everything with its process'

const setups: readonly [string, StoreContractOptions['skip'], () => StoreStage | Promise<StoreStage>][] = [
  [
    'the memory store',
    {
      ...withoutNetwork,
      'has what it acknowledged after its engine was killed, and nothing that it rejected': forgetful,
      'has what need not survive a crash of the machine after its engine was killed, because a process may go on':
        forgetful,
    },
    () => {
      const [clock, memory] = [createHandClock(), createStoreMemory()]
      return stageOf(clock, async () => createMemoryStore({ clock, memory }))
    },
  ],
  [
    'the SQLite store',
    { ...withoutNetwork, ...forOneMember },
    async () => {
      const clock = createHandClock()
      const parent = await mkdtemp(join(tmpdir(), 'reply-bridge-'))
      let folder = join(parent, '0')
      let isKilled = false
      const stage = stageOf(
        clock,
        async () => untilKilled(await sqliteStore({ folder, clock }), () => isKilled),
        () => rm(parent, { recursive: true }),
      )
      const crash = async (): Promise<void> => {
        // What a process that ends now leaves behind.
        cpSync(folder, join(parent, '1'), { recursive: true })
        isKilled = true
        folder = join(parent, '1')
      }
      return {
        ...stage,
        open: async () => {
          const store = await stage.open()
          isKilled = false
          return store
        },
        crash,
      }
    },
  ],
]

/** A store whose process is killed: its answers are lost then. */
function untilKilled(store: Store, isKilled: () => boolean): Store {
  return {
    ...store,
    commit: async (...args) => {
      const result = await store.commit(...args)
      if (isKilled()) throw new StoreError('closed', 'The process was killed.')
      return result
    },
  }
}

describe.each(setups)('%s', (name, skip, setup) => {
  const clauses = storeContract({ name, setup, skip })
  test.each(clauses.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => await run())
})

describe('the contract', () => {
  const check = async (clause: StoreClauseName, change: (store: Store) => Partial<Store>): Promise<void> => {
    const [clock, memory] = [createHandClock(), createStoreMemory()]
    const open = async (): Promise<Store> => {
      const store = createMemoryStore({ clock, memory })
      return { ...store, ...change(store) }
    }
    const clauses = storeContract({ name: 'it', setup: () => stageOf(clock, open) })
    await clauses.find(({ name }) => name === `it ${clause}`)?.run()
  }

  test('finds a store without fences', async () => {
    const run = check('fences a holder that was replaced, and writes nothing of it', (store) => ({
      commit: (writes) => store.commit(writes),
    }))
    await expect(run).rejects.toThrow('A commit without its lease: found {"type":"done"}, expected {"type":"fenced"}.')
  })

  test('finds a store that makes some of the writes', async () => {
    const commit =
      (store: Store): Store['commit'] =>
      async (writes) => {
        for (const [index, write] of writes.entries())
          if ((await store.commit([write])).type === 'conflict') return { type: 'conflict', index }
        return { type: 'done' }
      }
    const run = check('makes none if one conflicts, and names the first', (store) => ({ commit: commit(store) }))
    await expect(run).rejects.toThrow('put-if-absent: found')
  })

  test('finds a store whose reads miss what was committed right before', async () => {
    const run = check('shows a commit to each call that is made after it, also before it has resolved', (store) => ({
      commit: async (writes) => {
        await Promise.resolve()
        return await store.commit(writes)
      },
    }))
    await expect(run).rejects.toThrow('Whether the keys between are new: found [false,"before"]')
  })

  test('finds an engine that forgets what it acknowledged', async () => {
    const clock = createHandClock()
    let memory = createStoreMemory()
    const open = async (): Promise<Store> => createMemoryStore({ clock, memory })
    const crash = async (): Promise<void> => {
      memory = createStoreMemory()
    }
    const clauses = storeContract({ name: 'it', setup: () => ({ ...stageOf(clock, open), crash }) })
    const clause = 'it has what it acknowledged after its engine was killed, and nothing that it rejected'
    await expect(clauses.find(({ name }) => name === clause)?.run()).rejects.toThrow('acknowledged but are lost')
  })

  test('finds a store that loses everything', async () => {
    const run = check('has everything again when it is opened again', () =>
      createMemoryStore({ clock: createHandClock() }),
    )
    await expect(run).rejects.toThrow('The keys: found []')
  })
})

function stageOf(
  clock: ReturnType<typeof createHandClock>,
  open: () => Promise<Store>,
  remove?: () => Promise<void>,
): StoreStage {
  const opened: Store[] = []
  return {
    pass: async (ms) => await clock.advance(ms),
    open: async () => {
      const store = await open()
      opened.push(store)
      return store
    },
    close: async () => {
      await Promise.all(opened.map((store) => store.close()))
      await remove?.()
    },
  }
}
