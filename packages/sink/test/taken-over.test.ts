import { expect, test } from 'vitest'
import { type LedgerStore, memoryStore, SinkError } from '../src/index.ts'
import type { ChannelPort } from '../src/port/port.ts'
import { settledWith, text } from './make.ts'
import { createScene, rest } from './scene.ts'

/** A store that two processes share. This one may make calls until `stop`, again from `goOn`, and no more after `lose`. */
function sharedStore() {
  const store = memoryStore()
  let held = new AbortController()
  let isLost = false
  let wake = (): void => {}
  const lost = (): SinkError => new SinkError('taken-over', 'Another process shows the replies.')
  const shared: LedgerStore = {
    read: store.read,
    write: async (key, words) => {
      if (isLost) throw lost()
      await store.write(key, words)
    },
    lease: async () => {
      while (held.signal.aborted && !isLost)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      if (isLost) throw lost()
      return held.signal
    },
  }
  return {
    store: shared,
    stop: () => held.abort(),
    goOn: () => {
      held = new AbortController()
      wake()
    },
    lose: () => {
      isLost = true
      held.abort()
      wake()
    },
  }
}

const answer = settledWith([text('It is done.')])

test('a sink whose ledger another process took over makes no call, and names what is missing', async () => {
  const shared = sharedStore()
  const scene = createScene({ sink: { store: shared.store } })
  shared.lose()
  scene.show(answer)
  await scene.pass(1000)
  expect((await scene.sink().settled()).undelivered).toEqual([
    { key: expect.any(String), card: 'answer', type: 'taken-over', reason: 'Another process took over and shows it.' },
  ])
  await scene.pass(60_000)
  expect([scene.fake.calls, scene.errors, scene.clock.pending]).toEqual([[], [], 0])
})

test('a sink that was replaced between its ledger and its call makes no call', async () => {
  const shared = sharedStore()
  const scene = createScene({ sink: { store: shared.store } })
  shared.stop()
  scene.show(answer)
  await scene.pass(1000)
  expect(scene.fake.calls).toEqual([])
  shared.lose()
  await scene.pass(60_000)
  expect((await scene.sink().settled()).undelivered).toMatchObject([{ type: 'taken-over' }])
  expect([scene.fake.calls, scene.errors]).toEqual([[], []])
})

test('a sink that may make no calls for a while waits, and then goes on', async () => {
  const shared = sharedStore()
  const scene = createScene({ sink: { store: shared.store } })
  shared.stop()
  scene.show(answer)
  await scene.pass(600_000)
  expect(scene.fake.calls).toEqual([])
  shared.goOn()
  await scene.pass(1000)
  expect(scene.fake.screen().map((one) => one.text)).toEqual(['It is done.'])
  expect(await scene.sink().settled()).toMatchObject({ undelivered: [], doubtful: 0 })
})

test('the call under way is aborted when the sink may make no calls any more', async () => {
  const shared = sharedStore()
  const { fake } = createScene()
  const aborted: boolean[] = []
  const post: ChannelPort['post'] = async (_, { signal }) =>
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        aborted.push(signal.aborted)
        reject(new Error('Aborted.'))
      })
    })
  const scene = createScene({ sink: { store: shared.store, port: { ...fake.port, post } } })
  scene.show(answer)
  await scene.pass(1000)
  expect(aborted).toEqual([])
  shared.stop()
  await rest()
  expect(aborted).toEqual([true])
  shared.lose()
  await scene.pass(60_000)
  expect((await scene.sink().settled()).undelivered).toMatchObject([{ type: 'taken-over' }])
})
