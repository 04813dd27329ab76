import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'
import {
  createMemoryStore,
  createStoreMemory,
  type StoreClauseName,
  type StoreStage,
  storeContract,
} from '../src/testing.ts'

const setups: readonly [string, () => StoreStage | Promise<StoreStage>][] = [
  [
    'the memory store',
    () => {
      const [clock, memory] = [createHandClock(), createStoreMemory()]
      return stageOf(clock, async () => createMemoryStore({ clock, memory }))
    },
  ],
  [
    'the SQLite store',
    async () => {
      const [clock, folder] = [createHandClock(), await mkdtemp(join(tmpdir(), 'reply-bridge-'))]
      return stageOf(
        clock,
        () => sqliteStore({ folder, clock }),
        () => rm(folder, { recursive: true }),
      )
    },
  ],
]

describe.each(setups)('%s', (name, setup) => {
  const clauses = storeContract({ name, setup })
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
    await expect(run).rejects.toThrow('The keys between: found ["before","before"], expected ["one",null].')
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
