import type { Reply } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { type LedgerStore, memoryStore, SinkError } from '../src/index.ts'
import type { ChannelPort } from '../src/port/port.ts'
import { PortError } from '../src/port/port-error.ts'
import { createSink, type Sink } from '../src/sink.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import { replyWith, settledWith, text } from './make.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

/** A chat that several processes show a reply in, one after the other. */
function stage() {
  const clock = createHandClock(beginning)
  const fake = createFake({ clock })
  const ledgers = memoryStore()
  const told = new Map<string, string>()
  const listeners = new Map<string, (id: string) => Promise<void>>()
  let owner = 0
  let wake = (): void => {}
  return { told, open, stopped, wake: () => wake(), pass, texts, deliver }

  /** The next process, which the one before learns of with its next call or write. */
  function open(change: (port: ChannelPort) => ChannelPort = (port) => port): Sink {
    const mine = ++owner
    const lost = (): SinkError => new SinkError('taken-over', 'Another process shows the replies.')
    const store: LedgerStore = {
      read: ledgers.read,
      write: async (key, words) => {
        if (mine !== owner) throw lost()
        await ledgers.write(key, words)
      },
      lease: async () => {
        if (mine !== owner) throw lost()
        return new AbortController().signal
      },
      late: {
        report: async (key, { id }) => void told.set(key, id),
        listen: (key, listener) => {
          const mine = async (id: string): Promise<void> => await listener({ id })
          listeners.set(key, mine)
          return () => void (listeners.get(key) === mine && listeners.delete(key))
        },
      },
    }
    const options = { port: change(fake.port), render: fakeRender, chat: { id: 'chat' }, store, clock }
    return createSink({ ...options, secret: (length) => 'x'.repeat(length) })
  }

  /** A port whose edits reach the platform only after `wake`, as those of a process that is stopped right before one. */
  function stopped(port: ChannelPort): ChannelPort {
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    return {
      ...port,
      edit: async (...given) => {
        await woken
        await port.edit?.(...given)
        throw new PortError('ambiguous', 'edit: no response before it was aborted.')
      },
    }
  }

  async function pass(ms: number): Promise<void> {
    await clock.advance(ms, rest)
  }

  function texts(): readonly string[] {
    return fake.screen().map((one) => one.text)
  }

  /** What was told reaches the process that listens. */
  async function deliver(): Promise<void> {
    for (const [key, id] of told) await listeners.get(key)?.(id)
  }
}

const growing = replyWith([text('It', { status: 'open' })])
const grown = replyWith([text('It is', { status: 'open' })])
const whole = settledWith([text('It is done.')])

/** The first process is stopped right before an edit to a growing text. */
async function overtaken() {
  const scene = stage()
  const { pass } = scene
  const first = scene.open(scene.stopped)
  first.replyStarted?.({ type: 'replyStarted', reply: growing })
  await pass(3000)
  first.phaseChanged?.({ type: 'phaseChanged', phase: 'working', before: 'working', reply: grown })
  await pass(3000)
  return { ...scene, wake: async () => await woken(first) }

  async function woken(sink: Sink): Promise<void> {
    scene.wake()
    await pass(0)
    await sink.settled()
  }
}

function show(sink: Sink, reply: Reply): void {
  sink.replyStarted?.({ type: 'replyStarted', reply })
}

test('an edit of a process that was stopped right before it, and woken after the end, does not stay over the answer', async () => {
  const { told, open, wake, pass, texts, deliver } = await overtaken()
  const second = open()
  show(second, whole)
  await pass(10_000)
  expect(texts()).toEqual(['It is done.'])
  const { doubtful } = await second.settled()
  await wake()
  expect([texts(), told.size]).toEqual([['It\n\n*Writing*'], 1])
  const heard = deliver()
  await pass(2000)
  await heard
  expect([texts(), doubtful]).toEqual([['It is done.'], 0])
})

test('a process that begins after such an edit makes its own once more', async () => {
  const { open, wake, pass, texts, deliver } = await overtaken()
  const second = open()
  show(second, whole)
  await pass(10_000)
  await second.stop()
  await wake()
  const third = open()
  show(third, whole)
  await pass(10_000)
  const heard = deliver()
  await pass(2000)
  await heard
  expect(texts()).toEqual(['It is done.'])
  await third.stop()
})

test('a message that a ledger does not know is not waited for', async () => {
  const { told, open, pass, texts, deliver } = stage()
  const only = open()
  show(only, whole)
  await pass(2000)
  told.set('chat/ses_1/msg_1', '99')
  await deliver()
  expect(texts()).toEqual(['It is done.'])
})

test('a process that was replaced does not keep a report waiting', async () => {
  const { told, open, pass, deliver } = stage()
  show(open(), whole)
  await pass(2000)
  told.set('chat/ses_1/msg_1', '1')
  open()
  let outcome: unknown
  void deliver().catch((error: unknown) => {
    outcome = error
  })
  await pass(2000)
  expect(outcome).toMatchObject({ type: 'taken-over' })
})
