import type { Demand } from '@reply/core/testing'
import { type CommitOptions, type Committed, type Store, StoreError, type Write } from '../../store/store.ts'
import {
  beatForLease,
  commitDone,
  enqueue,
  idsIn,
  put,
  requireEqual,
  type StoreNetwork,
  type StoreStage,
  takeFreeLease,
} from './stage.ts'

/** The result of a commit, or the type of the error that it rejected with. */
type Outcome = Committed['type'] | StoreError['type']

/** Clauses about an engine that crashes, that is slow or out of reach, and whose answers are lost. */
export const faultClauses = [
  {
    name: 'has what it acknowledged after its engine was killed, and nothing that it rejected',
    needs: canCrash,
    run: async (stage) => await commitAndCrash(stage, 'machine'),
  },
  {
    name: 'has what need not survive a crash of the machine after its engine was killed, because a process may go on',
    needs: canCrash,
    run: async (stage) => await commitAndCrash(stage, 'process'),
  },
  {
    name: 'finds out that a commit was made whose answer was lost',
    needs: hasNetwork,
    run: async (stage) => {
      const { store, network } = await overNetwork(stage)
      network.loseAnswer('lost')
      const once: readonly Write[] = [{ type: 'put-if-absent', key: 'key', value: 'lost' }, enqueue('1')]
      requireEqual(await store.commit(once), { type: 'done' }, 'The commit')
      requireEqual([await store.read('key'), await idsIn(store)], ['lost', ['1']], 'What was written')
      network.loseAnswer('lost')
      requireEqual(await store.commit(once), { type: 'conflict', index: 0 }, 'A commit that conflicts')
    },
  },
  {
    name: 'makes a commit once that was lost on its way',
    needs: hasNetwork,
    run: async (stage) => {
      const { store, network } = await overNetwork(stage)
      network.loseCommit('lost')
      requireEqual(await outcomeOf(store.commit([enqueue('1', 'lost'), put('key', '1')])), 'done', 'The commit')
      requireEqual([await store.read('key'), await idsIn(store)], ['1', ['1']], 'What was written')
    },
  },
  {
    name: 'keeps the order of calls behind a commit whose answer was lost',
    needs: hasNetwork,
    run: async (stage) => {
      const { store, network } = await overNetwork(stage)
      network.loseAnswer('lost')
      const lost = outcomeOf(store.commit([put('key', 'lost')]))
      const next = outcomeOf(store.commit([{ type: 'compare-and-set', key: 'key', expected: 'lost', value: 'next' }]))
      const read = store.read('key')
      requireEqual(await Promise.all([lost, next, read]), ['done', 'done', 'next'], 'The calls')
    },
  },
  {
    name: 'fences a commit that was on its way when another took the lease',
    needs: hasNetwork,
    run: async (stage) => {
      const { store, network } = await overNetwork(stage)
      const other = await stage.open()
      const lease = await takeFreeLease(store, 'one')
      // A commit is only on its way over an open connection.
      await commitDone(store, [put('key', 'first')], lease)
      await network.cutOff()
      const late = outcomeOf(store.commit([put('key', 'late'), enqueue('late')], lease))
      await stage.pass(1000)
      const next = await takeFreeLease(other, 'other')
      await commitDone(other, [put('key', 'of the other')], next)
      await network.restore()
      requireEqual(await late, 'fenced', 'The late commit')
      requireEqual([await other.read('key'), await idsIn(other)], ['of the other', []], 'What was written')
    },
  },
  {
    name: 'decides by its own clock, whatever the clocks of its users show',
    needs: (stage) => stage.skew !== undefined,
    run: async (stage) => {
      const one = await stage.open()
      const lease = await takeFreeLease(one, 'one')
      await commitDone(one, [put('short', 'value', 1000)], lease)
      for (const ms of [60_000, -60_000]) {
        stage.skew?.(ms)
        const other = await stage.open()
        requireEqual(await beatForLease(other, 'other'), undefined, 'A lease that another holds')
        requireEqual(await other.read('short'), 'value', 'A value before its end')
        requireEqual(await other.sweep(), 0, 'Swept before the end')
        await commitDone(other, [put(`${ms}`, 'value', 1000)])
        requireEqual(await one.read(`${ms}`), 'value', 'A value that the other wrote')
      }
      await stage.pass(1000)
      requireEqual(await one.list(''), [], 'The keys after the end')
      await takeFreeLease(one, 'other')
    },
  },
  {
    name: 'answers rightly, however slow its engine is',
    needs: hasNetwork,
    run: async (stage) => {
      const { store, network } = await overNetwork(stage)
      network.delay(150)
      const lease = await takeFreeLease(store, 'one', 60_000)
      const commits = ['1', '2', '3'].map((id) => store.commit([enqueue(id), put('key', id)], lease))
      const read = store.read('key')
      requireEqual(await Promise.all(commits.map(outcomeOf)), ['done', 'done', 'done'], 'The commits')
      requireEqual([await read, await idsIn(store)], ['3', ['1', '2', '3']], 'What was written')
      requireEqual((await takeFreeLease(store, 'one', 60_000)).fence, lease.fence, 'The fence of a renewal')
    },
  },
  {
    name: 'rejects calls as busy while its engine is out of reach, and goes on when it is back',
    needs: hasNetwork,
    run: async (stage) => {
      const { store, network } = await overNetwork(stage)
      const other = await stage.open()
      await commitDone(store, [enqueue('before')])
      await network.cutOff()
      // It was sent, so only the engine knows whether it was made.
      const sent = outcomeOf(store.commit([enqueue('sent')]))
      requireEqual(await typeOfRejection(beatForLease(store, 'one')), 'busy', 'A beat')
      let read: Outcome | undefined
      while (read === undefined) read = await typeOfRejection(store.read('key'))
      requireEqual(read, 'busy', 'A read')
      requireEqual(await outcomeOf(store.commit([enqueue('refused')])), 'busy', 'A commit that was not sent')
      await network.restore()
      requireEqual(await sent, 'done', 'The commit that was sent')
      await commitDone(store, [enqueue('after')])
      requireEqual(await idsIn(other), ['before', 'sent', 'after'], 'The queue')
      await takeFreeLease(store, 'one')
    },
  },
] as const satisfies readonly Demand<StoreStage>[]

