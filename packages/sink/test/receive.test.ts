import { createHandClock } from '@reply/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sealToken } from '../src/asks/token.ts'
import { pacerOf } from '../src/deliver/pace.ts'
import { ChannelError } from '../src/error.ts'
import type { Inbound } from '../src/inbound/inbound.ts'
import { createInboundReceiver } from '../src/inbound/receive.ts'
import { jsonOf } from '../src/inbound/webhook.ts'
import { type LedgerStore, memoryStore } from '../src/ledger/ledger.ts'
import { backOffMs } from '../src/port/back-off.ts'
import { createToPortError } from '../src/port/network.ts'
import { PortError } from '../src/port/port-error.ts'
import { createRecent } from '../src/recent.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { rest as calm } from './scene.ts'

const chat = { id: 'chat' }
const press = { type: 'press', chat, actor: { id: '5', name: 'Ada' }, token: 't', messageRef: { id: '1' } } as const

const writing: Inbound = {
  type: 'text',
  ...{ chat, actor: { id: '5', name: 'Ada' }, text: 'Hi', messageRef: { id: '1' } },
  ...{ isCommand: false, answer: async () => {} },
}

function receiver(onInbound: (inbound: Inbound, id: string) => unknown = () => {}, store?: LedgerStore) {
  const clock = createHandClock()
  const errors: ChannelError[] = []
  const client = {}
  return {
    clock,
    errors,
    pace: pacerOf(client, clock).chat(chat, fakeLimits),
    ...createInboundReceiver({
      ...{
        account: 'test',
        store,
        client,
        clock,
        onInbound,
        limitsOf: () => fakeLimits,
        handleMs: 5000,
        pressMs: 10_000,
      },
      ...{ toPortError: createToPortError('Chatty', () => undefined), Failure: ChannelError },
      onError: (error) => errors.push(error),
    }),
  }
}

test('a repeat is dropped before anything is made of it', async () => {
  const { receive } = receiver()
  let made = 0
  const make = (): undefined => {
    made += 1
  }
  expect(receive('1', make)).toBeInstanceOf(Promise)
  expect(receive('1', make)).toBeUndefined()
  expect(made).toBe(1)
})

test('the host gets the id of what the platform may deliver again, also to another process', async () => {
  const ids: string[] = []
  const onInbound = (_: Inbound, id: string): unknown => ids.push(id)
  for (const { receive } of [receiver(onInbound), receiver(onInbound)])
    await receive('update 7', () => ({ ...press, answer: async () => {} }))
  expect(ids).toEqual(['update 7', 'update 7'])
})

test('a press with a sealed token is dropped, because no platform may deliver one', async () => {
  const received: string[] = []
  const { receive } = receiver((inbound) => inbound.type === 'press' && received.push(inbound.token))
  for (const token of [sealToken('r~secret.once'), 'r~secret.once'])
    await receive(token, () => ({ ...press, token, answer: async () => {} }))
  expect(received).toEqual(['r~secret.once'])
})

test('a repeat after a restart is dropped by the store, and inbounds keep their order', async () => {
  const store = memoryStore()
  const received: string[] = []
  const onInbound = (inbound: Inbound): unknown => inbound.type === 'press' && received.push(inbound.token)
  const make = (token: string) => (): Inbound => ({ ...press, token, answer: async () => {} })
  const first = receiver(onInbound, store)
  expect(await Promise.all(['1', '2', '3'].map((id) => first.receive(id, make(id))))).toEqual(Array(3).fill('handled'))
  const second = receiver(onInbound, store)
  const results = ['3', '4', '2', '5'].map((id) => second.receive(id, make(`${id} again`)))
  expect(await Promise.all(results)).toEqual(['repeat', 'handled', 'repeat', 'handled'])
  expect(received).toEqual(['1', '2', '3', '4 again', '5 again'])
  expect([first.errors, second.errors]).toEqual([[], []])
})

test('a store that fails is reported, and the inbound is handled', async () => {
  const fail = async (): Promise<never> => {
    throw new Error('disk full')
  }
  const { receive, errors } = receiver(() => {}, { read: fail, write: fail })
  expect(await receive('1', () => ({ ...press, answer: async () => {} }))).toBe('handled')
  expect(errors).toMatchObject([{ type: 'store' }, { type: 'store', cause: { message: 'disk full' } }])
})

test('a host that fails is reported, and the press gets an answer without text', async () => {
  const said: (string | undefined)[] = []
  const { receive, errors } = receiver(() => Promise.reject(new Error('broken')))
  await receive('1', () => ({ ...press, answer: async (text) => void said.push(text) }))
  expect(said).toEqual([undefined])
  expect(errors).toMatchObject([{ type: 'inbound', message: 'A press in chat chat failed: broken' }])
})

test('a host that takes long holds up the next inbound and a stop for handleMs at most', async () => {
  const { receive, settled: rest, clock } = receiver(() => new Promise(() => {}))
  const [handled, rested] = [receive('1', () => ({ ...press, answer: async () => {} })), rest()]
  await clock.advance(5000, calm)
  await Promise.all([handled, rested])
})

