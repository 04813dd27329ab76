import { expect, test } from 'vitest'
import { createPacer } from '../src/deliver/pace.ts'
import { type LedgerStore, memoryStore } from '../src/ledger/ledger.ts'
import type { ChannelPort } from '../src/port/port.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { asks, replyWith, settledWith, text } from './make.ts'
import { createScene, rest } from './scene.ts'

const growing = (said: string) => replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }])

/** A store whose next write waits until it is released. */
function slowStore(): LedgerStore & { slow(): () => void } {
  const store = memoryStore()
  let held = Promise.resolve()
  return {
    read: store.read,
    write: async (key, words) => {
      await held
      await store.write(key, words)
    },
    slow: () => {
      let release = (): void => {}
      held = new Promise((resolve) => {
        release = resolve
      })
      return release
    },
  }
}

test('a sink that was stopped while its ledger was written does nothing more', async () => {
  const store = slowStore()
  const { fake, ...scene } = createScene({ sink: { store, policy: { verbosity: 'quiet' } } })
  scene.show(growing('It'))
  await scene.pass(1000)
  const calls = fake.calls.length
  const release = store.slow()
  scene.show(replyWith([text('It asks.')], { asks: [asks()] }))
  await scene.pass(1000)
  const stopped = scene.sink().stop()
  scene.show(growing('It goes on'))
  release()
  await stopped
  await rest()
  expect(fake.calls.slice(calls).filter(({ verb }) => verb !== 'typing')).toEqual([])
  expect(scene.clock.pending).toBe(0)
})

test('a sink that was stopped right before a post leaves no doubt about it to the next one', async () => {
  const store = slowStore()
  const { fake, ...before } = createScene({ sink: { store } })
  const release = store.slow()
  before.show(whole('One.'))
  await before.pass(1000)
  const stopped = before.sink().stop()
  release()
  await stopped
  expect(fake.calls.filter(({ verb }) => verb === 'post')).toEqual([])
  const after = createScene({ sink: { store, port: fake.port } })
  after.show(whole('One.'))
  expect(await after.end()).toMatchObject({ shown: 1, doubtful: 0, calls: 1 })
  expect(fake.screen()).toMatchObject([{ text: 'One.' }])
})

test('a stopped sink shows no further reply', async () => {
  const scene = createScene()
  await scene.sink().stop()
  scene.show(growing('It'))
  await scene.pass(10_000)
  expect([scene.fake.calls, scene.clock.pending]).toEqual([[], 0])
})

test('a stopped sink does not wait for a reaction that waits for its turn', async () => {
  const { fake, clock } = createScene()
  const pacer = createPacer({ clock })
  const port: ChannelPort = { ...fake.port, react: async () => {} }
  const scene = createScene({ clock, sink: { port, pacer, replyTo: { id: 'q' }, policy: { reactions: true } } })
  pacer.chat({ id: 'chat' }, fakeLimits).freeze(600_000, 'chat')
  scene.show(growing('It'))
  await scene.pass(1000)
  await scene.sink().stop()
  await rest()
  expect(clock.pending).toBe(0)
})

const whole = (said: string) => settledWith([{ ...text(said), id: 'prt_a' }])

test('an amendment after the end is awaited, and counted once', async () => {
  const scene = createScene()
  scene.show(whole('One.'))
  expect(await scene.end()).toMatchObject({ shown: 1, calls: 1 })
  scene.show(whole('One. Two.'), 'replyAmended')
  expect(await scene.end()).toMatchObject({ shown: 1, calls: 2 })
  expect(scene.fake.screen()).toMatchObject([{ text: 'One. Two.' }])
  scene.show({ ...whole('Three.'), promptIDs: ['msg_9'] }, 'replyStarted')
  expect(await scene.end()).toMatchObject({ shown: 2, calls: 3 })
})

test('an amendment that was not shown before the stop is named', async () => {
  const scene = createScene()
  scene.show(whole('One.'))
  await scene.end()
  scene.show(whole('One. Two.'), 'replyAmended')
  await scene.sink().stop()
  expect(await scene.sink().settled()).toMatchObject({ shown: 1, undelivered: [{ key: 'answer#0' }] })
})

test('a reply is amended in place, even after many other sessions', async () => {
  const scene = createScene()
  const of = (session: number, said: string) => ({ ...whole(said), sessionID: `ses_${session}` })
  for (let session = 1; session <= 40; session++) {
    scene.show(of(session, `All of ${session}.`), 'replyStarted')
    expect(await scene.end()).toMatchObject({ shown: session, undelivered: [] })
  }
  scene.show(of(1, 'All of 1, amended.'), 'replyAmended')
  await scene.end()
  expect(scene.fake.screen()).toHaveLength(40)
  expect(scene.fake.screen()[0]).toMatchObject({ text: 'All of 1, amended.' })
})