/** Whether the engine has something after a crash. */
function canCrash(stage: StoreStage): boolean {
  return stage.crash !== undefined
}

/** Kills the engine while it commits. Throws if it then lacks what it acknowledged, or has what it rejected. */
async function commitAndCrash(stage: StoreStage, survives: CommitOptions['survives']): Promise<void> {
  const store = await stage.open()
  const outcomes = new Map<string, Outcome>()
  let isKilled = false
  /** Commits one entry after the other until one is rejected, or the engine was killed. */
  const commitAll = async (name: string): Promise<void> => {
    for (let index = 0; !isKilled; index++) {
      const id = `${name}${index}`
      const outcome = await outcomeOf(store.commit([enqueue(id), put(id, 'value')], undefined, { survives }))
      outcomes.set(id, outcome)
      if (outcome !== 'done') return
      await turn()
    }
  }
  const committing = Promise.all(['a', 'b', 'c'].map(commitAll))
  while (outcomes.size < 20) await turn()
  await stage.crash?.()
  isKilled = true
  await committing
  const after = await stage.open()
  const ids = await idsIn(after)
  const wrong = [...outcomes].filter(([id, outcome]) => {
    // A store that ended with its engine can't tell.
    return outcome !== 'closed' && (outcome === 'done') !== ids.includes(id)
  })
  requireEqual(wrong, [], 'The commits that were acknowledged but are lost, or rejected but made')
  requireEqual((await after.list('')).map(({ key }) => key).toSorted(), [...ids].toSorted(), 'The keys')
  await commitDone(after, [enqueue('after')])
}

/** Whether there is a network between a store and its engine. */
function hasNetwork(stage: StoreStage): boolean {
  return stage.openOverNetwork !== undefined
}

/** Opens the state over a network of its own. */
async function overNetwork(stage: StoreStage): Promise<{ readonly store: Store; readonly network: StoreNetwork }> {
  const opened = await stage.openOverNetwork?.()
  if (!opened) throw new Error('The stage has no network.')
  return opened
}

/** Resolves with the result of a commit, or the type of its error. */
async function outcomeOf(commit: Promise<Committed>): Promise<Outcome> {
  return await commit.then(({ type }) => type, typeOf)
}

/** Resolves with the type of the error that a call rejects with. Undefined if it resolves. */
async function typeOfRejection(call: Promise<unknown>): Promise<StoreError['type'] | undefined> {
  return await call.then(() => undefined, typeOf)
}

/** Returns the type of a store's error. Throws any other one. */
function typeOf(error: unknown): StoreError['type'] {
  if (error instanceof StoreError) return error.type
  throw error
}

/** Resolves after this turn of the event loop. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0))
}
