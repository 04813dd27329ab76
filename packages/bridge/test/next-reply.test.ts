import { emptyReply, type Reply } from '@reply/core'
import type { Sink } from '@reply/sink'
import { telegramSink } from '@reply/telegram'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createInFlight, type InFlight } from '../../sink/test/in-flight.ts'
import { ledgersOf } from '../src/chats/ledgers.ts'
import type { Routes } from '../src/chats/routes.ts'
import { createMemoryStore, createStoreMemory, type StoreMemory } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

const token = '42:secret'
const chat = 1

let clock: HandClock
let memory: StoreMemory
let telegram: FakeTelegram
let inFlight: InFlight

beforeEach(async () => {
  clock = createHandClock()
  memory = createStoreMemory()
  inFlight = createInFlight()
  telegram = await startTelegram({ token, clock, chats: [{ id: chat, type: 'private', title: 'Ann' }] })
})

afterEach(async () => {
  await telegram.close()
})

/** A process that owns the chat. */
function openOwner() {
  const api = new Api(token, { apiRoot: telegram.url })
  api.config.use(async (call, ...given) => await inFlight.during(async () => await call(...given)))
  const store = ledgersOf({
    ...{ state: stateOf(createMemoryStore({ clock, memory })), channel: 'tg', serverOf: () => undefined },
    onShown: () => {},
    whenHeld: async () => new AbortController().signal,
    late: { report: async () => {}, listen: () => () => {} },
    routes: { writeMessages: () => [] } as Partial<Routes> as Routes,
  })
  const begin = (promptID: string) => {
    const startedAt = clock.now()
    const sink = telegramSink({ api, chatId: chat, clock, store })
    sink.replyStarted?.({ type: 'replyStarted', reply: { ...emptyReply('ses_1'), promptIDs: [promptID], startedAt } })
    return {
      write: (text: string) => show(sink, { ...replyOf(promptID, text), startedAt }),
      end: (text: string) => {
        const ends = { phase: 'settled', outcome: 'completed', finish: 'stop', settledAt: clock.now() } as const
        show(sink, { ...replyOf(promptID, text), startedAt, ...ends })
      },
      stop: async () => await sink.stop(),
    }
  }
  return { begin }
}

function show(sink: Sink, reply: Reply): void {
  sink.phaseChanged?.({ type: 'phaseChanged', before: 'working', phase: reply.phase, reply })
}

function replyOf(promptID: string, text: string): Reply {
  const part = { id: `prt_${promptID}`, messageID: `${promptID}_a`, raw: undefined, type: 'text', text } as const
  const message = { id: part.messageID, parts: [{ ...part, status: 'sealed' } as const], raw: undefined }
  return { ...emptyReply('ses_1'), promptIDs: [promptID], phase: 'working', messages: [message] }
}

const pass = async (ms: number): Promise<void> => await clock.advance(ms, inFlight.rest)
const calls = () => telegram.calls.filter(({ method }) => /^(?:send|edit).*Message/.test(method))

test('the next reply of a session counts the calls of the one before, which another process showed', async () => {
  const before = openOwner().begin('msg_1')
  before.write('It is the first answer.')
  await pass(100)
  before.end('It is the first answer. It ends.')
  await pass(100)
  await before.stop()
  const next = openOwner().begin('msg_2')
  next.write('It is the second answer.')
  await pass(100)
  next.end('It is the second answer. It ends.')
  await pass(10_000)
  expect(telegram.screen(chat).map(({ text }) => text)).toEqual([
    'It is the first answer. It ends.',
    'It is the second answer. It ends.',
  ])
  const [first = 0] = calls().map(({ at }) => at)
  // The limit is 3 calls in 3.3 s, so the third one is at once.
  expect(calls().map(({ at, status }) => [at - first, status])).toEqual([0, 100, 200, 3300].map((ms) => [ms, 200]))
})
