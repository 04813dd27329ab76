import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { withReports } from '../src/deliver/reports.ts'
import type { ShownEntry } from '../src/ledger/entry.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { leasedPort } from '../src/port/lease.ts'
import type { ChannelPort, PostReport, PostReports } from '../src/port/port.ts'
import { wellFormedPort } from '../src/port/well-formed.ts'
import { createFake } from '../src/testing/fake.ts'
import type { FakeFault } from '../src/testing/fake-options.ts'
import { asks, replyWith, settledWith, text } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const policy = { statusAfterMs: 3_600_000, heartbeatMs: 60_000 }
const done = settledWith([text('It is done.')])
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const noEdits = { limits: { edits: false }, lacks: ['edit', 'remove'] } as const

function sceneOf(faults: readonly FakeFault[] = [], more: object = {}): Scene {
  return createScene({ fake: { ...noEdits, reports: true, lookUp: 'probe', faults, ...more }, sink: { policy } })
}

/** Whether the reply is over by now. */
function overIn(scene: Scene): () => boolean {
  let isOver = false
  void scene
    .sink()
    .settled()
    .then(() => {
      isOver = true
    })
  return () => isOver
}

test('a reply is over as soon as all its messages are reported', async () => {
  const scene = sceneOf()
  scene.show(done)
  const isOver = overIn(scene)
  await scene.pass(1000)
  expect([isOver(), textsOf(scene)]).toEqual([true, ['It is done.']])
})

test('a post that a report names is there, and is not posted again', async () => {
  const scene = sceneOf([{ call: 1, type: 'done' }])
  scene.show(done)
  expect(await scene.end()).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
  expect(scene.fake.posted).toHaveLength(1)
})

test('a message that is reported as not delivered is named, and does not count as shown', async () => {
  const scene = sceneOf([{ call: 1, type: 'undelivered' }])
  scene.show(done)
  const { shown, undelivered } = await scene.end()
  expect([shown, undelivered]).toMatchObject([0, [{ key: 'answer#0', type: 'refused', reason: /undelivered/ }]])
})

test('a closed chat gets no calls, and all that was held once it is open', async () => {
  const scene = sceneOf()
  scene.fake.setOpen(false)
  scene.show(replyWith([text('It begins.'), { ...text('It goes on', { status: 'open' }), id: 'prt_b' }]))
  await scene.pass(3_600_000)
  expect([scene.fake.calls.filter(({ verb }) => verb === 'post').length, textsOf(scene)]).toEqual([1, []])
  expect(scene.errors.map(({ type }) => type)).toEqual(['chat-closed'])
  expect(scene.fake.isTyping()).toBe(false)
  scene.show(settledWith([text('It begins.'), { ...text('It goes on and ends.'), id: 'prt_b' }]))
  const isOver = overIn(scene)
  await scene.pass(172_800_000)
  expect([isOver(), textsOf(scene)]).toEqual([false, []])
  scene.fake.setOpen(true)
  expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(textsOf(scene).join('\n\n')).toBe('It begins.\n\nIt goes on and ends.')
})

test('an ask that was held is posted with buttons that count', async () => {
  const scene = sceneOf()
  scene.fake.setOpen(false)
  scene.show(replyWith([], { asks: [asks()], phase: 'blocked' }))
  await scene.pass(60_000)
  expect(textsOf(scene)).toEqual([])
  scene.fake.setOpen(true)
  await scene.pass(60_000)
  const [message] = scene.fake.screen()
  const token = message?.buttons.flat()[0]?.data ?? ''
  const actor = { id: '1', name: 'Ada' }
  const taken = await scene
    .sink()
    .readAnswer({ token, messageRef: { id: message?.id ?? '' }, chat: { id: 'chat' } }, actor)
  expect(taken).toMatchObject({ type: 'answer' })
})

test('after a restart a reply waits for the reports of what was just posted', async () => {
  const scene = sceneOf([], { reports: false })
  scene.show(done)
  await scene.pass(100)
  scene.restart()
  const late = new Map<string, readonly PostReport[]>()
  const reports: PostReports = {
    of: (key) => late.get(key) ?? [],
    isClosed: () => false,
    withinMs: () => 10_000,
    observe: () => () => {},
  }
  const again = createScene({
    clock: scene.clock,
    sink: { policy, store: scene.store, port: { ...scene.fake.port, reports } },
  })
  again.show(done)
  const isOver = overIn(again)
  await scene.pass(9000)
  expect(isOver()).toBe(false)
  await scene.pass(2000)
  expect([isOver(), textsOf(scene)]).toEqual([true, ['It is done.']])
})

