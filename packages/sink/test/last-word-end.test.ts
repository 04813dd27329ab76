import { describe, expect, test } from 'vitest'
import { layout } from '../src/layout/layout.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { lastWordEnd } from '../src/markdown/cut.ts'
import { fakeRender } from '../src/testing/fake.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { texts } from '../src/texts.ts'
import { replyWith, settledWith, text } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)

describe('appended text', () => {
  test.each<[string, string]>([
    ['One tw', 'One '],
    ['One two ', 'One two '],
    ['Antidisestablish', ''],
    ['See [the docs](https://exa', 'See '],
    ['It is **very bold', 'It is '],
    ['Run `npm run bu', 'Run '],
    ['x ```not code`', 'x ```not '],
    ['好的，我来看', '好的，'],
    ['Look:\n\n```ts\nconst a', 'Look:\n\n'],
    ['Look:\n\n```ts\nconst a = 1\nconst b', 'Look:\n\n```ts\nconst a = 1\n'],
    [`go ${'x'.repeat(200)}`, 'go '],
  ])('ends with a whole word: %j', (said, shown) => {
    expect(said.slice(0, lastWordEnd(said, 0))).toBe(shown)
  })

  test('cuts what has no words after 200 units, never within a character', () => {
    expect(lastWordEnd('x'.repeat(201), 0)).toBe(201)
    expect(lastWordEnd(`go ${'x'.repeat(300)}`, 3)).toBe(303)
    expect(lastWordEnd(`${'👍'.repeat(150)}\ud83d`, 0) % 2).toBe(0)
  })

  test('is posted whole when the part is complete or something follows it', async () => {
    const scene = createScene({ sink: { policy: { delivery: 'append', verbosity: 'quiet' } } })
    const part = { ...text('One two thr', { status: 'open' }), id: 'prt_a' }
    scene.show(replyWith([part]))
    await scene.pass(2000)
    expect(textsOf(scene)).toEqual(['One two'])
    scene.show(replyWith([{ ...part, text: 'One two three' }, text('', { status: 'open' })]))
    await scene.pass(2000)
    expect(textsOf(scene)).toEqual(['One two', 'three'])
    scene.show(settledWith([{ ...part, text: 'One two three', status: 'sealed' }, text('Four')]))
    await scene.end()
    expect(textsOf(scene)).toEqual(['One two', 'three', 'Four'])
  })

  test('comes in the window and the length that the policy names', async () => {
    const policy = { delivery: 'append', verbosity: 'quiet', appendIntervalMs: 4000, appendLength: 120 } as const
    const scene = createScene({ sink: { policy } })
    const said = 'word '.repeat(60)
    scene.show(replyWith([{ ...text(said.slice(0, 20), { status: 'open' }), id: 'prt_a' }]))
    await scene.pass(500)
    scene.show(replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }]))
    await scene.pass(3000)
    expect(textsOf(scene)).toEqual(['word word word word'])
    scene.show(settledWith([{ ...text(said), id: 'prt_a' }]))
    await scene.end()
    expect(Math.max(...textsOf(scene).map(({ length }) => length))).toBeGreaterThan(100)
    expect(Math.max(...textsOf(scene).map(({ length }) => length))).toBeLessThanOrEqual(120)
  })
})

describe('a message that grows by edits', () => {
  const slotsOf = (source: string, isOpen: boolean, maxLength = 2000) => {
    const limits = { ...fakeLimits, maxLength }
    const cards = [
      { type: 'answer', key: 'answer', source, isOpen } as const,
      { type: 'status', key: 'status', source: 'Writing · 5s' } as const,
    ]
    return layout(cards, { render: fakeRender, limits, mode: 'live', texts, ledger: emptyLedger })
  }

  test('uses all that a message takes, in the end and before', () => {
    const said = 'x'.repeat(2000)
    expect(slotsOf(said, false)[0]?.bubble.text).toBe(said)
    expect(slotsOf(said, true).map(({ bubble }) => bubble.length)).toEqual([2000])
    expect(slotsOf('x'.repeat(1900), true)[0]?.bubble.text).toContain('Writing')
  })

  test('leaves its open marks as they are where closing them takes too much', () => {
    const said = `${'x'.repeat(980)} **bold and more`
    expect(slotsOf(said, true, 1200)[0]?.bubble.text).toMatch(/more\*\*/)
    const [slot] = slotsOf(said, true, said.length + 1)
    expect([slot?.bubble.text, slot?.bubble.length]).toEqual([said, said.length])
  })
})
