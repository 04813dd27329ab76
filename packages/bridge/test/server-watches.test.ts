import { type Client, emptyReply, type Reply, type ReplyObserver } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { HeldLease } from '../src/members/membership.ts'
import { passOn } from '../src/runs/show-run.ts'
import { createServerWatches } from '../src/shards/server-watches.ts'
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
    ...(prompt !== undefined && { prompt: { text: prompt, files: [] } as unknown as Reply['prompt'] }),
    messages: [{ id: 'msg_1', parts: [{ type: 'text', text: 'Hi' }] } as unknown as Reply['messages'][number]],
  }
}

/** The member that watches the server `home`, and owns the shard 01. */
async function scene() {
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
  const watches = createServerWatches({
    servers: new Map([['home', client]]),
    directoryOf: () => '/shop',
    observe: (_, { sessionID }) => (sessionID === 'ses_own' ? [shown] : []),
    isOwn: (shard) => shard === '01',
    state: stateOf(store),
    onError: (error) => errors.push(error),
  })
  const lease = { name: 'server/home' } as HeldLease
  return { store, hints, watched, watches, lease, errors, shown }
}

test('only a member with the lease watches the server, in the directory of the config', async () => {
  const { watches, lease, watched } = await scene()
  expect([watches.names(), watched]).toEqual([['server/home'], []])
  watches.add(lease)
  expect(watched.map(({ target }) => target)).toEqual([{ directory: '/shop' }])
  watches.drop(lease)
  expect(watched).toEqual([])
  watches.add(lease)
  watches.stop()
  expect(watched).toEqual([])
})

test('a run without a prompt is shown by an own shard, and handed to the shard of another member', async () => {
  const { store, hints, watches, lease, watched, shown, errors } = await scene()
  watches.add(lease)
  const seen = (reply: Reply): readonly ReplyObserver[] => {
    const observers = watched[0]?.observe(reply) ?? []
    for (const observer of observers) passOn(observer, { type: 'replyStarted', reply })
    return observers
  }
  expect(seen(replyOf('ses_own'))).toEqual([shown])
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
