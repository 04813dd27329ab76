import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import type { AskResult } from '../src/asks/answering.ts'
import type { Delivery } from '../src/deliver/delivery.ts'
import { createPacer } from '../src/deliver/pace.ts'
import { createSink } from '../src/sink.ts'
import { fakeRender } from '../src/testing/fake.ts'
import { asks, call, questionOf, replyWith, settledWith, text } from './make.ts'
import { pressing } from './pressing.ts'
import { createScene, rest, type Scene } from './scene.ts'
import { beginning } from './timeline.ts'

const growing = (said: string) => replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }])
const whole = (said: string, afterMs?: number) => settledWith([{ ...text(said), id: 'prt_a' }], {}, afterMs)
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)
const callsOf = ({ fake }: Scene, verb: string) =>
  fake.calls.filter((one) => one.verb === verb).map(({ at }) => at - beginning)

describe('growing text', () => {
  test('is shown 200 ms after it began', async () => {
    const scene = createScene()
    scene.show(growing('It'))
    await scene.pass(199)
    expect(textsOf(scene)).toEqual([])
    await scene.pass(1)
    expect(textsOf(scene)).toEqual(['It'])
  })

  test.each([
    ['a sentence', 'Yes, it is.', 'Yes, it i'],
    ['a sentence that goes on', 'It is. And', 'It is'],
    ['a sentence in bold', '**Done.** And', '**Done'],
    ['a sentence in Chinese', '可以。', '可以'],
    ['forty characters', 'x'.repeat(40), 'x'.repeat(39)],
  ])('is shown at once from %s', async (_, enough, less) => {
    const scene = createScene()
    scene.show(growing(less))
    await scene.pass(50)
    expect(textsOf(scene)).toEqual([])
    scene.show(growing(enough))
    await scene.pass(0)
    expect(callsOf(scene, 'post')).toEqual([50])
  })

  test.each(['1.', '3.14', 'v1.2.', '...', 'e'])('waits for more than %j', async (less) => {
    const scene = createScene()
    scene.show(growing(less))
    await scene.pass(199)
    expect(textsOf(scene)).toEqual([])
    await scene.pass(1)
    expect(textsOf(scene)).toEqual([less])
  })

  test.each([
    ['looks at each of the few deltas while it gathers', { calls: 5, perMs: 5000 }, 30],
    ['looks once while the platform lets it wait', { calls: 1, perMs: 5000 }, 1],
  ])('%s', async (_, perChat, times) => {
    const clock = createHandClock(beginning)
    const [pacer, fake] = [createPacer({ clock }), { limits: { perChat } }]
    const before = createScene({ clock, fake, sink: { pacer } })
    before.show(settledWith([text('Before.')]))
    await before.pass(0)
    expect(textsOf(before)).toEqual(['Before.'])
    const looks = new Set<string>()
    const render: typeof fakeRender = (source) => {
      if (/^x+$/.test(source)) looks.add(source)
      return fakeRender(source)
    }
    const scene = createScene({ clock, fake, sink: { pacer, render } })
    const { asks } = growing('')
    for (let letters = 1; letters <= 30; letters++) {
      // The asks are the same object until they change.
      scene.show({ ...growing('x'.repeat(letters)), asks })
      await scene.pass(1)
    }
    expect(looks.size).toBe(times)
  })

  test('is edited evenly, as often as its share of the budget allows, each time to the newest text', async () => {
    const scene = createScene()
    for (let letters = 1; letters <= 30; letters++) {
      scene.show(growing('x'.repeat(letters)))
      await scene.pass(100)
    }
    expect(callsOf(scene, 'post')).toEqual([200])
    expect(callsOf(scene, 'edit')).toEqual([1450, 2700])
    expect(textsOf(scene)[0]).toMatch(/^x{27}/)
    scene.show(whole('x'.repeat(30)))
    await scene.end()
    expect(textsOf(scene)).toEqual(['x'.repeat(30)])
  })

  test('is written by one call at a time', async () => {
    let [running, most] = [0, 0]
    const { fake } = createScene()
    const slow = async <T>(act: () => Promise<T>): Promise<T> => {
      running += 1
      most = Math.max(most, running)
      await new Promise<void>((resolve) => void scene.clock.after(700, resolve))
      running -= 1
      return await act()
    }
    const { edit } = fake.port
    const port: typeof fake.port = {
      ...fake.port,
      post: (bubble, options) => slow(() => fake.port.post(bubble, options)),
      ...(edit && { edit: (ref, bubble, options) => slow(() => edit(ref, bubble, options)) }),
    }
    const scene = createScene({ sink: { port } })
    for (let letters = 1; letters <= 30; letters++) {
      scene.show(growing('x'.repeat(letters)))
      await scene.pass(100)
    }
    scene.show(whole('x'.repeat(30)))
    await scene.end()
    expect(most).toBe(1)
    expect(fake.screen().map((message) => message.text)).toEqual(['x'.repeat(30)])
  })

  test('is not edited without a change', async () => {
    const scene = createScene({ sink: { policy: { verbosity: 'quiet' } } })
    scene.show(growing('The same.'))
    await scene.pass(1000)
    for (let count = 0; count < 5; count++) {
      scene.show(growing('The same.'))
      await scene.pass(1000 / 5)
    }
    expect(callsOf(scene, 'edit')).toEqual([])
  })

  test('carries the status below it, which goes at the end', async () => {
    const scene = createScene()
    scene.show(growing('It begins.'))
    await scene.pass(5000)
    expect(textsOf(scene)).toEqual(['It begins.\n\n*Writing · 5s*'])
    scene.show(whole('It begins.'))
    await scene.end()
    expect(textsOf(scene)).toEqual(['It begins.'])
  })

  test('takes over the message of the status', async () => {
    const scene = createScene()
    scene.show(replyWith([call('bash', { title: 'npm test' })]))
    await scene.pass(2000)
    expect(textsOf(scene)).toEqual(['*bash: npm test*'])
    scene.show(growing('It'))
    await scene.pass(2000)
    expect(textsOf(scene)[0]).toMatch(/^It/)
    expect(scene.fake.posted).toHaveLength(1)
  })

  test('is posted again if only an older try of it is there, and stays', async () => {
    const limits = { idempotent: true, editWindowMs: 3000 }
    const faults = [
      { call: 1, type: 'done' },
      { call: 2, type: 'rate-limited', retryAfterMs: 600_000 },
    ] as const
    const scene = createScene({ fake: { limits, faults } })
    scene.show(growing('Fa'))
    await scene.pass(1000)
    scene.show(whole('Family.'))
    expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 1 })
    expect(textsOf(scene)).toEqual(['Fa', 'Family.'])
  })

  test('waits out a rate limit, and loses nothing', async () => {
    const scene = createScene({ fake: { faults: [{ call: 2, type: 'rate-limited', retryAfterMs: 600_000 }] } })
    scene.show(growing('One'))
    await scene.pass(1000)
    scene.show(whole('One. Two.'))
    const delivery = await scene.end()
    expect(delivery).toMatchObject({ undelivered: [], rateLimited: 1 })
    expect(textsOf(scene)).toEqual(['One. Two.'])
    expect(callsOf(scene, 'edit').length).toBeLessThanOrEqual(2)
  })
})

