import { connectSource, createLocalAgent } from '@reply/core/source'
import { createHandClock } from '@reply/testing'
import { afterEach, expect, test } from 'vitest'
import { callPermit } from '../src/servers/lease-context.ts'
import { type Store, StoreError } from '../src/store/store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

async function start() {
  const clock = createHandClock()
  const disk = { isFull: false }
  const ends: string[] = []
  const failing =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      if (disk.isFull) throw new StoreError('failed', 'The disk is full.')
      return await call(...given)
    }
  open = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), {
    clock,
    storeOf: (store) => ({ ...store, beat: failing(store.beat), commit: failing(store.commit) }),
    onEnd: () => ends.push('ended'),
  })
  const health = async (): Promise<readonly [number, string]> => {
    const response = await fetch(`${open.chats.url}/readyz`)
    return [response.status, await response.text()]
  }
  return { ...open, disk, ends, health }
}

const stalled = "The state can't be written, so no calls are made until it can: The disk is full."

test("a bridge that can't write its state makes no calls, says so, and answers later what came meanwhile", async () => {
  const { telegram, chats, disk, ends, health, said, heard, passes } = await start()
  telegram.say(1, 'before')
  await passes(() => said(1).includes('You said: before.'))
  disk.isFull = true
  await passes(() => chats.errors.length > 0)
  expect(await health()).toEqual([503, `stalled\n${stalled}\n`])
  const calls = telegram.calls.filter(({ method }) => method !== 'getUpdates').length
  telegram.say(1, 'meanwhile')
  await passes(() => telegram.count('getUpdates') > 20)
  expect(telegram.calls.filter(({ method }) => method !== 'getUpdates')).toHaveLength(calls)
  expect([heard, ends]).toEqual([['before'], []])
  disk.isFull = false
  await passes(() => said(1).includes('You said: meanwhile.'))
  expect(await health()).toEqual([200, 'ready\n'])
  expect(chats.errors.map(({ message }) => message)).toEqual([stalled])
  expect(chats.notices.at(-1)).toBe('The state can be written again. Resuming.')
  expect(said(1)).toEqual(['You said: before.', 'You said: meanwhile.'])
})

test('a prompt whose session was being created when the calls were aborted is posted afterwards, once', async () => {
  const clock = createHandClock()
  const heard: string[] = []
  const created: string[] = []
  const disk = { isFull: false }
  const agent = createLocalAgent({
    ...{ name: 'an agent in the test', clock },
    // As each request of a shard, it aborts with the lease.
    create: async ({ directory }) => {
      const sessionID = `ses_${created.length + 1}`
      created.push(sessionID)
      const signal = await callPermit(async () => await new Promise(() => {})).whenHeld()
      if (created.length === 1)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return { sessionID, directory }
    },
    prompt: async (run, { text = '' }) => {
      heard.push(text)
      answer(run, `You said: ${text}.`)
    },
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  const beat =
    (store: Store): Store['beat'] =>
    async (request) => {
      if (disk.isFull) throw new StoreError('failed', 'The disk is full.')
      return await store.beat(request)
    }
  open = await startHandDriven(() => {}, {
    clock,
    changed: () => connectSource(agent.source, { clock }),
    storeOf: (store) => ({ ...store, beat: beat(store) }),
  })
  const { telegram, chats, said, passes } = open
  telegram.say(1, 'slowly')
  await passes(() => created.length > 0)
  disk.isFull = true
  await passes(() => chats.errors.length > 0)
  disk.isFull = false
  await passes(() => said(1).includes('You said: slowly.'))
  // The first session stays on the server, empty: that the call was aborted does not tell whether it was created.
  expect([said(1), heard, created]).toEqual([['You said: slowly.'], ['slowly'], ['ses_1', 'ses_2']])
  expect(chats.errors.map(({ message }) => message)).toEqual([stalled])
})
