import type { PermissionAsk, Reply } from '@reply/core'
import { answerWith, type Inbound, type Sink } from '@reply/sink'
import { createHandClock } from '@reply/testing'
import { createFakeBaileys } from '@reply/testing/whatsapp'
import { expect, test } from 'vitest'
import { permits, replyWith } from '../../sink/test/make.ts'
import { baileysChannel } from '../src/index.ts'

const person = '4917000000002@s.whatsapp.net'
const lid = '222222222222222@lid'
const other = '333333333333333@lid'
const group = '120363000000000000@g.us'

const asked = (requestID: string, command: string): PermissionAsk =>
  permits({ requestID, patterns: [command], title: command, call: { tool: 'bash', input: { command } } })

/** A host whose agent waits for two permissions, in the chat with the last prompt. */
async function host(jid: string, from = lid) {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock })
  const given: string[] = []
  let asks: readonly PermissionAsk[] = [asked('per_1', 'npm test'), asked('per_2', 'rm -rf dist')]
  let sink: Sink | undefined
  const received: Inbound[] = []
  const tell = (): void => {
    const reply: Reply = replyWith([], { phase: 'blocked', asks })
    sink?.phaseChanged?.({ type: 'phaseChanged', before: 'working', phase: reply.phase, reply })
  }
  const settle = (requestID: string, said: 'once' | 'always' | 'reject'): void => {
    given.push(`${requestID} ${said}`)
    const status = said === 'reject' ? 'rejected' : 'answered'
    asks = asks.map((ask) => (ask.requestID === requestID ? { ...ask, status, reply: said } : ask))
    tell()
  }
  const answer = answerWith({
    client: {
      answer: async (ask, said) => settle(ask.requestID, said === 'always' ? 'always' : 'once'),
      reject: async (ask) => settle(ask.requestID, 'reject'),
      abort: async () => {},
    },
    running: () => (sink ? [{ sink, stream: { abort: async () => expect.fail() } }] : []),
  })
  const channel = baileysChannel({
    clock,
    onInbound: async (inbound) => {
      received.push(inbound)
      if ((await answer(inbound)) || sink) return
      sink = channel.sinkFor(inbound)
      sink.replyStarted?.({ type: 'replyStarted', reply: replyWith([], { phase: 'blocked', asks }) })
    },
  })
  channel.setSocket(baileys.connect())
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 200; turn++) await Promise.resolve()
  }
  const pass = async (ms: number): Promise<void> => await clock.advance(ms, rest)
  const ours = () => baileys.screen(jid).filter((one) => one.from === 'me')
  baileys.say(jid, 'Go', { from, alt: person })
  await pass(20_000)
  return { baileys, given, received, pass, ours, stop: async () => await sink?.stop() }
}

test('in a private chat one permission is shown at a time, and a bare word answers it', async () => {
  const { baileys, given, pass, ours, stop } = await host(person)
  expect(ours().map(({ text }) => /npm test|rm -rf dist/.exec(text)?.[0])).toEqual(['npm test'])
  expect(ours()[0]?.text).toContain('1 to allow it once, 2 to allow it always, or 3 to reject it')
  baileys.say(person, '1')
  await pass(20_000)
  expect(given).toEqual(['per_1 once'])
  expect(ours().map(({ text }) => /npm test|rm -rf dist/.exec(text)?.[0])).toEqual(['npm test', 'rm -rf dist'])
  baileys.say(person, '3')
  await pass(20_000)
  expect(given).toEqual(['per_1 once', 'per_2 reject'])
  await stop()
})

test('in a group only a reply by the person who asked answers a permission', async () => {
  const { baileys, given, pass, ours, stop } = await host(group)
  const ask = ours().find(({ text }) => text.includes('npm test'))
  expect(ask).toBeDefined()
  baileys.say(group, '1', { from: lid, alt: person })
  baileys.say(group, '1', { from: other, replyTo: ask?.id ?? '' })
  baileys.say(group, '1', { from: lid, alt: person, isForwarded: true, replyTo: ask?.id ?? '' })
  await pass(20_000)
  expect(given).toEqual([])
  // By number this time: the same person.
  baileys.say(group, '1', { from: person, alt: lid, replyTo: ask?.id ?? '' })
  await pass(20_000)
  expect(given).toEqual(['per_1 once'])
  await stop()
})
