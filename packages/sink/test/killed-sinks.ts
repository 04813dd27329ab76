import type { Reply } from '@reply/core'
import type { HandClock } from '@reply/testing'
import type { Delivery } from '../src/deliver/delivery.ts'
import type { ReadFile } from '../src/deliver/file-loader.ts'
import { type LedgerStore, memoryStore } from '../src/ledger/ledger.ts'
import type { ChannelPort } from '../src/port/port.ts'
import { createSink, type Sink } from '../src/sink.ts'
import { fakeRender } from '../src/testing/fake.ts'
import type { Fault, Kind } from './chat-model.ts'
import { rest } from './scene.ts'

/** How often a platform's client meets each of them when single requests fail: most of them were never done. */
export const singleFaults: readonly Fault[] = [
  ...(['unanswered', 'refused', 'reset-before', 'unavailable', 'limited', 'limited'] as const),
  ...(['late', 'reset-after', 'accepted-5xx'] as const),
]

/** As many as there are channels of each: Telegram, WhatsApp's Cloud API, Slack, Discord, and a linked device. */
export const chatKinds: readonly Kind[] = ['plain', 'sealed', 'searched', 'keyed', 'keyed']

/** A sink whose process is killed and replaced by another one, with the same chat and the same ledgers. */
export interface KilledSinks {
  /** Shows the newest state of the reply. */
  show(reply: Reply): void
  /** Kills the process. Another one goes on, and is shown the newest state. */
  kill(): void
  /** Lets time pass until the last process has settled. Rejects after two hours. */
  settled(): Promise<Delivery>
}

export function createKilledSinks({
  port,
  clock,
  readFile,
}: {
  readonly port: ChannelPort
  readonly clock: HandClock
  readonly readFile?: ReadFile
}): KilledSinks {
  const store = memoryStore()
  let life = 0
  let sink = live()
  let isStarted = false
  let newest: Reply | undefined
  return { show, kill, settled }

  function show(reply: Reply): void {
    newest = reply
    const type = isStarted ? 'partChanged' : 'replyStarted'
    isStarted = true
    const method = sink[type] as ((observation: unknown) => void) | undefined
    method?.({ type, reply })
  }

  function kill(): void {
    life += 1
    // A process that ends frees what it shares with the others of this test.
    void sink.stop()
    sink = live()
    isStarted = false
    if (newest) show(newest)
  }

  async function settled(): Promise<Delivery> {
    let delivery: Delivery | undefined
    void sink.settled().then((found) => {
      delivery = found
    })
    for (let waited = 0; waited < 7_200_000 && !delivery; waited += 5000) await clock.advance(5000, rest)
    if (!delivery) throw new Error('It did not settle within two hours.')
    return delivery
  }

  /** A process that is killed makes no further call, and hears of none. */
  function live(): Sink {
    const mine = life
    const alive = <T>(made: () => Promise<T>): Promise<T> => {
      if (mine !== life) return new Promise(() => {})
      return made().then(
        (value) => (mine === life ? value : new Promise(() => {})),
        (error) => (mine === life ? Promise.reject(error) : new Promise(() => {})),
      )
    }
    const { edit, remove, lookUp, upload, uploadAlbum } = port
    const mortal: ChannelPort = {
      limits: port.limits,
      post: (...given) => alive(() => port.post(...given)),
      ...(edit && { edit: (...given) => alive(() => edit(...given)) }),
      ...(remove && { remove: (...given) => alive(() => remove(...given)) }),
      ...(lookUp && { lookUp: (...given) => alive(() => lookUp(...given)) }),
      ...(upload && { upload: (...given) => alive(() => upload(...given)) }),
      ...(uploadAlbum && { uploadAlbum: (...given) => alive(() => uploadAlbum(...given)) }),
    }
    const mortalStore: LedgerStore = {
      read: store.read,
      write: (key, ledger) => alive(() => store.write(key, ledger)),
    }
    return createSink({
      ...{ port: mortal, render: fakeRender, chat: { id: 'chat' }, store: mortalStore },
      ...(readFile && { readFile }),
      clock: { now: clock.now, after: (ms, run) => clock.after(ms, () => mine === life && run()) },
    })
  }
}
