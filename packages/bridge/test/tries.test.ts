import { createHandClock } from '@reply/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { createTries, createTurns, type Turns } from '../src/failed/tries.ts'
import { type Suspicion, toExecution, toFailure, toQueuedPrompt, toSuspicion } from '../src/state/decode.ts'
import type { Execution } from '../src/state/execution.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { isTried, withNextTry, withoutLastTry } from '../src/state/tried.ts'
import type { Store, Write } from '../src/store/store.ts'
import { createMemoryStore } from '../src/testing.ts'
import { texts } from '../src/texts.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'
import { keyOfChat, telegramChat } from './shard-rows.ts'
import { stateOf } from './state-of.ts'

const prompt: QueuedPrompt = {
  ...{ channel: 'telegram', chat: { id: '1' }, id: '9', actor: { id: '1', name: 'Ann' }, text: 'Go on', files: [] },
  ...{ isCommand: false, messageRef: { id: '9' }, receivedAt: 1 },
}
const execution: Execution = {
  ...{ id: 'abc123', prompt, server: 'home', sessionID: 'ses_1', phase: 'posting', status: 'running', startedAt: 1 },
}

describe('the count of tries', () => {
  test('is read with rows that have one, and rows without one are read as before', () => {
    for (const tries of [undefined, 0, 3]) {
      const [queued, run] = [JSON.stringify({ ...prompt, tries }), JSON.stringify({ ...execution, tries })]
      expect(toQueuedPrompt(queued)).toEqual(JSON.parse(queued))
      expect(toExecution(run)).toEqual(JSON.parse(run))
      expect([toQueuedPrompt(queued).tries, toExecution(run).tries]).toEqual([tries, tries])
    }
  })

  test.each([-1, 1.5, '2', true, null])('%s is none, so the row can’t be read', (tries) => {
    expect(() => toQueuedPrompt(JSON.stringify({ ...prompt, tries }))).toThrow()
    expect(() => toExecution(JSON.stringify({ ...execution, tries }))).toThrow()
  })

  test('of a row that was put aside is part of it', () => {
    const row = { type: 'poison', key: 'inbox/tg/1/', id: '9', value: '{}', tries: 3, at: 1 } as const
    expect(toFailure(JSON.stringify(row))).toEqual(row)
    expect(() => toFailure(JSON.stringify({ ...row, tries: undefined }))).toThrow()
  })

  test('counts the first process, which did not store it, and not one that stops gracefully', () => {
    expect([prompt, withNextTry(prompt), withNextTry(withNextTry(prompt))].map(({ tries }) => tries)).toEqual([
      ...[undefined, 2, 3],
    ])
    const stopped = withoutLastTry(prompt)
    expect([stopped.tries, withNextTry(stopped).tries]).toEqual([0, 1])
    expect(withoutLastTry(withNextTry(stopped))).toEqual(stopped)
    expect([prompt, stopped, withNextTry(stopped)].map(isTried)).toEqual([false, false, true])
  })
})

/** Returns the tries of a process that has just started. */
async function startProcess(store: Store = createMemoryStore({ clock: createHandClock() }), turns?: Turns) {
  const clock = createHandClock()
  const failed = {
    pendingFor: () => ({ type: 'delivery' }) as never,
    ...{ write: () => [], replyPending: async () => {}, emitCounts: async () => {} },
  }
  const errors: string[] = []
  const onError = ({ message }: Error) => errors.push(message)
  // In the order in which they are found, after a pause that is over once timers run.
  const own = turns ?? createTurns(clock, () => 0)
  const tries = createTries({ state: stateOf(store), failed, turns: own, clock, onError })
  await tries.load()
  const stored = async (): Promise<Readonly<Record<string, Suspicion>>> => {
    await clock.advance(0)
    return await suspicionsIn(store)
  }
  return { clock, store, tries, turns: own, errors, stored }
}

async function suspicionsIn(store: Store): Promise<Readonly<Record<string, Suspicion>>> {
  const rows = await store.list('suspect/')
  return Object.fromEntries(rows.map(({ key, value }) => [key.slice('suspect/'.length), toSuspicion(value)]))
}

/** Returns a store that has what is known of rows. */
async function withSuspicions(suspicions: Readonly<Record<string, Suspicion>>): Promise<Store> {
  const store = createMemoryStore({ clock: createHandClock() })
  for (const [key, one] of Object.entries(suspicions))
    await store.commit([{ type: 'put', key: `suspect/${key}`, value: JSON.stringify(one) }])
  return store
}

