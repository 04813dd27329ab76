import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createPacer } from '../src/deliver/pace.ts'
import { emptyLedger, type LedgerStore } from '../src/ledger/ledger.ts'
import type { ChannelPort, Chat } from '../src/port/port.ts'
import { createSink } from '../src/sink.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { asks, call, questionOf, replyWith, settledWith, text } from './make.ts'
import { createScene, rest, type Scene } from './scene.ts'
import { beginning } from './timeline.ts'

const growing = (said: string) => replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }])
const whole = (said: string, afterMs?: number) => settledWith([{ ...text(said), id: 'prt_a' }], {}, afterMs)
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const callsOf = ({ fake }: Scene, verb: string) =>
  fake.calls.filter((one) => one.verb === verb).map(({ at }) => at - beginning)

describe('reactions', () => {
  const react = async (outcome: 'completed' | 'failed', reactions = true) => {
    const signs: unknown[] = []
    const { fake, clock } = createScene()
    const port: ChannelPort = { ...fake.port, react: async ({ id }, sign) => void signs.push([id, sign]) }
    const scene = createScene({ clock, sink: { port, replyTo: { id: 'q' }, policy: { reactions } } })
    scene.show(growing('It'))
    await scene.pass(3000)
    scene.show(settledWith([text('It is.')], { outcome }))
    await scene.end()
    await scene.pass(10_000)
    return signs
  }

  test('show that the message was seen, and then done', async () => {
    expect(await react('completed')).toEqual([
      ['q', 'seen'],
      ['q', 'done'],
    ])
  })

  test('are removed if the reply did not complete', async () => {
    expect(await react('failed')).toEqual([
      ['q', 'seen'],
      ['q', undefined],
    ])
  })

  test.each([
    ['a notice', [call('bash', { title: 'ls', status: 'error', error: 'no' }), text('It is.')], 'done'],
    ['the answer', [text('It is.')], undefined],
  ] as const)('say that it is done unless the answer is missing: without %s', async (_, parts, sign) => {
    const signs: unknown[] = []
    const { fake, clock } = createScene({ fake: { faults: [{ call: 1, type: 'refused' }] } })
    const port: ChannelPort = { ...fake.port, react: async (_, sign) => void signs.push(sign) }
    const scene = createScene({ clock, sink: { port, replyTo: { id: 'q' }, policy: { reactions: true } } })
    scene.show(settledWith(parts))
    expect((await scene.end()).undelivered).toHaveLength(1)
    await scene.pass(10_000)
    expect(signs.at(-1)).toBe(sign)
  })

  test('end no typing notice, so that it is not renewed for them', async () => {
    const { fake, clock } = createScene()
    let notices = 0
    const typing = async (on: boolean): Promise<void> => {
      if (on) notices += 1
    }
    const port: ChannelPort = { ...fake.port, typing, react: async () => {} }
    const scene = createScene({ clock, sink: { port, replyTo: { id: 'q' }, policy: { reactions: true } } })
    scene.show(replyWith([]))
    await scene.pass(1000)
    expect(notices).toBe(1)
  })

  test('wait for the calls that another process made in the chat', async () => {
    const limits = { ...fakeLimits, perChat: { calls: 1, perMs: 5000 } }
    const setAt: number[] = []
    const { fake, clock } = createScene({ fake: { limits } })
    const port: ChannelPort = { ...fake.port, react: async () => void setAt.push(clock.now() - beginning) }
    const other = { ...emptyLedger, recent: { times: { all: [beginning] } } }
    const store: LedgerStore = {
      read: async (_, onOther) => void onOther?.(JSON.stringify(other)),
      write: async () => {},
    }
    const scene = createScene({ clock, sink: { port, store, replyTo: { id: 'q' }, policy: { reactions: true } } })
    scene.show(replyWith([]))
    await scene.pass(6000)
    expect(setAt).toEqual([5000])
  })

  test('are only set if the policy asks for them', async () => {
    expect(await react('completed', false)).toEqual([])
  })
})

