import type { Observation, Reply } from '@reply/core'
import { createHandClock, type HandClock } from '@reply/testing'
import type { Delivery } from '../src/deliver/delivery.ts'
import type { SinkError } from '../src/error.ts'
import { type Ledger, type LedgerStore, memoryStore } from '../src/ledger/ledger.ts'
import { createSink, type Sink, type SinkOptions } from '../src/sink.ts'
import { createFake, type Fake, type FakeMessage, fakeRender } from '../src/testing/fake.ts'
import type { FakeOptions } from '../src/testing/fake-options.ts'
import { beginning, type Timeline } from './timeline.ts'

export interface SceneOptions {
  readonly fake?: Omit<FakeOptions, 'clock'> | undefined
  readonly sink?: Partial<SinkOptions> | undefined
  readonly clock?: HandClock | undefined
}

/** A sink on a fake chat, with a manual clock. */
export interface Scene {
  readonly clock: HandClock
  readonly fake: Fake
  readonly store: LedgerStore
  readonly errors: readonly SinkError[]
  sink(): Sink
  show(reply: Reply, type?: Observation['type']): void
  pass(ms: number): Promise<void>
  /** Kills the process and starts another one with the same store. */
  restart(): void
  /** Waits until everything is shown, at most an hour of the clock. */
  end(): Promise<Delivery>
}

export function createScene({
  fake: fakeOptions,
  sink: sinkOptions,
  clock = createHandClock(beginning),
}: SceneOptions = {}): Scene {
  const fake = createFake({ clock, ...fakeOptions })
  const store = memoryStore()
  const errors: SinkError[] = []
  let count = 0
  const open = (): Sink =>
    createSink({
      port: fake.port,
      render: fakeRender,
      chat: { id: 'chat' },
      store,
      clock,
      secret: (length) => `${++count}`.padStart(length, 'x'),
      onError: (error) => errors.push(error),
      ...sinkOptions,
    })
  let sink = open()
  const shown = new Set<string>()
  return {
    clock,
    fake,
    store,
    errors,
    sink: () => sink,
    show,
    pass: async (ms) => await clock.advance(ms, rest),
    restart: () => {
      void sink.stop()
      sink = open()
      shown.clear()
    },
    end,
  }

  function show(reply: Reply, type?: Observation['type']): void {
    const isNew = !shown.has(reply.sessionID)
    shown.add(reply.sessionID)
    const how = type ?? (isNew ? 'replyStarted' : 'phaseChanged')
    const method = sink[how] as ((observation: unknown) => unknown) | undefined
    method?.({ type: how, reply })
  }

  async function end(): Promise<Delivery> {
    let delivery: Delivery | undefined
    void sink.settled().then((found) => {
      delivery = found
    })
    for (let waited = 0; waited < 3_600_000 && !delivery; waited += 5000) await clock.advance(5000, rest)
    if (!delivery) throw new Error(`Not shown within an hour: ${JSON.stringify(fake.screen())}`)
    return delivery
  }
}

/** Waits until nothing changes: a call takes some twenty turns of the microtask queue, and an ask up to six calls. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 150; turn++) await Promise.resolve()
}

export async function playTimeline(scene: Scene, timeline: Timeline): Promise<Delivery> {
  let at = 0
  for (const { atMs, reply } of timeline.states) {
    await scene.pass(atMs - at)
    at = atMs
    scene.show(reply)
  }
  return await scene.end()
}

export async function ledgerOf(scene: Scene, key: string): Promise<Ledger> {
  return JSON.parse((await scene.store.read(key)) ?? 'null')
}

/** The text of the file that a message has. Empty without one. */
export function fileTextOf({ files: [file] }: FakeMessage): string {
  return file ? new TextDecoder().decode(file.bytes) : ''
}
