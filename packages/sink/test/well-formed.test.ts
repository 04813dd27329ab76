import type { QuestionAsk } from '@reply/core'
import { describe, expect, test } from 'vitest'
import type { AppendStream } from '../src/port/port.ts'
import { wellFormed, wellFormedPort } from '../src/port/well-formed.ts'
import { asks, questionOf, replyWith, settledWith, text } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const rocket = '🚀'
const [first = '', second = ''] = rocket.split('')
const growing = (said: string) => replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }])
const whole = (said: string) => settledWith([{ ...text(said), id: 'prt_a' }])
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)

test('half of a surrogate pair becomes one replacement character, and whole pairs stay', () => {
  expect(wellFormed(`a${first}b${second}${rocket}`)).toBe(`a\ufffdb\ufffd${rocket}`)
})

describe.each(['edit', 'native', 'append'] as const)('a text that grows by half a pair: %s', (delivery) => {
  test('is shown without the half, and then with the whole', async () => {
    const scene = createScene({ fake: { stream: 'append' }, sink: { policy: { delivery, verbosity: 'quiet' } } })
    scene.show(growing(`It flies ${first}`))
    await scene.pass(3000)
    expect(textsOf(scene)).toEqual(['It flies'])
    scene.show(whole(`It flies ${rocket}`))
    expect(await scene.end()).toMatchObject({ undelivered: [] })
    expect(textsOf(scene).join(' ')).toBe(`It flies ${rocket}`)
    expect(scene.errors).toEqual([])
  })
})

test('a half that stays is shown as a replacement character', async () => {
  const scene = createScene()
  scene.show(whole(`It ${first} flies.`))
  await scene.end()
  expect(textsOf(scene)).toEqual(['It \ufffd flies.'])
})

test('labels of an ask have no half', async () => {
  const scene = createScene()
  const options = [`Red ${second}`, 'Blue'].map((label) => ({ label, description: '' }))
  scene.show(replyWith([], { phase: 'blocked', asks: [asks([questionOf({ question: `Which ${first}?`, options })])] }))
  await scene.pass(2000)
  const [asked] = scene.fake.screen()
  const said = [asked?.text, ...(asked?.buttons.flat() ?? []).map(({ label }) => label)]
  expect(said).toHaveLength(3)
  expect(said.join('\n')).not.toMatch(/\p{Surrogate}/u)
})

test('every member of a port gets well-formed text, and the port keeps its getters', async () => {
  const given: unknown[] = []
  const ref = { id: '1' }
  const take = async (value: unknown): Promise<void> => void given.push(value)
  const adding: AppendStream = {
    ...{ kind: 'append', maxMs: 1, maxLength: 1, measure: ({ length }) => length },
    open: (piece) => take(piece).then(() => ref),
    append: (_, piece) => take(piece),
    close: (_, piece) => take(piece),
  }
  let has = true
  const port = wellFormedPort({
    ...createScene().fake.port,
    upload: (file) => take(file).then(() => ref),
    typing: (_, { doing }) => take(doing),
    get stream() {
      return has ? adding : undefined
    },
  })
  const options = { chat: { id: 'chat' }, signal: new AbortController().signal, silent: false, key: 'k' }
  const piece = {
    text: first,
    tasks: [{ id: 'a', title: first, status: 'failed' as const, reason: second }],
    plan: second,
  }
  const kind = port.stream?.kind
  await port.upload?.({ name: first, mime: 'text/plain', bytes: Buffer.from(first), caption: second }, options)
  await port.typing?.(true, { ...options, doing: first })
  if (port.stream?.kind === 'append') {
    await port.stream.open(piece, options)
    await port.stream.append(ref, piece, options)
    await port.stream.close(ref, piece, options)
  }
  has = false
  expect([kind, port.stream, given.length]).toEqual(['append', undefined, 5])
  expect(JSON.stringify(given)).not.toMatch(/\\ud83d|\\ude80/)
})

describe('a text that is refused while it grows', () => {
  test('is tried again once it has grown', async () => {
    const scene = createScene({ fake: { faults: [{ call: 1, type: 'refused' }] } })
    scene.show(growing('One'))
    await scene.pass(5000)
    expect(textsOf(scene)).toEqual([])
    scene.show(growing('One two'))
    await scene.pass(2000)
    expect(textsOf(scene)).toEqual([expect.stringMatching(/^One two/)])
    scene.show(whole('One two three.'))
    expect(await scene.end()).toMatchObject({ shown: 1, undelivered: [], doubtful: 0 })
    expect(scene.errors.map(({ type }) => type)).toEqual(['port'])
  })

  test('keeps its message if an edit was refused', async () => {
    const scene = createScene({ fake: { faults: [{ call: 2, type: 'refused' }] } })
    for (const said of ['One', 'One two', 'One two three']) {
      scene.show(growing(said))
      await scene.pass(3000)
    }
    expect(textsOf(scene)).toEqual([expect.stringMatching(/^One two three/)])
  })

  test('is tried less and less often', async () => {
    const faults = Array.from({ length: 99 }, (_, index) => ({ call: index + 1, type: 'refused' as const }))
    const scene = createScene({ fake: { faults } })
    for (let length = 1; length <= 60; length++) {
      scene.show(growing('x'.repeat(length)))
      await scene.pass(1000)
    }
    expect(scene.fake.calls.filter(({ verb }) => verb === 'post').length).toBeLessThan(8)
    scene.show(whole('x'.repeat(60)))
    expect(await scene.end()).toMatchObject({ shown: 0, undelivered: [{ key: 'answer#0' }] })
  })

  test('waits for the ask below it, and is tried again after that', async () => {
    const scene = createScene({
      fake: { faults: [{ call: 1, type: 'refused' }] },
      sink: { policy: { statusAfterMs: 3_600_000 } },
    })
    const open = { ...text('One', { status: 'open' }), id: 'prt_a' }
    const over: QuestionAsk = { ...asks(), status: 'rejected' }
    scene.show(replyWith([open], { phase: 'blocked', asks: [asks()] }))
    await scene.pass(5000)
    expect(textsOf(scene)).toEqual([expect.stringMatching(/^❓/)])
    scene.show(settledWith([{ ...open, status: 'sealed', text: 'One, and the whole.' }], { asks: [over] }))
    expect((await scene.end()).undelivered).toEqual([])
    expect(textsOf(scene)).toEqual([expect.stringMatching(/^❓/), 'One, and the whole.'])
  })
})