const forEver = async (): Promise<void> => await new Promise(() => {})
const put = { type: 'put', key: 'row', value: '' } as const

describe('what is known of a row', () => {
  test('is one point more after each process that ends within half a second, and five put it aside', async () => {
    let store: Store | undefined
    for (let points = 0; points < 5; points++) {
      const { tries, clock, ...one } = await startProcess(store)
      store = one.store
      expect(tries.next('row', {})).toEqual({ tries: 2 })
      expect(tries.isHeld('row')).toBe(points > 0)
      void tries.make('row', [put], forEver)
      await expect.poll(one.stored).toMatchObject({ row: { level: 0, points, stage: 'begun' } })
      await clock.advance(499)
    }
    const { tries, errors } = await startProcess(store)
    expect(tries.next('row', {})).toBeUndefined()
    const row = { key: 'row', value: 'x', tries: 6 }
    await tries.putAside('row', [row], { execution, text: '', removal: [{ type: 'remove', key: 'row' }] })
    expect(await store?.list('suspect/')).toEqual([])
    expect((await store?.list('failed/'))?.map(({ key }) => key)).toEqual(['failed/poison/row'])
    expect(errors).toEqual([expect.stringContaining('which 6 processes did')])
  })

  test('begins anew once a process has outlived it for longer', async () => {
    const { tries, clock, store, stored } = await startProcess(await withSuspicions({ row: { level: 0, points: 4 } }))
    void tries.make('row', [put], forEver)
    await expect.poll(stored).toMatchObject({ row: { points: 4, stage: 'begun' } })
    await clock.advance(500)
    await expect.poll(stored).toMatchObject({ row: { level: 1, points: 0, stage: 'late' } })
    await clock.advance(499)
    expect(await stored()).toMatchObject({ row: { level: 1 } })
    await clock.advance(1)
    await expect.poll(stored).toMatchObject({ row: { level: 2, points: 0, stage: 'late' } })
    // It ends now, as soon as level 2 lasts, and the next one much sooner.
    const next = await startProcess(store)
    await next.tries.begin([put])
    next.tries.watch('row', forEver())
    expect(await stored()).toMatchObject({ row: { level: 2, points: 1, stage: 'begun' } })
    await next.clock.advance(799)
    expect(await stored()).toMatchObject({ row: { stage: 'begun' } })
    await startProcess(store).then(async ({ tries: after }) => await after.begin([put]))
    expect(await stored()).toMatchObject({ row: { level: 2, points: 0 } })
  })

  test('is that it can be handled for as long as it takes, after 64 seconds', async () => {
    const { tries, clock, store, stored } = await startProcess()
    await tries.begin([put])
    tries.watch('row', forEver())
    for (let half = 0; half < 130; half++) await clock.advance(500)
    await expect.poll(stored).toMatchObject({ row: { level: 8 } })
    for (let nth = 0; nth < 30; nth++) {
      const one = await startProcess(store)
      expect([one.tries.next('row', {}), one.tries.isHeld('row')]).toEqual([{ tries: 2 }, false])
      await one.tries.begin([put])
    }
  })

  test('stays as it is if the same process goes on, or one that stops gracefully', async () => {
    const { tries, turns, store, stored } = await startProcess()
    void tries.make('row', [put], forEver)
    await expect.poll(stored).toMatchObject({ row: { stage: 'begun' } })
    const again = await startProcess(store, turns)
    void again.tries.make('row', [put], forEver)
    await expect.poll(stored).toMatchObject({ row: { points: 0, stage: 'begun' } })
    await again.tries.giveBack(() => [[{ type: 'put', key: 'row', value: 'given back' }]])
    expect([await stored(), await store.read('row')]).toEqual([{ row: { level: 0, points: 0 } }, 'given back'])
  })

  test('is given back with writes that are made right before they are committed, of the newest row', async () => {
    const { tries, store } = await startProcess()
    let value = 'before'
    void tries.begin([put])
    const givenBack = tries.giveBack(() => [[{ type: 'put', key: 'row', value }]])
    value = 'after'
    await givenBack
    expect(await store.read('row')).toBe('after')
  })

  test('is removed once the row was handled', async () => {
    const { tries, stored, store } = await startProcess()
    await tries.make('row', [put], async () => expect(await stored()).toMatchObject({ row: { stage: 'begun' } }))
    await expect.poll(stored).toEqual({})
    await tries.make('row', [{ type: 'put-if-absent', key: 'row', value: '' }], async () => expect.unreachable())
    await expect.poll(async () => await store.list('suspect/')).toEqual([])
  })
})

