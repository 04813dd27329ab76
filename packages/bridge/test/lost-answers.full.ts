import { pause } from '@reply/core/internal'
import { createHandClock, type HandClock } from '@reply/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type Store, StoreError, type Write } from '../src/store/store.ts'
import { texts } from '../src/texts.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

const inQueue =
  (type: 'enqueue' | 'dequeue', queue: string) =>
  (write: Write): boolean =>
    write.type === type && write.queue.startsWith(queue)
const inPhase =
  (phase: string) =>
  (write: Write): boolean =>
    write.type === 'put' && write.key.startsWith('execution/') && JSON.parse(write.value).phase === phase

/** Each kind of commit from a message to its answer. */
const kinds = {
  'that takes a message': inQueue('enqueue', 'inbox/'),
  'that queues a prompt': inQueue('enqueue', 'prompts/'),
  'that takes a prompt from its queue': inQueue('dequeue', 'prompts/'),
  'before the post': inPhase('posting'),
  'after the run': inPhase('delivering'),
  'at the end': inPhase('done'),
  'of a ledger': (write: Write) => write.type === 'put' && write.key.startsWith('ledger/'),
} as const

/** For how long the store fails from the first commit of that kind on, in ms: also for longer than its lease. */
const failures = { once: 0, 'for a while': 3000, 'for longer than the lease': 20_000 } as const

/** A store that loses the first commit of a kind on the way, or finds out late that it was made. */
function losing(clock: HandClock, isOf: (write: Write) => boolean, how: 'made' | { readonly failsMs: number }) {
  let failsUntil: number | undefined
  const fails = (): boolean => failsUntil !== undefined && clock.now() < failsUntil
  const full = (): StoreError => new StoreError('failed', 'The disk is full.')
  const storeOf = (store: Store): Store => ({
    ...store,
    lease: async (request) => {
      if (fails()) throw full()
      return await store.lease(request)
    },
    commit: async (writes, lease, options) => {
      const isFirst = failsUntil === undefined && writes.some(isOf)
      if (isFirst) failsUntil = clock.now() + (how === 'made' ? 0 : how.failsMs)
      if (fails() || (isFirst && how !== 'made')) throw full()
      const made = await store.commit(writes, lease, options)
      if (isFirst) await pause(clock, 3000)
      return made
    },
  })
  return { fails, storeOf }
}

/** The message is answered once, or refused and never run, also after a restart. Resolves with which. */
async function outcomeOf(...[isOf, how]: [(write: Write) => boolean, Parameters<typeof losing>[2]]): Promise<string> {
  const clock = createHandClock()
  const ends: string[] = []
  const { fails, storeOf } = losing(clock, isOf, how)
  open = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), {
    clock,
    storeOf,
    onEnd: ({ type }) => ends.push(type),
  })
  const { telegram, heard, passes, chats } = open
  const said = (): readonly string[] => open.said(1).filter((one) => !isBesides.test(one))
  const isAnswered = (what: string): boolean => said().includes(`You said: ${what}.`)
  telegram.say(1, 'first')
  await passes(() => isAnswered('first') || said().includes(texts.notTaken))
  const isRefused = said().includes(texts.notTaken)
  // Nothing is stranded: what comes next runs, and the first before it.
  await passes(() => !fails())
  telegram.say(1, 'second')
  await passes(() => isAnswered('second'))
  await chats.stop()
  await chats.start({ clock })
  telegram.say(1, 'third')
  await passes(() => isAnswered('third'))
  const all = isRefused ? ['second', 'third'] : ['first', 'second', 'third']
  expect(heard).toEqual(all)
  expect(said()).toEqual([...(isRefused ? [texts.notTaken] : []), ...all.map((what) => `You said: ${what}.`)])
  expect(ends).toEqual([])
  return isRefused ? 'refused' : 'answered'
}

/** What is said besides: the agent of a test has no session of the bridge before. */
const isBesides = /^(Queued|The session no longer exists)/

describe.each(Object.entries(kinds))('a commit %s', (kind, isOf) => {
  test('that is made, and answered late, is as if nothing had happened', async () => {
    expect(await outcomeOf(isOf, 'made')).toBe('answered')
  })

  test.each(Object.entries(failures))('that fails %s is made later, or its person is told', async (_, failsMs) => {
    expect(await outcomeOf(isOf, { failsMs })).toBe(kind === 'that takes a message' ? 'refused' : 'answered')
  })
})
