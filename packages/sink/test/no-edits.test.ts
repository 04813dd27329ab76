import { describe, expect, test } from 'vitest'
import { answerWith } from '../src/inbound/answer.ts'
import type { Inbound } from '../src/inbound/inbound.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import type { FakeOptions } from '../src/testing/fake-options.ts'
import { asks, call, questionOf, replyWith, settledWith, text, viewOf } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const never: Omit<FakeOptions, 'clock'> = { limits: { edits: false }, lacks: ['edit', 'remove'] }
const answered = { status: 'answered', answers: [['Red']] } as const
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)

describe('without edits', () => {
  test('an ask with several answers has no buttons, as they could not show what is picked', () => {
    const reply = replyWith([], { phase: 'blocked', asks: [asks([questionOf({ multiple: true })])] })
    const state = { answers: [], picked: [] }
    const ledger = { ...emptyLedger, asks: { que_1: state } }
    const asked = (edits: boolean) => viewOf(reply, { edits, ledger }).cards[0]
    expect(asked(true)).toMatchObject({ buttons: [[{}], [{}], [{}], [{}]] })
    expect(asked(false)).toMatchObject({ buttons: [], source: expect.stringContaining('Reply with the numbers') })
  })

  test('a text is complete when something follows it, and stands before the ask', async () => {
    const scene = createScene({ fake: never })
    const said = { ...text('Let me ask.', { status: 'open' }), id: 'prt_a' }
    scene.show(replyWith([said]))
    await scene.pass(2000)
    expect(textsOf(scene)).toEqual([])
    scene.show(replyWith([said, call('question')], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(5000)
    expect(textsOf(scene)).toEqual(['Let me ask.', expect.stringContaining('Which one?')])
  })
})

describe('where nothing can be edited and every post notifies', () => {
  const loud: Omit<FakeOptions, 'clock'> = { ...never, limits: { edits: false, silent: false } }
  const policy = { heartbeatMs: 180_000, toolThrottleMs: 60_000 }
  const said = (words: string) => replyWith([{ ...text(words, { status: 'open' }), id: 'prt_a' }])

  test('a text that trickles for 40 minutes is shown paragraph by paragraph, and no heartbeat', async () => {
    const scene = createScene({ fake: loud, sink: { policy } })
    let words = ''
    for (let minute = 1; minute <= 40; minute++) {
      words += `It is minute ${minute}.\n\nThe next o`
      scene.show(said(words))
      await scene.pass(60_000)
      words += 'ne follows. '
    }
    const early = textsOf(scene)
    expect(early[0]).toMatch(
      /^It is minute 1\.\n\nThe next one follows\. It is minute 2\.\n\nThe next one follows\. It is minute 3\.$/,
    )
    expect(early.length).toBeGreaterThan(10)
    expect(early.every((one) => /The next one follows\. It is minute \d+\.$/.test(one))).toBe(true)
    scene.show(settledWith([{ ...text(words), id: 'prt_a' }], {}, 2_460_000))
    expect(await scene.end()).toMatchObject({ undelivered: [] })
    expect(textsOf(scene).join(' ').replace(/\s+/g, ' ')).toBe(words.trim().replace(/\s+/g, ' '))
    expect(scene.fake.posted.length).toBe(early.length + 1)
  })

  test('code is shown whole', async () => {
    const scene = createScene({ fake: loud, sink: { policy } })
    scene.show(said('It is this.\n\n```ts\nconst a = 1\n\nconst b'))
    await scene.pass(200_000)
    expect(textsOf(scene)).toEqual(['It is this.'])
  })

  test('a text without a finished paragraph gets a heartbeat', async () => {
    const scene = createScene({ fake: loud, sink: { policy } })
    scene.show(said('It is a long sent'))
    await scene.pass(179_999)
    expect(textsOf(scene)).toEqual([])
    await scene.pass(10_001)
    expect(textsOf(scene)).toEqual([expect.stringContaining('Still working: Writing')])
  })

  test('an hour of short tool calls rings less and less often', async () => {
    const scene = createScene({ fake: loud, sink: { policy } })
    const parts: ReturnType<typeof call>[] = []
    const minutes: number[] = []
    for (let at = 0; at < 3600; at += 10) {
      const before = scene.fake.posted.length
      const running = { ...call('bash', { status: 'running', title: `test ${at}` }), id: `prt_${at}` }
      scene.show(replyWith([...parts, running]))
      await scene.pass(8000)
      parts.push({ ...call('bash', { status: 'completed', title: `test ${at}` }), id: `prt_${at}` })
      scene.show(replyWith(parts))
      await scene.pass(2000)
      if (scene.fake.posted.length > before) minutes.push(Math.round(at / 60))
    }
    scene.show(settledWith([...parts, text('Done.')], {}, 3_600_000))
    await scene.end()
    expect(minutes).toEqual([0, 1, 3, 7, 15, 23, 31, 39, 47, 55])
    expect(scene.fake.posted.length).toBe(minutes.length + 1)
    expect(textsOf(scene).at(-1)).toBe('Done.')
  })
})

describe('where every post notifies', () => {
  const loud: Omit<FakeOptions, 'clock'> = { limits: { silent: false } }

  test('a status has a message of its own after a minute of silence, which becomes the answer', async () => {
    const scene = createScene({ fake: loud })
    scene.show(replyWith([call('bash', { title: 'npm test' })]))
    await scene.pass(59_999)
    expect([textsOf(scene), scene.fake.isTyping()]).toEqual([[], true])
    await scene.pass(60_001)
    expect(textsOf(scene)).toEqual([expect.stringMatching(/npm test · 2m/)])
    scene.show(settledWith([text('It is done.')], {}, 120_000))
    await scene.end()
    expect(textsOf(scene)).toEqual(['It is done.', expect.stringContaining('Done')])
    expect(scene.fake.posted).toHaveLength(2)
  })

  test('a message of another kind ends the silence', async () => {
    const scene = createScene({ fake: loud })
    scene.show(replyWith([], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(50_000)
    scene.show(replyWith([call('bash', { title: 'npm test' })], { asks: [asks([questionOf()], answered)] }))
    await scene.pass(9000)
    expect(textsOf(scene)).toHaveLength(1)
    await scene.pass(2000)
    expect(textsOf(scene)).toEqual([expect.anything(), expect.stringContaining('npm test')])
  })

  test('it stands below growing text', async () => {
    const scene = createScene({ fake: loud })
    scene.show(replyWith([text('It is', { status: 'open' })]))
    await scene.pass(20_000)
    expect(textsOf(scene)).toEqual([expect.stringMatching(/^It is\n\n.*Writing/)])
  })
})

describe('with an edit window', () => {
  const brief: Omit<FakeOptions, 'clock'> = { limits: { editWindowMs: 300_000 } }
  const grown = (words: string) => ({ ...text(words, { status: 'open' }), id: 'prt_a' })

  test('the status leaves a message in time, and the text goes on in another', async () => {
    const scene = createScene({ fake: brief })
    scene.show(replyWith([grown('One.')]))
    await scene.pass(238_000)
    expect(textsOf(scene)[0]).toMatch(/^One\.\n\n.*Writing/)
    await scene.pass(10_000)
    expect(textsOf(scene)).toEqual(['One.'])
    await scene.pass(60_000)
    scene.show(settledWith([{ ...text('One. Two.'), id: 'prt_a' }], {}, 308_000))
    const delivery = await scene.end()
    expect(textsOf(scene).slice(0, 2)).toEqual(['One.', 'Two.'])
    expect(delivery).toMatchObject({ undelivered: [], doubtful: 0 })
  })

  test('an edit that is too late is not tried: a platform may accept it without showing it', async () => {
    const scene = createScene({ fake: brief })
    scene.show(replyWith([grown('One.')]))
    await scene.pass(1000)
    await scene.pass(300_000)
    const edits = scene.fake.calls.filter(({ verb }) => verb === 'edit').length
    scene.show(settledWith([{ ...text('Another.'), id: 'prt_a' }], {}, 302_000))
    await scene.end()
    expect(scene.fake.calls.filter(({ verb }) => verb === 'edit')).toHaveLength(edits)
    expect(textsOf(scene).join(' ')).toContain('Another.')
  })
})

test('a press that is shown as a message gets a reply only for errors', async () => {
  const answers: unknown[] = []
  const answer = async (words?: string): Promise<void> => void answers.push(words)
  const press: Inbound = {
    ...{ type: 'press', chat: { id: 'chat' }, actor: { id: '5', name: 'Ada' }, token: 't', messageRef: { id: '1' } },
    isMessage: true,
    answer,
  }
  const scene = createScene()
  scene.show(replyWith([], { phase: 'blocked', asks: [asks()] }))
  await scene.pass(5000)
  const given: unknown[] = []
  const answering = answerWith({
    client: { answer: async (_, value) => void given.push(value), reject: async () => {}, abort: async () => {} },
    running: () => [{ sink: scene.sink(), stream: { abort: async () => replyWith([]) } }],
  })
  const token = scene.fake.screen()[0]?.buttons[0]?.[0]?.data ?? ''
  await answering({ ...press, token })
  expect([given, answers]).toEqual([[[['Red']]], []])
  await answering({ ...press, token })
  expect(answers).toEqual(['This was already resolved.'])
})