describe('rows with points', () => {
  const names = Array.from({ length: 16 }, (_, nth) => `row ${nth}`)

  /** Begins 16 rows with as many points, and returns those that are begun in each second. */
  async function groupsWith(points: number): Promise<readonly number[]> {
    const known = Object.fromEntries(names.map((name) => [encodeURIComponent(name), { level: 0, points }]))
    const { tries, clock } = await startProcess(await withSuspicions(known))
    const groups: number[] = []
    let begun = 0
    for (const name of names)
      void tries.make(name, [], async () => {
        begun++
        await forEver()
      })
    while (begun < names.length) {
      const before = begun
      await expect
        .poll(async () => {
          await clock.advance(0)
          return begun
        })
        .toBeGreaterThan(before)
      // Those of a group are begun one right after the other.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      groups.push(begun - before)
      await clock.advance(1000)
    }
    return groups
  }

  test('wait for each other: the more points, the fewer are begun together, and one at a time before the last points', async () => {
    expect(await groupsWith(0)).toEqual([16])
    expect(await groupsWith(1)).toEqual([4, 3, 2, 1, 1, 1, 1, 1, 1, 1])
    expect(await groupsWith(3)).toEqual(names.map(() => 1))
  })

  test('wait for a random while first, and an end by then takes points back', async () => {
    const store = await withSuspicions({ row: { level: 1, points: 4 } })
    const first = await startProcess(store)
    const { tries, clock, stored } = await startProcess(
      store,
      createTurns(first.clock, () => 0.5),
    )
    void tries.make('row', [put], forEver)
    await expect.poll(stored).toMatchObject({ row: { points: 4, stage: 'paused' } })
    await clock.advance(10_000)
    await first.clock.advance(999)
    expect(await stored()).toMatchObject({ row: { stage: 'paused' } })
    const next = await startProcess(store)
    expect(next.tries.isHeld('row')).toBe(true)
    await first.clock.advance(1)
    await expect.poll(stored).toMatchObject({ row: { stage: 'begun' } })
    const last = await startProcess(store)
    await last.tries.begin([put])
    expect(await stored()).toMatchObject({ row: { level: 1, points: 2 } })
  })

  test('are not begun after a graceful stop', async () => {
    const { tries, stored } = await startProcess(
      await withSuspicions({ one: { level: 0, points: 4 }, two: { level: 0, points: 4 } }),
    )
    void tries.make('one', [], forEver)
    const two = tries.make('two', [], async () => expect.unreachable())
    await expect.poll(stored).toMatchObject({ one: { stage: 'begun' } })
    await tries.giveBack(() => [])
    await two
    expect(await stored()).toEqual({ one: { level: 0, points: 4 }, two: { level: 0, points: 4 } })
  })
})

let open: HandDriven | undefined
/** Lets a commit go on that a test holds. */
let unstick = (): void => {}
afterEach(async () => {
  unstick()
  await open?.chats.close()
  open = undefined
})

/** Returns a key or queue of chat 1 as the store has it. */
const inChat = (key: string): string => keyOfChat(telegramChat(1), key)

/** Adds rows of chat 1 to a state before its bridge starts. */
function withRows(rows: Readonly<Record<string, string>>, changed: (store: Store) => Store = (one) => one) {
  return (given: Store): Store => {
    const store = changed(given)
    const puts = Object.entries(rows).map(([key, value]) => ({ type: 'put', key: inChat(key), value }) as const)
    const added = store.commit(puts)
    return { ...store, beat: async (request) => await added.then(() => store.beat(request)) }
  }
}

/** What was learned of a row that has ended five processes. */
function poisonous(key: string): Readonly<Record<string, string>> {
  return { [`suspect/${encodeURIComponent(key)}`]: JSON.stringify({ level: 0, points: 5 }) }
}

/** What the next process finds of runs that have ended five, and which sessions it aborts. */
async function startAfterKills(left: readonly Execution[], abort = async (): Promise<void> => {}) {
  const rows = left.map((one): Readonly<Record<string, string>> => {
    const key = `execution/telegram/1//${one.id}`
    return { [key]: JSON.stringify({ ...one, tries: 3 }), ...poisonous(key) }
  })
  return await startWithStops(Object.assign({}, ...rows), abort)
}

