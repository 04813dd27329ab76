import type { Reply } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createPacer } from '../src/deliver/pace.ts'
import { createSink } from '../src/sink.ts'
import { createFake, type Fake, fakeRender } from '../src/testing/fake.ts'
import { asks, replyWith, settledWith, text } from './make.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

const perChat = { calls: 3, perMs: 3300 }

/** Ten replies that grow twice a second in one chat, on one client. */
async function crowd(act: (crowd: Crowd) => Promise<void>): Promise<Crowd> {
  const clock = createHandClock(beginning)
  const fake = createFake({ clock, limits: { perChat, editIntervalMs: 1100, maxLength: 4000 } })
  const pacer = createPacer({ clock })
  const sinks = Array.from({ length: 10 }, (_, index) => {
    const sink = createSink({ port: fake.port, render: fakeRender, chat: { id: 'chat' }, clock, pacer })
    return { sink, sessionID: `ses_${index}` }
  })
  let words = 0
  let quiet: string | undefined
  const made: Crowd = {
    fake,
    grow: async (forMs) => {
      for (let passed = 0; passed < forMs; passed += 500) {
        words += 1
        for (const { sink, sessionID } of sinks) {
          if (sessionID === quiet) continue
          const part = { ...text('word '.repeat(words), { status: 'open' as const }), id: `prt_${sessionID}` }
          sink.replyAmended?.({ type: 'replyAmended', reply: { ...replyWith([part]), sessionID } })
        }
        await clock.advance(500, rest)
      }
    },
    show: (reply) => {
      quiet = 'ses_0'
      sinks[0]?.sink.replyAmended?.({ type: 'replyAmended', reply: { ...reply, sessionID: 'ses_0' } })
    },
    now: clock.now,
  }
  for (const { sink, sessionID } of sinks) {
    const reply = { ...replyWith([{ ...text('word', { status: 'open' }), id: `prt_${sessionID}` }]), sessionID }
    sink.replyStarted?.({ type: 'replyStarted', reply })
  }
  await act(made)
  return made
}

interface Crowd {
  readonly fake: Fake
  grow(forMs: number): Promise<void>
  show(reply: Reply): void
  now(): number
}

async function waitFor(crowd: Crowd, said: string): Promise<number> {
  const from = crowd.now()
  while (crowd.now() - from < 120_000) {
    if (crowd.fake.screen().some(({ text: shown }) => shown.includes(said))) break
    await crowd.grow(500)
  }
  return crowd.now() - from
}

describe('beside nine growing replies in the chat,', () => {
  test('an ask goes first', async () => {
    let tookMs = 0
    await crowd(async (all) => {
      await all.grow(15_000)
      all.show(replyWith([{ ...text('Which?'), id: 'prt_ses_0' }], { phase: 'blocked', asks: [asks()] }))
      tookMs = await waitFor(all, 'Which one?')
    })
    expect(tookMs).toBeLessThanOrEqual(2000)
  })

  test('a final answer goes first', async () => {
    let tookMs = 0
    await crowd(async (all) => {
      await all.grow(15_000)
      all.show(settledWith([{ ...text('It is done.'), id: 'prt_ses_0' }]))
      tookMs = await waitFor(all, 'It is done.')
    })
    expect(tookMs).toBeLessThanOrEqual(2000)
  })

  test('typing goes on all the time', async () => {
    const { fake } = await crowd((all) => all.grow(20_000))
    const at = fake.calls.filter(({ verb }) => verb === 'typing').map((call) => call.at - beginning)
    expect(Math.max(...at.map((time, index) => time - (at[index - 1] ?? 0)))).toBeLessThanOrEqual(4000)
    expect(at.at(-1)).toBeGreaterThan(16_000)
  })
})
