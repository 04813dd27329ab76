import { type Client, emptyReply, type Observation, type Reply, type ReplyObserver } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import type { HeldLease } from '../src/members/membership.ts'
import type { FollowDecision, FollowTarget } from '../src/runs/follow-target.ts'
import { passOn } from '../src/runs/show-run.ts'
import { createServerWatches } from '../src/shards/server-watches.ts'
import type { Shard } from '../src/shards/shard.ts'
import { StoreError } from '../src/store/store.ts'
import { createMemoryStore } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

const rest = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A reply with a part of the agent, and with the text of a prompt if it has one. */
function replyOf(sessionID: string, prompt?: string): Reply {
  const empty = emptyReply(sessionID)
  return {
    ...empty,
    ...(prompt !== undefined && {
      prompt: { text: prompt, files: [], parts: [{ type: 'text', id: 'prt_1', text: prompt }] } as Reply['prompt'],
    }),
    messages: [{ id: 'msg_1', parts: [{ type: 'text', text: 'Hi' }] } as unknown as Reply['messages'][number]],
  }
}

/** The member that watches the server `home`, and owns the shard 01. Its state fails at first for so many calls. */
async function scene(failures = 0) {
  const store = createMemoryStore({ clock: createHandClock() })
  await store.commit([
    { type: 'put', key: 'home/home/ses_own', value: '01' },
    { type: 'put', key: 'home/home/ses_other', value: '07' },
  ])
  const hints: string[] = []
  store.watch((hint) => hints.push(hint))
  const watched: { target: unknown; observe: (reply: Reply) => readonly ReplyObserver[] }[] = []
  const client = {
    watch: (target: unknown, { observe }: (typeof watched)[number]) => {
      const one = { target, observe }
      watched.push(one)
      return () => void watched.splice(watched.indexOf(one), 1)
    },
  } as unknown as Client
  const errors: Error[] = []
  const shown: ReplyObserver = {}
  const targets = new Map<string, FollowDecision>()
  const events: BridgeEvent[] = []
  const followed: string[] = []
  const follow = async (server: string, { sessionID }: Reply, { place, follows }: FollowTarget) => {
    followed.push(`${server} ${sessionID} ${place.chat.id} ${follows}`)
    return { partChanged: () => void followed.push('changed') }
  }
  let failuresLeft = failures
  /** Makes a call of the state. */
  async function call<Result>(make: () => Promise<Result>): Promise<Result> {
    if (failuresLeft-- > 0) throw new StoreError('failed', 'The disk is full.')
    return await make()
  }
  const real = stateOf(store)
  async function withRetries<Result>(make: () => Promise<Result>): Promise<Result> {
    return await make().catch(async () => await withRetries(make))
  }
  const watches = createServerWatches({
    servers: new Map([['home', client]]),
    directoryOf: () => '/shop',
    shards: {
      observe: (_, { sessionID }) => (sessionID === 'ses_own' ? [shown] : []),
      find: (name) => (name === '01' ? ({ follow } as unknown as Shard) : undefined),
    },
    shardOf: ({ chat: { id } }) => id,
    findFollowTarget: async (_, { sessionID }) => await call(async () => targets.get(sessionID)),
    state: {
      read: async (key) => await call(() => real.read(key)),
      commitWithoutLease: async (...given) => await call(() => real.commitWithoutLease(...given)),
      withRetries,
    },
    clock: createHandClock(),
    emit: (event) => events.push(event),
    onError: (error) => errors.push(error),
  })
  const released: string[] = []
  const lease = { name: 'server/home', release: async () => void released.push('server/home') } as unknown as HeldLease
  return { store, hints, watched, watches, lease, released, errors, shown, targets, followed, events }
}

test('only a member with the lease watches the server, in the directory of the config', async () => {
  const { watches, lease, released, watched } = await scene()
  expect([watches.names(), watched]).toEqual([['server/home'], []])
  watches.add(lease)
  expect(watched.map(({ target }) => target)).toEqual([{ directory: '/shop' }])
  watches.drop(lease)
  expect(watched).toEqual([])
  watches.add(lease)
  watches.stop()
  // It stops long before its process leaves.
  expect([watched, released]).toEqual([[], ['server/home']])
})

test('a run without a prompt is shown by an own shard, and handed to the shard of another member', async () => {
  const { store, hints, watches, lease, watched, shown, errors } = await scene()
  watches.add(lease)
  const seen = (reply: Reply): readonly ReplyObserver[] => {
    const observers = watched[0]?.observe(reply) ?? []
    for (const observer of observers) passOn(observer, { type: 'replyStarted', reply })
    return observers
  }
  expect(seen(replyOf('ses_own'))[0]).toBe(shown)
  // That of a prompt is shown by the run that posted it, and a session of no chat by nothing.
  seen(replyOf('ses_other', 'Go on'))
  seen(replyOf('ses_unknown'))
  await rest()
  expect([await store.list('wake/'), hints]).toEqual([[], []])
  const [observer] = seen(replyOf('ses_other'))
  if (observer) passOn(observer, { type: 'replyStarted', reply: replyOf('ses_other') })
  await rest()
  expect((await store.list('wake/')).map(({ key }) => key)).toEqual(['wake/07/home/ses_other'])
  expect([hints, errors]).toEqual([['wake/07'], []])
})

