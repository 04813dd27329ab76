import { emptyReply, type Message, type Reply } from '@reply/core'
import type { Delivery } from '@reply/sink'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { postReply } from '../src/commands/command.ts'
import { stopRuns } from '../src/commands/stop-cancel-interrupt.ts'
import { texts } from '../src/texts.ts'

const actor = { id: '1', name: 'Ann' }
const begun: Reply = { ...emptyReply('s1'), phase: 'working' }
const parts: Message['parts'] = [
  { id: 'prt_1', messageID: 'msg_1', type: 'text', text: 'Working.', status: 'open', raw: undefined },
]
const writing: Reply = { ...begun, messages: [{ id: 'msg_1', parts, raw: undefined }] }

/** Stops a run, or two with `count`. `delivery` is called for each. Returns what is posted, and the clock. */
function stopRun({
  kind = 'private',
  reply = writing,
  delivery = async (_index: number): Promise<Partial<Delivery>> => ({ saysStopped: true }),
  count = 1,
} = {}) {
  const place = { channel: 'tg', chat: { id: '1', kind: kind as 'private' | 'shared' } }
  const clock = createHandClock()
  const posted: string[] = []
  const active = Array.from({ length: count }, (_, index) => ({
    ageMs: () => 10_000,
    stream: () => ({ reply }),
    sinks: [{ ...place, sink: { settled: async () => await delivery(index), closedBy: () => () => {} } }],
    cancel: async () => {},
    execution: () => ({ id: `run${index}`, prompt: { ...place, actor } }),
  }))
  const services = {
    ...{ clock, runner: { whenRestored: async () => {} }, runs: { active: () => active }, onError: () => {} },
    people: { personOf: () => undefined, isSamePerson: () => true },
  } as unknown as Parameters<typeof stopRuns>[0]
  const channels = {
    post: async () => [],
    tryPost: async (_: unknown, { text }: { readonly text: string }) => {
      posted.push(text)
      return []
    },
  }
  const person = { may: new Set() } as unknown as Parameters<typeof stopRuns>[1]['person']
  const done = stopRuns(services, { place, person, actor }).then((told) => postReply(channels, place, told))
  return { posted, clock, done }
}

test('a stop that the answer says gets no message', async () => {
  const { posted, done } = stopRun()
  await done
  expect(posted).toEqual([])
})

test.each<[string, Parameters<typeof stopRun>[0]]>([
  ['the answer does not say it', { delivery: async () => ({}) }],
  ['the chat is a group', { kind: 'shared' }],
  [
    'only one of two answers says it',
    { count: 2, delivery: async (index) => (index > 0 ? { saysStopped: true } : {}) },
  ],
  ['the answer has no text', { reply: begun, delivery: async () => await new Promise(() => {}) }],
])('a stop gets a message if %s', async (_, options) => {
  const { posted, done } = stopRun(options)
  await done
  expect(posted).toEqual([texts.canceled])
})

test('a stop gets a message if the answer does not say it within 4 s', async () => {
  const { posted, clock, done } = stopRun({ delivery: async () => await new Promise(() => {}) })
  await expect.poll(() => clock.pending).toBe(1)
  await clock.advance(3999)
  expect(posted).toEqual([])
  await clock.advance(1)
  await done
  expect(posted).toEqual([texts.canceled])
})