/** Starts a bridge on a state with these rows. Its agent only tells which sessions are aborted. */
async function startWithStops(rows: Readonly<Record<string, string>>, abort = async (): Promise<void> => {}) {
  const aborted: unknown[] = []
  let store: Store | undefined
  const driven = await startHandDriven((run, text) => answer(run, `Done: ${text}`), {
    storeOf: withRows(rows, (one) => {
      store = one
      return one
    }),
    changed: (client) => ({
      ...client,
      reply: async () => undefined,
      abort: async (target) => {
        aborted.push(target)
        await abort()
      },
    }),
  })
  open = driven
  if (!store) throw new Error('There is no store.')
  return { ...driven, store, aborted, said: () => driven.said(1) }
}

const finished = { status: 'complete', finishedAt: 2 } as const

test.each([
  ['was not posted', { ...execution, phase: 'planned' }, texts.poisonMessage, []],
  ['may have run', execution, texts.poisonRun, ['ses_1']],
  ['was not prompted', { ...execution, phase: 'delivering', startedBy: 'msg_1' }, texts.poisonRun, ['ses_1']],
  ['has ended', { ...execution, phase: 'delivering', ...finished }, texts.poisonAnswer, []],
] as const)(
  'a run that is put aside and %s is over and stopped, and its chat is told that',
  async (_, left, text, stops) => {
    const { store, said, aborted, passes } = await startAfterKills([left])
    await passes(() => said().length > 0)
    expect(said()).toEqual([text])
    expect(aborted).toEqual(stops)
    await expect
      .poll(async () => (await store.list('execution/')).map(({ value }) => toExecution(value)))
      .toMatchObject([{ phase: 'done', status: 'error', reason: texts.poisonReason }])
    const failures = await store.list('failed/')
    expect(failures.map(({ value }) => toFailure(value))).toMatchObject([{ type: 'poison', tries: 3 }])
    expect(JSON.parse(JSON.parse(failures[0]?.value ?? '').value)).toMatchObject(left)
    expect(await store.list('suspect/')).toEqual([])
    await expect.poll(async () => await store.list('stopping/')).toEqual([])
  },
)

test('a run that was put aside by a process that ended before it stopped the agent is stopped by the next one', async () => {
  const first = await startAfterKills([execution], forEver)
  await first.passes(() => first.aborted.length > 0)
  const left = await first.store.list('stopping/')
  expect(left).toHaveLength(1)
  await first.chats.close()
  const { telegram, passes, said, aborted, store } = await startWithStops({ [stopKey]: left[0]?.value ?? '' })
  telegram.say(1, 'next')
  await passes(() => said().includes('Done: next'))
  expect(aborted).toEqual(['ses_1'])
  expect(await store.list('stopping/')).toEqual([])
})

test('two runs of one session that are put aside don’t keep each other’s agent at work', async () => {
  const { passes, said, aborted, store } = await startAfterKills([execution, { ...execution, id: 'abc124' }])
  await passes(() => said().length > 1)
  expect(aborted).toEqual(['ses_1', 'ses_1'])
  await expect.poll(async () => await store.list('stopping/')).toEqual([])
})

const stopKey = 'stopping/telegram/1//abc123'

test('a stop is counted before it is made', async () => {
  const { passes, aborted, store } = await startWithStops({ [stopKey]: JSON.stringify(execution) }, forEver)
  await passes(() => aborted.length > 0, 0)
  const [known] = await store.list('suspect/')
  expect(known?.key).toContain(encodeURIComponent(stopKey))
  expect(toSuspicion(known?.value ?? '')).toMatchObject({ level: 0, points: 0, stage: 'begun' })
})

test('a stop that ended each process which made it is not made any more, and the chat goes on', async () => {
  const rows = { [stopKey]: JSON.stringify(execution), ...poisonous(stopKey) }
  const { telegram, passes, said, aborted, store } = await startWithStops(rows)
  telegram.say(1, 'next')
  await passes(() => said().includes('Done: next'))
  expect(said()).toEqual([texts.notStopped(texts.stopEndsBridge), 'Done: next'])
  expect([aborted, await store.list('stopping/')]).toEqual([[], []])
})

