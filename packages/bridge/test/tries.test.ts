import { createHandClock } from '@reply/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { createTries, createTurns } from '../src/failed/tries.ts'
import { toExecution, toFailure, toQueuedPrompt } from '../src/state/decode.ts'
import type { Execution } from '../src/state/execution.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { isTried, withNextTry, withoutLastTry } from '../src/state/tried.ts'
import type { Store } from '../src/store/store.ts'
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

function setUp(store: Store = createMemoryStore({ clock: createHandClock() })) {
  const clock = createHandClock()
  const failed = {
    pendingFor: () => ({ type: 'delivery' }) as never,
    ...{ write: () => [], replyPending: async () => {}, emitCounts: async () => {} },
  }
  const errors: string[] = []
  const onError = ({ message }: Error) => errors.push(message)
  const tries = createTries({ state: stateOf(store), failed, turns: createTurns(), clock, onError })
  return { clock, store, tries, errors }
}

describe('the last try of a row', () => {
  const stored = { type: 'put', key: 'row', value: '' } as const

  test('is made alone: another waits until it is done, and earlier tries don’t', async () => {
    const { tries, store } = setUp()
    const begun: string[] = []
    const ends: (() => void)[] = []
    const handle = (name: string) => async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
    }
    const one = tries.make('one', { tries: 3 }, [stored], handle('one'))
    const two = tries.make('two', { tries: 3 }, [stored], handle('two'))
    void tries.make('early', { tries: 2 }, [stored], handle('early'))
    await expect.poll(() => begun).toEqual(['early', 'one'])
    expect(await store.read('alone')).toBe('one')
    ends[1]?.()
    await one
    await expect.poll(() => begun).toEqual(['early', 'one', 'two'])
    expect(await store.read('alone')).toBe('two')
    ends[2]?.()
    await two
    expect(await store.read('alone')).toBeUndefined()
  })

  test('lets the next one begin after five seconds, because a run may last for hours', async () => {
    const { tries, store, clock } = setUp()
    const begun: string[] = []
    for (const name of ['one', 'two'])
      void tries.make(name, { tries: 4 }, [stored], async () => {
        begun.push(name)
        await new Promise(() => {})
      })
    await expect.poll(() => begun).toEqual(['one'])
    await clock.advance(4999)
    expect(begun).toEqual(['one'])
    await clock.advance(1)
    await expect.poll(() => begun).toEqual(['one', 'two'])
    expect(await store.read('alone')).toBe('two')
  })

  test('was the last one only if the process ended meanwhile', async () => {
    const { tries, store } = setUp()
    void tries.make('one', { tries: 3 }, [stored], async () => await new Promise(() => {}))
    await expect.poll(async () => await store.read('alone')).toBe('one')
    const next = setUp(store).tries
    await next.load()
    expect(next.next('one', { tries: 3 })).toBeUndefined()
    expect(next.next('two', { tries: 3 })).toEqual({ tries: 4 })
    expect(next.next('two', { tries: 10 })).toBeUndefined()
  })

  test('is not begun after a graceful stop, which takes its name from the store', async () => {
    const { tries, store, clock } = setUp()
    void tries.make('one', { tries: 3 }, [stored], async () => await new Promise(() => {}))
    const two = tries.make('two', { tries: 3 }, [stored], async () => expect.unreachable())
    await expect.poll(async () => await store.read('alone')).toBe('one')
    await tries.giveBack([[{ type: 'put', key: 'row', value: 'given back' }]])
    await clock.advance(5000)
    await two
    expect([await store.read('alone'), await store.read('row')]).toEqual([undefined, 'given back'])
  })

  test('that was never alone leaves others alone when its row is put aside', async () => {
    const { tries, store, errors } = setUp()
    void tries.make('one', { tries: 3 }, [stored], async () => await new Promise(() => {}))
    await expect.poll(async () => await store.read('alone')).toBe('one')
    const row = { key: 'two', value: 'x', tries: 10 }
    await tries.putAside('two', [row], { execution, text: '', removal: [{ type: 'remove', key: 'two' }] })
    expect(await store.read('alone')).toBe('one')
    expect((await store.list('failed/')).map(({ key }) => key)).toEqual(['failed/poison/two'])
    expect(errors).toEqual([expect.stringContaining('10 times in all')])
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

/** What the next process finds of a run that was handled alone when the last one was killed. */
async function startAfterKill(left: Execution): Promise<{ store: Store; said: () => readonly string[] }> {
  const key = 'execution/telegram/1//abc123'
  let store: Store | undefined
  open = await startHandDriven((run, text) => answer(run, `Done: ${text}`), {
    storeOf: withRows({ [key]: JSON.stringify({ ...left, tries: 3 }), alone: key }, (one) => {
      store = one
      return one
    }),
  })
  const { passes, said } = open
  await passes(() => said(1).length > 0)
  if (!store) throw new Error('There is no store.')
  return { store, said: () => said(1) }
}

const finished = { status: 'complete', finishedAt: 2 } as const

test.each([
  ['was not posted', { ...execution, phase: 'planned' }, texts.poisonMessage],
  ['may have run', execution, texts.poisonRun],
  ['was not prompted', { ...execution, phase: 'delivering', startedBy: 'msg_1' }, texts.poisonRun],
  ['has ended', { ...execution, phase: 'delivering', ...finished }, texts.poisonAnswer],
] as const)('a run that is put aside and %s is over, and its chat is told that', async (_, left, text) => {
  const { store, said } = await startAfterKill(left)
  expect(said()).toEqual([text])
  await expect
    .poll(async () => (await store.list('execution/')).map(({ value }) => toExecution(value)))
    .toMatchObject([{ phase: 'done', status: 'error', reason: texts.poisonReason }])
  const failures = await store.list('failed/')
  expect(failures.map(({ value }) => toFailure(value))).toMatchObject([{ type: 'poison', tries: 3 }])
  expect(JSON.parse(JSON.parse(failures[0]?.value ?? '').value)).toMatchObject(left)
  expect(await store.read(inChat('alone'))).toBeUndefined()
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
  const { stored, passes, chats, said } = await startWithMissing(3, { alone: 'failed/delivery/telegram/1//' })
  await passes(() => chats.errors.length > 0)
  expect(chats.errors.map(({ message }) => message)).toEqual([expect.stringContaining('telegram:1 about runs abc123')])
  expect(await stored()).toMatchObject({ isUntold: true, isReported: true })
  await passes(() => false)
  expect(said(1)).toEqual([])
})