describe('typing', () => {
  test('shows the activity if the channel can, at most every 5 s, instead of a message', async () => {
    const said: (string | undefined)[] = []
    const { fake, clock } = createScene()
    const typing = async (on: boolean, { doing }: { readonly doing?: string | undefined }) =>
      void said.push(on ? doing : 'off')
    const limits = { ...fake.port.limits, typingMs: 60_000, typingHasStatus: true }
    const scene = createScene({ clock, sink: { port: { ...fake.port, limits, typing } } })
    for (const title of ['one', 'two', 'three']) {
      scene.show(replyWith([call('bash', { title })]))
      await scene.pass(2000)
    }
    await scene.pass(6000)
    scene.show(whole('Done.'))
    await scene.end()
    expect(said).toEqual([undefined, 'bash: one', 'bash: three', 'bash: three · 5s', 'off'])
    expect(textsOf({ ...scene, fake })).toEqual(['Done.'])
  })

  test('begins at once, is renewed, and stops at the end', async () => {
    const scene = createScene()
    scene.show(replyWith([]))
    await rest()
    expect(callsOf(scene, 'typing')).toEqual([0])
    await scene.pass(20_000)
    // The status is a message, which ended it.
    expect(callsOf(scene, 'post')).toEqual([1500])
    expect(callsOf(scene, 'typing')).toEqual([0, 1500, 5500, 9500, 13_500, 17_500])
    expect(scene.fake.isTyping()).toBe(true)
    scene.show(whole('Done.'))
    await scene.end()
    expect(scene.fake.isTyping()).toBe(false)
  })

  test('is sent 3 times at once and then every 2 s at most, whatever asks for it', async () => {
    const clock = createHandClock(beginning)
    const fake = createFake({ clock })
    const pace = createPacer({ clock }).chat({ id: 'chat' }, fake.port.limits)
    const sentAt: number[] = []
    for (let tick = 0; tick < 100; tick++) {
      if (pace.typingReadyAt() <= clock.now()) {
        sentAt.push(clock.now() - beginning)
        pace.startTyping()()
      }
      await clock.advance(100, rest)
    }
    expect(sentAt).toEqual([0, 100, 200, 2000, 4000, 6000, 8000])
  })

  test('is sent every 2 s at most by processes that share the client, so that one that takes a chat over meets no limit', async () => {
    const clock = createHandClock(beginning)
    const { limits } = createFake({ clock }).port
    const paceOf = () => {
      const pacer = createPacer({ clock })
      const { calls } = pacer.sharedBudgets({ ...limits, perClient: { calls: 20, perMs: 1000 } })
      calls?.setShare(10)
      return pacer.chat({ id: 'chat' }, limits)
    }
    const paces = [paceOf(), paceOf()]
    const sentAt: number[] = []
    for (let tick = 0; tick < 100; tick++) {
      // The second process knows nothing of what the first one sent.
      const pace = paces[tick < 41 ? 0 : 1]
      if (pace && pace.typingReadyAt() <= clock.now()) {
        sentAt.push(clock.now() - beginning)
        pace.startTyping()()
      }
      await clock.advance(100, rest)
    }
    expect(sentAt).toEqual([0, 2000, 4000, 4100, 6100, 8100])
  })

  test('is renewed right after each message, once for all replies of the chat', async () => {
    const clock = createHandClock(beginning)
    const pacer = createPacer({ clock })
    const fake = createFake({ clock })
    const show = (id: string, chat: Chat) => {
      const sink = createSink({ port: fake.port, render: fakeRender, chat, clock, pacer })
      const reply = { ...replyWith([{ ...text('It goes on.', { status: 'open' as const }), id }]), sessionID: id }
      sink.replyStarted?.({ type: 'replyStarted', reply })
    }
    const typingAt = () => fake.calls.filter(({ verb }) => verb === 'typing').map(({ at }) => at - beginning)
    show('one', { id: 'chat' })
    await clock.advance(0, rest)
    expect([fake.isTyping(), typingAt()]).toEqual([true, [0, 0]])
    await clock.advance(2000, rest)
    show('another', { id: 'chat' })
    show('in a thread', { id: 'chat', thread: 'a thread' })
    await clock.advance(0, rest)
    // Both begin to type, and both messages end what was shown: in the chat, and in the thread.
    expect(fake.calls.filter(({ verb }) => verb === 'post')).toHaveLength(3)
    expect([fake.isTyping(), typingAt().slice(2)]).toEqual([true, [2000, 2000, 2000, 2000]])
  })

  test.each(['completed', 'stopped', 'aborted', 'failed', 'timed-out', 'lost'] as const)(
    'stops when it %s',
    async (outcome) => {
      const scene = createScene()
      scene.show(replyWith([]))
      await scene.pass(1000)
      expect(scene.fake.isTyping()).toBe(true)
      scene.show(settledWith([], { outcome }))
      await scene.end()
      await scene.pass(60_000)
      expect(scene.fake.isTyping()).toBe(false)
      expect(scene.clock.pending).toBe(0)
    },
  )

  test('is skipped while the platform is rate-limited', async () => {
    const scene = createScene({ fake: { faults: [{ call: 1, type: 'rate-limited', retryAfterMs: 60_000 }] } })
    scene.show(growing('It'))
    await scene.pass(60_000)
    expect(callsOf(scene, 'typing')).toEqual([0])
    await scene.pass(10_000)
    expect(scene.fake.isTyping()).toBe(true)
  })

  test('pauses while a person is asked, and resumes afterwards', async () => {
    const scene = createScene()
    scene.show(replyWith([], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(10_000)
    expect(scene.fake.isTyping()).toBe(false)
    scene.show(replyWith([], { asks: [asks([questionOf()], { status: 'answered', answers: [['Red']] })] }))
    await scene.pass(1000)
    expect(scene.fake.isTyping()).toBe(true)
  })
})