test('a stop of an earlier process closes the messages of its run', async () => {
  const driven = await startHandDriven((run) => run.write({ type: 'text', delta: 'Working on it.' }), {
    changed: (client) => ({ ...client, reply: async () => undefined, abort: async () => {} }),
  })
  open = driven
  const { telegram, chats, clock, passes, said, stop } = driven
  telegram.say(1, 'go')
  await passes(() => said(1).includes('Working on it.'))
  await stop()
  let store: Store | undefined
  await chats.start({
    clock,
    storeOf: (given) => {
      store = given
      const isAside = given.list('execution/').then(async (rows) => {
        const stops = rows.map(({ key, value }): Write[] => [
          { type: 'put', key: key.replace('execution/', 'stopping/'), value },
          { type: 'remove', key },
        ])
        await given.commit(stops.flat())
      })
      return { ...given, beat: async (request) => await isAside.then(() => given.beat(request)) }
    },
  })
  await passes(() => said(1).length > 1)
  expect(said(1)).toEqual(['Working on it.', `⚠️ Failed: ${texts.poisonReason}`])
  await expect.poll(async () => await store?.list('stopping/')).toEqual([])
})

test('a bridge that stops gracefully five times puts nothing aside, and does not store tries of what it handles at once', async () => {
  const [stuck, committed]: [string, string[]] = ['stuck', []]
  let isStuck = true
  let store: Store | undefined
  const storeOf = (real: Store): Store => {
    store = real
    const commit: Store['commit'] = async (writes, ...rest) => {
      const moves = writes.some((write) => write.type === 'enqueue' && write.queue.startsWith('prompts/'))
      if (isStuck && moves && JSON.stringify(writes).includes(stuck))
        await new Promise<void>((resolve) => {
          unstick = resolve
        })
      committed.push(JSON.stringify(writes))
      return await real.commit(writes, ...rest)
    }
    return { ...real, commit }
  }
  const driven = await startHandDriven((run, text) => text.includes('wait') || answer(run, `Done: ${text}`), {
    storeOf,
    // What an earlier process posted is not found: its server can't be reached.
    changed: (client) => ({ ...client, resume: async () => await new Promise(() => {}) }),
  })
  open = driven
  const { chats, clock, telegram, said, passes } = driven
  telegram.say(1, 'wait')
  await passes(() => driven.heard.includes('wait'))
  telegram.say(2, 'quick')
  await passes(() => said(2).includes('Done: quick'))
  telegram.say(2, stuck)
  await passes(() => committed.join().includes(stuck))
  // Ledgers count tries of another kind.
  expect(committed.filter((writes) => !writes.includes('ledger/')).join()).not.toContain('\\"tries\\"')
  for (let nth = 1; nth <= 5; nth++) {
    let isStopped = false
    const stopped = chats.stop().then(() => {
      isStopped = true
    })
    await passes(() => isStopped)
    await stopped
    // What it leaves to the next process was not tried in vain.
    for (const left of [keyOfChat(telegramChat(2), 'inbox/telegram/2/'), inChat('execution/telegram/1/')])
      expect(committed.findLast((writes) => writes.includes(left))).toContain('\\"tries\\":0')
    if (nth === 5) isStuck = false
    committed.length = 0
    let isStarted = false
    void chats.start({ clock, storeOf }).then(() => {
      isStarted = true
    })
    // It waits for the run of the server that can't be reached.
    await passes(() => isStarted)
    await passes(() => committed.join().includes(stuck))
    // Counted before it is handled again.
    expect(committed.find((writes) => writes.includes(stuck))).toContain('\\"tries\\":1')
  }
  await passes(() => said(2).includes(`Done: ${stuck}`))
  expect(await store?.list('failed/')).toEqual([])
})

test('a bridge that stops before it follows the runs of an earlier process undoes their tries', async () => {
  open = await startHandDriven((run, text) => answer(run, `Done: ${text}`))
  const { chats, clock, passes } = open
  await chats.stop()
  const key = 'execution/telegram/1//abc123'
  const stored: unknown[] = []
  const storeOf = withRows({ [key]: JSON.stringify({ ...execution, tries: 1 }) }, (one) => ({
    ...one,
    // What is read once the tries are stored takes for ever.
    list: async (prefix) => await (prefix.startsWith('newest/') ? new Promise(() => {}) : one.list(prefix)),
    commit: async (writes, ...rest) => {
      for (const write of writes)
        if ('key' in write && write.key === inChat(key) && 'value' in write)
          stored.push(toExecution(write.value ?? '').tries)
      return await one.commit(writes, ...rest)
    },
  }))
  void chats.start({ clock, storeOf }).catch(() => {})
  await passes(() => stored.at(-1) === 2)
  await open.stop()
  expect(stored).toEqual([1, 2, 1])
})