test('each handover of the same session has a value of its own', async () => {
  const { store, watches, lease, watched } = await scene()
  watches.add(lease)
  const values = new Set<string | undefined>()
  for (let nth = 0; nth < 2; nth++) {
    const [observer = {}] = watched[0]?.observe(replyOf('ses_other')) ?? []
    passOn(observer, { type: 'replyStarted', reply: replyOf('ses_other') })
    await rest()
    values.add(await store.read('wake/07/home/ses_other'))
  }
  expect([values.size, values.has(undefined)]).toEqual([2, false])
})

test('a run that begins while the state fails is shown too, once the state works again', async () => {
  const { store, watches, lease, watched, targets, followed, errors } = await scene(3)
  targets.set('ses_desk', { type: 'chat', place: { channel: 'tg', chat: { id: '01' } }, follows: 'all' })
  watches.add(lease)
  for (const reply of [replyOf('ses_desk', 'Go on'), replyOf('ses_other')])
    for (const observer of watched[0]?.observe(reply) ?? []) passOn(observer, { type: 'replyStarted', reply })
  await rest()
  expect(followed).toEqual(['home ses_desk 01 all'])
  expect((await store.list('wake/')).map(({ key }) => key)).toEqual(['wake/07/home/ses_other'])
  expect(errors).toEqual([])
})

test('a run that was started elsewhere is shown by the shard of its chat, here or at another member', async () => {
  const { store, hints, watches, lease, watched, targets, followed, errors } = await scene()
  watches.add(lease)
  const prompted = replyOf('ses_desk', 'Go on')
  const observers = watched[0]?.observe(prompted) ?? []
  const see = (type: 'replyStarted' | 'partChanged'): void => {
    for (const observer of observers) passOn(observer, { type, reply: prompted } as Observation)
  }
  // No chat follows it yet.
  see('replyStarted')
  await rest()
  targets.set('ses_desk', { type: 'chat', place: { channel: 'tg', chat: { id: '01' } }, follows: 'asks' })
  see('partChanged')
  await rest()
  expect(followed).toEqual([])
  const asking = {
    ...prompted,
    asks: [{ requestID: 'per_1', status: 'pending', type: 'question' }],
  } as unknown as Reply
  for (const observer of observers) passOn(observer, { type: 'replyStarted', reply: asking })
  see('partChanged')
  await rest()
  expect(followed).toEqual(['home ses_desk 01 asks', 'changed'])
  targets.set('ses_far', { type: 'chat', place: { channel: 'tg', chat: { id: '07' } }, follows: 'all' })
  const far = replyOf('ses_far', 'Go on')
  for (const observer of watched[0]?.observe(far) ?? []) passOn(observer, { type: 'replyStarted', reply: far })
  await rest()
  expect((await store.list('wake/')).map(({ key }) => key)).toEqual(['wake/07/home/ses_far'])
  expect([hints, errors]).toEqual([['wake/07'], []])
})

test('each request that no chat could show is told once', async () => {
  const { watches, lease, watched, targets, events, errors } = await scene()
  targets.set('ses_desk', { type: 'no-chat' })
  watches.add(lease)
  const prompted = replyOf('ses_desk', 'Go on')
  const observers = watched[0]?.observe(prompted) ?? []
  const see = async (...requestIDs: readonly string[]): Promise<void> => {
    const asks = requestIDs.map((requestID) => ({
      requestID,
      status: 'pending',
      type: 'question',
      sessionID: 'ses_sub',
    }))
    const reply = { ...prompted, asks } as unknown as Reply
    for (const observer of observers) passOn(observer, { type: 'partChanged', reply } as Observation)
    await rest()
  }
  await see('que_1')
  await see('que_1', 'que_2')
  await see()
  const told = { type: 'unshown', server: 'home', sessionID: 'ses_sub', askType: 'question' }
  expect(events).toMatchObject([
    { ...told, requestID: 'que_1' },
    { ...told, requestID: 'que_2' },
  ])
  expect([events.length, errors]).toEqual([2, []])
})

test('a reply that no chat followed is handed over once it is looked at again', async () => {
  const { watches, lease, watched, targets, followed } = await scene()
  watches.lookAgain('home', 'ses_desk')
  watches.add(lease)
  const prompted = replyOf('ses_desk', 'Go on')
  for (const observer of watched[0]?.observe(prompted) ?? [])
    passOn(observer, { type: 'replyStarted', reply: prompted })
  await rest()
  targets.set('ses_desk', { type: 'chat', place: { channel: 'tg', chat: { id: '01' } }, follows: 'all' })
  watches.lookAgain('home', 'ses_desk')
  await rest()
  expect(followed).toEqual(['home ses_desk 01 all'])
})