const arrival = fc.record({ id: fc.constantFrom('a', 'b', 'c'), gap: fc.nat(4000), takes: fc.nat(9000) })

test('texts of a chat are handled one after the other, and wait for no other chat', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { maxLength: 12 }), async (arrivals) => {
      const begun: (readonly [string, number])[] = []
      const {
        receive,
        settled: rest,
        clock,
      } = receiver((inbound) => {
        const at = Number(inbound.type === 'text' && inbound.text)
        begun.push([String(at), clock.now()])
        return new Promise<void>((resolve) => void clock.after(arrivals[at]?.takes ?? 0, resolve))
      })
      const expected = new Map<string, number>()
      const freeAt = new Map<string, number>()
      for (const [at, { id, gap, takes }] of arrivals.entries()) {
        await clock.advance(gap, calm)
        void receive(String(at), () => ({ ...writing, chat: { id }, text: String(at) }))
        const begin = Math.max(clock.now(), freeAt.get(id) ?? 0)
        expected.set(String(at), begin)
        freeAt.set(id, begin + Math.min(takes, 5000))
      }
      const rested = rest()
      await clock.advance(70_000, calm)
      await rested
      expect(new Map(begun)).toEqual(expected)
      expect(begun).toHaveLength(arrivals.length)
    }),
    { numRuns: 30 },
  )
})

test('a press does not wait for the text before it, whose handler may wait for it', async () => {
  const types: string[] = []
  const { receive } = receiver(({ type }) => {
    types.push(type)
    return type === 'text' ? new Promise(() => {}) : undefined
  })
  void receive('1', () => writing)
  expect(await receive('2', () => ({ ...press, answer: async () => {} }))).toBe('handled')
  expect(types).toEqual(['text', 'press'])
})

test('a notice waits out a pause, but not for its turn among the messages', async () => {
  const sent: [string, number][] = []
  const { answerFor: answering, pace, clock, errors } = receiver()
  const begin = clock.now()
  const say = async (text: string): Promise<unknown> => sent.push([text, clock.now() - begin])
  const [first, second] = [1, 2].map(() => answering(press, { send: say, isMessage: false }))
  pace.startCall()
  await first?.('One.')
  pace.freeze(4000, 'chat')
  void second?.('Two.')
  await clock.advance(4000, calm)
  expect([sent, errors]).toEqual([
    [
      ['One.', 0],
      ['Two.', 4000],
    ],
    [],
  ])
})

test('a message that waits behind a call that does not end is dropped after a minute', async () => {
  const { answerFor: answering, pace, clock, errors } = receiver()
  pace.startCall()
  void answering(press, { send: async () => {}, isMessage: true })('Late.')
  await clock.advance(59_999, calm)
  expect(errors).toEqual([])
  await clock.advance(1, calm)
  expect(errors).toMatchObject([
    { type: 'answer', message: expect.stringMatching(/^answering a press in chat chat: dropped/) },
  ])
})

test('an answer without text is confirmed if the platform wants that; only the first answer counts', async () => {
  const said: string[] = []
  const { answerFor: answering } = receiver()
  const say = async (text: string): Promise<unknown> => said.push(text)
  const answer = answering(press, { send: say, confirm: async () => said.push('confirmed'), isMessage: false })
  await answer()
  await answer('Too late.')
  await answering(press, { send: say, isMessage: false })()
  expect(said).toEqual(['confirmed'])
})

test('a rate limit of one answer delays all calls of that client', async () => {
  const { answerFor: answering, pace, clock } = receiver()
  let tries = 0
  const say = async (): Promise<unknown> => {
    tries += 1
    if (tries === 1) throw new PortError('rate-limited', 'slow down', { retryAfterMs: 3000, scope: 'client' })
    return tries
  }
  void answering(press, { send: say, isMessage: false })('Hi.')
  await clock.advance(0, calm)
  expect(pace.readyAt('ask')).toBe(clock.now() + 3000)
  await clock.advance(2999, calm)
  expect(tries).toBe(1)
  await clock.advance(1, calm)
  expect(tries).toBe(2)
})

test('what is remembered has a bound: the oldest goes first, and what is set again is the newest', () => {
  const recent = createRecent<number>(2)
  for (const [at, key] of ['a', 'b', 'a', 'c'].entries()) recent.set(key, at)
  expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([2, undefined, 3])
})

test('the back-off doubles up to a minute', () => {
  expect([0, 1, 5, 6, 60].map(backOffMs)).toEqual([1000, 2000, 32_000, 60_000, 60_000])
})

test.each([
  ['text', '{"a":1}', { a: 1 }],
  ['bytes', new TextEncoder().encode('[1]'), [1]],
  ['text that is not JSON', 'a', undefined],
  ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), undefined],
])('the JSON of %s is read', (_, given, expected) => {
  expect(jsonOf(given)).toEqual(expected)
})