test('a reply waits for the last report of a message that may still fail', async () => {
  const scene = sceneOf()
  const { reports } = scene.fake.port
  const mayFail: PostReports = {
    of: (key) => (reports?.of(key) ?? []).map((one) => (one.type === 'there' ? { ...one, mayFail: true } : one)),
    isClosed: () => false,
    withinMs: () => 10_000,
    observe: (listener) => reports?.observe(listener) ?? (() => {}),
  }
  const again = createScene({ clock: scene.clock, sink: { policy, port: { ...scene.fake.port, reports: mayFail } } })
  again.show(done)
  const isOver = overIn(again)
  await again.pass(9000)
  expect(isOver()).toBe(false)
  await again.pass(2000)
  expect(isOver()).toBe(true)
})

test('a reply that is over listens no more, and one that is amended does again', async () => {
  const scene = sceneOf()
  const { reports } = scene.fake.port
  let listening = 0
  const counted: PostReports = {
    of: (key) => reports?.of(key) ?? [],
    isClosed: () => false,
    withinMs: () => 10_000,
    observe: (listener) => {
      const stop = reports?.observe(listener)
      listening += 1
      return () => {
        listening -= 1
        stop?.()
      }
    },
  }
  const again = createScene({ clock: scene.clock, sink: { policy, port: { ...scene.fake.port, reports: counted } } })
  for (const reply of [done, settledWith([text('It is done. And more.')])]) {
    again.show(reply, 'replyAmended')
    expect(listening).toBe(1)
    await again.pass(20_000)
    expect(listening).toBe(0)
  }
})

test('further messages of one post are counted once each', () => {
  const entry: ShownEntry = {
    ...{ key: 'answer#0', card: 'answer', type: 'answer', id: 'k', tries: 1, at: 0, isLoud: true, state: 'shown' },
    content: { type: 'known', body: '', whole: '' },
    ref: { id: '1' },
    access: { type: 'editable' },
  }
  const said = (...ids: readonly string[]): PostReports => ({
    of: () => ids.map((id) => ({ type: 'there', ref: { id } })),
    isClosed: () => false,
    withinMs: () => 0,
    observe: () => () => {},
  })
  const first = withReports({ ...emptyLedger, entries: [entry] }, said('1'))
  const second = withReports(first, said('1', '2'))
  expect([first.doubtful, second.doubtful]).toEqual([0, 1])
  expect(withReports(second, said('1', '2'))).toBe(second)
  expect(withReports(second, said('1', '2', '3')).doubtful).toBe(2)
})

test('a heartbeat that is refused is tried again only at its next time', async () => {
  const refused = Array.from({ length: 600 }, (_, at): FakeFault => ({ call: at + 1, type: 'refused' }))
  const scene = createScene({ fake: { ...noEdits, faults: refused }, sink: { policy } })
  scene.show({ ...replyWith([]), startedAt: scene.clock.now() })
  await scene.pass(3_600_000)
  expect(scene.fake.calls.filter(({ verb }) => verb === 'post').length).toBeLessThanOrEqual(60)
  await scene.sink().stop()
})

test('a port that is wrapped keeps all its members', () => {
  const { port } = createFake({ clock: createHandClock(), reports: true, lookUp: 'exact' })
  const { edit, remove, typing, upload, uploadAlbum, lookUp, stream, reports } = port
  const never = (): never => expect.fail('It was not there.')
  const whole: Required<ChannelPort> = {
    ...{ limits: port.limits, post: port.post, react: async () => {}, edit: edit ?? never, remove: remove ?? never },
    ...{ typing: typing ?? never, upload: upload ?? never, uploadAlbum: uploadAlbum ?? never, lookUp: lookUp ?? never },
    stream,
    reports,
  }
  const members = Object.keys(whole).toSorted()
  expect(Object.keys(wellFormedPort(whole)).toSorted()).toEqual(members)
  expect(Object.keys(leasedPort(whole, async () => new AbortController().signal)).toSorted()).toEqual(members)
  expect(leasedPort(wellFormedPort(whole), async () => new AbortController().signal).reports).toBe(reports)
})