test.each([
  ['message', `inbox/telegram/1//#1`, {}],
  [
    'run',
    'execution/telegram/1//abc123',
    { 'execution/telegram/1//abc123': JSON.stringify({ ...execution, tries: 3 }) },
  ],
] as const)('a chat is told of a %s that was put aside before what comes after it', async (what, row, rows) => {
  const driven = await startHandDriven((run, text) => answer(run, `Done: ${text}`), {
    changed: (client) => ({ ...client, reply: async () => undefined, abort: async () => {} }),
  })
  open = driven
  const { chats, clock, telegram, said, passes } = driven
  await chats.stop()
  const left = what === 'message' ? ['poison', 'after it'] : ['after it']
  const added = left.map((text, at): Write => {
    const id = `${at + 1}`
    const value = JSON.stringify({ ...prompt, id, text, messageRef: { id }, receivedAt: clock.now() })
    return { type: 'enqueue', queue: inChat('inbox/telegram/1/'), id, value }
  })
  const storeOf = withRows({ ...rows, ...poisonous(row) }, (store) => ({
    ...store,
    commit: async (writes, ...rest) => await store.commit([...writes, ...added.splice(0)], ...rest),
  }))
  // The answer could take the first turn after the pause.
  telegram.inject({ type: 'rate-limited', retryAfterS: 1, chatId: 1, method: /^send(Rich)?Message$/ })
  const started = chats.start({ clock, storeOf })
  await passes(() => said(1).length === 2)
  await started
  expect(said(1)).toEqual([what === 'message' ? texts.poisonMessage : texts.poisonRun, 'Done: after it'])
})

const missing = {
  ...{ type: 'delivery', id: 'abc123', channel: 'telegram', chat: { id: '1' }, server: 'home', missing: 1 },
  ...{ reason: 'It did not arrive.', text: 'The answer', at: 1 },
} as const
const missingKey = 'failed/delivery/telegram/1//abc123'

/** Starts a bridge on a state with the missing answer, after `fail` could make the platform fail. */
async function startWithMissing(
  tries: number | undefined,
  more: Readonly<Record<string, string>> = {},
  fail: (telegram: HandDriven['telegram']) => void = () => {},
) {
  const driven = await startHandDriven((run, text) => answer(run, `Done: ${text}`))
  open = driven
  await driven.chats.stop()
  fail(driven.telegram)
  let store: Store | undefined
  const changes: string[] = []
  const rows = { [missingKey]: JSON.stringify({ ...missing, tries }), ...more }
  const storeOf = withRows(rows, (one) => {
    store = {
      ...one,
      commit: async (writes, ...rest) => {
        for (const write of writes) if (write.type === 'compare-and-set') changes.push(write.value ?? '')
        return await one.commit(writes, ...rest)
      },
    }
    return store
  })
  await driven.chats.start({ clock: driven.clock, storeOf })
  return { ...driven, stored: async () => toFailure((await store?.read(inChat(missingKey))) ?? ''), changes }
}

test('what a chat is told about a missing answer is counted before, and not any more once the process outlived it', async () => {
  const { said, passes, stored, changes } = await startWithMissing(undefined, {}, (telegram) => {
    telegram.inject({ type: 'status', code: 502, chatId: 1, method: /^send(Rich)?Message$/, times: 4 })
  })
  await passes(() => said(1).length > 0)
  expect(said(1)).toEqual([texts.undelivered(['abc123'])])
  await expect.poll(stored).toMatchObject({ isReported: true })
  const counts = changes.map((value) => toFailure(value)).map((one) => one.type === 'delivery' && one.tries)
  expect(counts).toEqual([2, undefined, undefined])
})

test('a chat is not told about a missing answer if that ended the process each time', async () => {
  const { stored, passes, chats, said } = await startWithMissing(3, poisonous('failed/delivery/telegram/1//'))
  await passes(() => chats.errors.length > 0)
  expect(chats.errors.map(({ message }) => message)).toEqual([expect.stringContaining('telegram:1 about runs abc123')])
  expect(await stored()).toMatchObject({ isUntold: true, isReported: true })
  await passes(() => false)
  expect(said(1)).toEqual([])
})
