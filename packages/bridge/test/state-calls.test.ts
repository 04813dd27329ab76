import { afterEach, expect, test } from 'vitest'
import type { Store, Write } from '../src/store/store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

const kindOf = (key: string): string => key.slice(0, key.indexOf('/'))
const kindOfWrite = (write: Write): string => `${write.type} ${kindOf('queue' in write ? write.queue : write.key)}`

/** A store, and a list of the calls that are made for chats. What is looked at from time to time is left out. */
function withCalls(calls: string[]): (store: Store) => Store {
  const isTimed = (prefix: string): boolean => /^(late|moved|press|wake)\//.test(prefix) || /^inbox\/$/.test(prefix)
  return (store) => ({
    ...store,
    read: async (key) => {
      calls.push(`read ${kindOf(key)}`)
      return await store.read(key)
    },
    list: async (prefix) => {
      if (!isTimed(prefix)) calls.push(`list ${kindOf(prefix)}`)
      return await store.list(prefix)
    },
    queue: async (name) => {
      calls.push(`queue ${kindOf(name)}`)
      return await store.queue(name)
    },
    queues: async (prefix) => {
      if (!isTimed(prefix)) calls.push(`queues ${kindOf(prefix)}`)
      return await store.queues(prefix)
    },
    commit: async (writes, ...given) => {
      calls.push([...new Set(writes.map(kindOfWrite))].join(', '))
      return await store.commit(writes, ...given)
    },
  })
}

test('a message that is answered with one post makes no other calls of the state than these', async () => {
  const calls: string[] = []
  open = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), { storeOf: withCalls(calls) })
  open.telegram.say(1, 'one')
  await open.passes(() => open.said(1).includes('You said: one.'))
  const settled = open.clock.now()
  await open.passes(() => open.clock.now() - settled > 10_000)
  calls.length = 0
  open.telegram.say(1, 'two')
  await open.passes(() => open.said(1).includes('You said: two.'))
  const answered = open.clock.now()
  await open.passes(() => open.clock.now() - answered > 10_000)
  expect(calls).toMatchInlineSnapshot(`
    [
      "put-if-absent seen, enqueue inbox",
      "queue inbox",
      "dequeue inbox, enqueue prompts",
      "queue prompts",
      "queue prompts",
      "read route",
      "read execution",
      "dequeue prompts, put execution",
      "put execution, compare-and-set route, put session, put session-chat, put newest, put home, put author",
      "read author",
      "read home",
      "read ledger",
      "put execution, put log, put author",
      "put ledger, remove ledger",
      "put ledger, put message",
      "put execution, compare-and-set newest, put home",
    ]
  `)
})