describe('an ask', () => {
  test('is answered by its button, and shows the answer', async () => {
    const scene = createScene()
    scene.show(replyWith([], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(1000)
    expect(scene.fake.notifications).toBe(1)
    const data = scene.fake.screen()[0]?.buttons.flat()[1]?.data ?? ''
    const taken: AskResult | undefined = await scene
      .sink()
      .readAnswer(pressing(scene, data), { id: 'Ada', name: 'Ada' })
    expect(taken).toMatchObject({ type: 'answer', answer: [['Green']], ask: { requestID: 'que_1' } })
    scene.show(
      settledWith([text('Green it is.')], {
        asks: [asks([questionOf()], { status: 'answered', answers: [['Green']] })],
      }),
    )
    await scene.end()
    expect(textsOf(scene)).toEqual(['❓ **Colour**\n\nWhich one?\n\n✅ Green · Ada', 'Green it is.'])
    expect(scene.fake.screen()[0]?.buttons).toEqual([])
  })

  test('is answered once, unless the server did not accept the answer', async () => {
    const scene = createScene()
    scene.show(replyWith([], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(1000)
    const data = scene.fake.screen()[0]?.buttons.flat()[1]?.data ?? ''
    const first = await scene.sink().readAnswer(pressing(scene, data), { id: 'Ada', name: 'Ada' })
    const second = await scene.sink().readAnswer(pressing(scene, data), { id: 'Bob', name: 'Bob' })
    expect(second?.type).toBe('error')
    second?.undo()
    expect((await scene.sink().readAnswer(pressing(scene, data), { id: 'Bob', name: 'Bob' }))?.type).toBe('error')
    first?.undo()
    expect(await scene.sink().readAnswer(pressing(scene, data), { id: 'Bob', name: 'Bob' })).toMatchObject({
      type: 'answer',
      answer: [['Green']],
    })
  })

  test('that was withdrawn says so, and has no buttons', async () => {
    const scene = createScene()
    scene.show(replyWith([], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(1000)
    scene.show(settledWith([], { outcome: 'aborted', asks: [asks([questionOf()], { status: 'withdrawn' })] }))
    await scene.end()
    expect(textsOf(scene)).toEqual(['❓ **Colour**\n\nWhich one?\n\nNo longer needed.', '*Aborted.*'])
    expect(scene.fake.screen()[0]?.buttons).toEqual([])
  })

  test('is answered by its button after a restart, too', async () => {
    const scene = createScene()
    const blocked = replyWith([], { phase: 'blocked', asks: [asks()] })
    scene.show(blocked)
    await scene.pass(1000)
    const data = scene.fake.screen()[0]?.buttons.flat()[0]?.data ?? ''
    scene.restart()
    scene.show(blocked)
    await scene.pass(5000)
    expect(scene.fake.posted).toHaveLength(1)
    expect(await scene.sink().readAnswer(pressing(scene, data))).toMatchObject({ type: 'answer', answer: [['Red']] })
  })
})

describe('the message that notifies', () => {
  test('of a long reply is one line if its text only grew by edits', async () => {
    const scene = createScene({ sink: { replyTo: { id: 'asked' } } })
    scene.show(growing('It'))
    await scene.pass(40_000)
    scene.show(whole('It is done.', 40_000))
    await scene.end()
    expect(textsOf(scene)).toEqual(['It is done.', 'Done in 40s.'])
    expect(scene.fake.screen().map(({ replyTo, isSilent }) => [replyTo, isSilent])).toEqual([
      ['asked', true],
      ['1', false],
    ])
  })

  test('of a long reply with its answer at the end is that answer', async () => {
    const scene = createScene()
    scene.show(replyWith([call('bash', { title: 'npm test' })]))
    await scene.pass(40_000)
    scene.show(whole('It is done.', 40_000))
    await scene.end()
    await scene.pass(60_000)
    expect(textsOf(scene)).toEqual(['It is done.'])
    expect(scene.fake.notifications).toBe(1)
  })

  test('of a failure is the failure, once', async () => {
    const scene = createScene()
    scene.show(growing('It'))
    await scene.pass(2000)
    scene.show(settledWith([{ ...text('It'), id: 'prt_a' }], { outcome: 'failed' }))
    await scene.end()
    expect(scene.fake.notifications).toBe(1)
    expect(textsOf(scene)[1]).toMatch(/^⚠️ Failed/)
  })
})

describe('a sink', () => {
  test('resumes after a restart', async () => {
    const scene = createScene()
    scene.show(growing('One'))
    await scene.pass(1000)
    scene.restart()
    scene.show(growing('One two'))
    await scene.pass(3000)
    scene.show(whole('One two three.'))
    await scene.end()
    expect(textsOf(scene)).toEqual(['One two three.'])
    expect(scene.fake.posted).toHaveLength(1)
  })

  test('that is restarted after the end posts nothing more', async () => {
    const scene = createScene()
    scene.show(whole('All of it.'))
    await scene.end()
    const calls = scene.fake.calls.length
    scene.restart()
    scene.show(whole('All of it.'))
    expect(await scene.end()).toMatchObject({ shown: 1, undelivered: [] })
    expect(scene.fake.calls.slice(calls)).toEqual([])
  })

  test('that is stopped names what is missing', async () => {
    const scene = createScene()
    scene.show(growing('One'))
    await scene.pass(300)
    scene.show(growing(`One ${'word '.repeat(200)}`))
    let delivery: Delivery | undefined
    void scene
      .sink()
      .settled()
      .then((found) => {
        delivery = found
      })
    await scene.sink().stop()
    await rest()
    expect(delivery?.undelivered.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['answer#0', 'answer#1', 'answer#2']),
    )
    expect(scene.fake.isTyping()).toBe(false)
    expect(scene.clock.pending).toBe(0)
  })

  test('that is stopped with nothing to show names nothing', async () => {
    const scene = createScene()
    await scene.sink().stop()
    expect(await scene.sink().settled()).toEqual({ shown: 0, undelivered: [], doubtful: 0, calls: 0, rateLimited: 0 })
  })

  test('sums up what it showed, one reply after another', async () => {
    const scene = createScene()
    for (const promptID of ['msg_1', 'msg_2', 'msg_3']) {
      scene.show({ ...whole('All of it.'), promptIDs: [promptID] }, 'replyStarted')
      expect(await scene.end()).toMatchObject({ shown: Number(promptID.slice(-1)) })
    }
  })

  test('shares a pacer with another one of the same chat', async () => {
    const first = createScene()
    const pacer = createPacer({ clock: first.clock })
    const sinks = ['ses_1', 'ses_2'].map(() =>
      createSink({ port: first.fake.port, render: fakeRender, chat: { id: 'chat' }, clock: first.clock, pacer }),
    )
    for (const [index, sink] of sinks.entries()) {
      const reply = { ...whole('word '.repeat(300)), sessionID: `ses_${index}` }
      sink.replyStarted?.({ type: 'replyStarted', reply })
    }
    let deliveries: readonly Delivery[] = []
    void Promise.all(sinks.map((sink) => sink.settled())).then((found) => {
      deliveries = found
    })
    for (let count = 0; count < 30; count++) await first.pass(1000)
    expect(deliveries.map(({ undelivered, rateLimited }) => [undelivered.length, rateLimited])).toEqual([
      [0, 0],
      [0, 0],
    ])
  })
})
