import type { PermissionAsk, Reply } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { createPacer } from '../src/deliver/pace.ts'
import type { Limits } from '../src/port/limits.ts'
import { createSink } from '../src/sink.ts'
import { createFake, type FakeMessage, fakeRender } from '../src/testing/fake.ts'
import { permits, replyWith, text } from './make.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

/** The rates of the channels, from their `limits.ts`. */
const rates: readonly (readonly [string, 'private' | 'shared', Partial<Limits>])[] = [
  ['Telegram', 'private', { editIntervalMs: 1100, perChat: { calls: 3, perMs: 3300 } }],
  ['Telegram', 'shared', { editIntervalMs: 3100, perChat: { calls: 1, perMs: 3100 } }],
  [
    'Slack',
    'private',
    { editIntervalMs: 1700, perChat: { calls: 1, perMs: 1100 }, perClient: { calls: 48, perMs: 61_000 } },
  ],
  ['Discord', 'private', { editIntervalMs: 500, perChat: { calls: 5, perMs: 5200 } }],
  ['WhatsApp', 'private', { edits: false, editIntervalMs: 6000, perChat: { calls: 1, perMs: 6000 } }],
  ['Baileys', 'shared', { buttons: undefined, editIntervalMs: 3000, perChat: { calls: 1, perMs: 3000 } }],
  ['Baileys', 'private', { buttons: undefined, editIntervalMs: 3000, perChat: { calls: 1, perMs: 3000 } }],
]

function boundOf(kind: 'private' | 'shared', { perChat = { calls: 1, perMs: 0 } }: Partial<Limits>): number {
  return Math.max(kind === 'private' ? 4000 : 7000, perChat.perMs / perChat.calls + 1000)
}

function replyOf(sessionID: string, length: number, asks: readonly PermissionAsk[]): Reply {
  const said = Array.from({ length: Math.ceil(length / 40) }, (_, at) => `Sentence ${at} of what is said at length.`)
  const parts = Array.from({ length: 1 + Math.floor(said.length / 20) }, (_, at) => {
    const sentences = said.slice(at * 20, (at + 1) * 20)
    const status = sentences.length === 20 ? 'sealed' : 'open'
    return { ...text(sentences.join(' '), { status }), id: `prt_${sessionID}_${at}` }
  })
  return { ...replyWith(parts, { phase: asks.length > 0 ? 'blocked' : 'working', asks }), sessionID }
}

/** Two long replies share one chat, and one of them asks at some time. Returns how long the first ask waits, in ms. */
async function waited(seed: number, kind: 'private' | 'shared', limits: Partial<Limits>): Promise<number> {
  const random = seededRandom(seed)
  const clock = createHandClock(beginning)
  const fake = createFake({ clock, limits })
  const pacer = createPacer({ clock })
  const mayAnswer = (): boolean => true
  const options = { port: fake.port, render: fakeRender, chat: { id: 'chat', kind }, pacer, clock, mayAnswer }
  const sinks = ['ses_1', 'ses_2'].map((sessionID) => ({ sessionID, sink: createSink(options) }))
  const [grows, asksAt, asking] = [random() * 400, 3000 + random() * 15_000, random() < 0.5 ? 'ses_1' : 'ses_2']
  const asks = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, at) =>
    permits({ requestID: `per_${at}`, title: `ask ${at}` }),
  )
  const isAsked = ({ text }: FakeMessage): boolean => text.includes('ask 0')
  let length = 0
  for (let at = 0; at < asksAt + 60_000; at += 250) {
    length += grows
    for (const { sessionID, sink } of sinks) {
      const reply = replyOf(sessionID, length, at >= asksAt && sessionID === asking ? asks : [])
      const observation = { reply, type: at === 0 ? 'replyStarted' : 'phaseChanged' } as const
      if (observation.type === 'replyStarted') sink.replyStarted?.({ type: 'replyStarted', reply })
      else sink.replyAmended?.({ type: 'replyAmended', reply })
    }
    await clock.advance(250, rest)
    if (fake.screen().some(isAsked)) {
      await Promise.all(sinks.map(({ sink }) => sink.stop()))
      return clock.now() - beginning - Math.ceil(asksAt / 250) * 250
    }
  }
  return Number.POSITIVE_INFINITY
}

describe('an ask is shown in time, whatever else waits', () => {
  test.each(rates)('%s, %s', async (_, kind, limits) => {
    let most = 0
    for (let seed = 1; seed <= 6; seed++) most = Math.max(most, await waited(seed, kind, limits))
    expect(most).toBeLessThanOrEqual(boundOf(kind, limits))
  })
})
