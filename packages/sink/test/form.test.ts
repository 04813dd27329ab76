import type { Ask } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { type AskInput, type AskReading, readAskInput } from '../src/asks/asks.ts'
import { answerWith } from '../src/inbound/answer.ts'
import type { Inbound } from '../src/inbound/inbound.ts'
import { layout } from '../src/layout/layout.ts'
import type { AskState } from '../src/ledger/card.ts'
import { emptyLedger, shownOf } from '../src/ledger/ledger.ts'
import type { Form } from '../src/port/port.ts'
import { texts } from '../src/texts.ts'
import { asks, questionOf, replyWith, viewOf } from './make.ts'

/** The message that has the button: whether it is one of the ask's is decided before. */
const there = { messageRef: { id: '1' } }
const fresh: AskState = { answers: [], picked: [] }
const emptyShown = shownOf({ ...emptyLedger, asks: { que_1: fresh } })
const three = asks([questionOf(), questionOf({ multiple: true }), questionOf({ custom: true })])

function take(ask: Ask, input: AskInput, state: AskState = fresh): AskReading | undefined {
  return readAskInput(ask, input, { state, texts })
}

function filledIn(values: readonly (readonly string[])[], state: AskState = fresh, token = 's3cret.0.f') {
  return take(three, { ...there, token, values }, state)
}

describe("the press of a form's button", () => {
  test('returns all remaining questions from there on', () => {
    const taken = take(three, { ...there, token: 's3cret.1.f' }, { ...fresh, answers: [['Red']] })
    const form = { token: 's3cret.1.f', label: texts.fillIn, questions: three.questions.slice(1) }
    expect(taken).toMatchObject({ type: 'form', form })
  })

  test('is ignored for later questions, and for a closed ask', () => {
    expect(take(three, { ...there, token: 's3cret.1.f' })?.type).toBe('error')
    const closed = asks([questionOf()], { status: 'withdrawn' })
    expect(take(closed, { ...there, token: 's3cret.0.f' })?.type).toBe('error')
  })

  test('opens the form for the person, and answers nothing', async () => {
    const opened: Form[] = []
    const form: Form = { token: 's3cret.0.f', label: 'Answer', questions: [] }
    const taken = { type: 'form', form, state: fresh, ask: three, undo: () => {} } as const
    const answer = answerWith({
      client: {
        answer: () => Promise.reject(new Error()),
        reject: () => Promise.reject(new Error()),
        abort: () => Promise.reject(new Error()),
      },
      running: () => [
        {
          sink: { findAsks: async () => [{ type: 'meant', ask: three, take: () => taken }] },
          stream: { abort: () => Promise.reject(new Error()) },
        },
      ],
    })
    const press: Inbound = {
      ...{ type: 'press', chat: { id: '7' }, actor: { id: '5', name: 'Ada' }, token: 's3cret.0.f' },
      messageRef: { id: '1' },
      open: async (given) => void opened.push(given),
      answer: () => Promise.reject(new Error('answered')),
    }
    expect([await answer(press), opened]).toEqual([true, [form]])
  })
})

test('the answers of a form are shown below the message that opened it', () => {
  const answers = [['Red'], ['Green', 'Blue'], ['Ada']]
  const ask = asks(three.questions, { status: 'answered', answers })
  const textsAfter = (posted: readonly string[]) => {
    const shown = { ...emptyShown, posted: new Set(posted) }
    const { cards } = viewOf(replyWith([], { asks: [ask] }), { shown })
    return cards.filter(({ type }) => type === 'ask').map(({ source }) => source.match(/✅ [^\n]*/g))
  }
  expect(textsAfter(['ask:que_1:0'])).toEqual([['✅ Red', '✅ Green, Blue', '✅ Ada']])
  expect(textsAfter(['ask:que_1:0', 'ask:que_1:1'])).toEqual([['✅ Red'], ['✅ Green, Blue', '✅ Ada']])
})

describe("a form's submission", () => {
  test('answers all questions at once, by labels, numbers and free text', () => {
    expect(filledIn([['red'], ['1', 'Blue'], ['something darker']])).toMatchObject({
      type: 'answer',
      answer: [['Red'], ['Red', 'Blue'], ['something darker']],
    })
  })

  test('of the first questions alone leaves the others to be asked', () => {
    const taken = filledIn([['Red'], ['Green']])
    expect(taken).toMatchObject({ type: 'more', state: { answers: [['Red'], ['Green']] } })
    const state = taken?.type === 'more' ? taken.state : fresh
    const last = filledIn([['mine']], state, 's3cret.2.f')
    expect(last).toMatchObject({ type: 'answer', answer: [['Red'], ['Green'], ['mine']] })
  })

  test.each<[string, readonly (readonly string[])[], string]>([
    ['nothing', [], texts.alreadyResolved],
    ['an empty answer', [['Red'], [' '], ['x']], 'Reply with the numbers, as in 1, 3.'],
    ['two where one is wanted', [['Red', 'Blue'], ['Red'], ['x']], texts.oneOnly],
    [
      'words where none are',
      [['mine'], ['Red'], ['x']],
      '"mine" is not an option. Options: 1 (Red), 2 (Green), 3 (Blue).',
    ],
  ])('is refused when it is %s', (_, values, error) => {
    expect(filledIn(values)).toEqual({ type: 'error', error })
  })
})

test("a status uses the platform's small style", () => {
  const text = (small?: (line: string) => string): string | undefined => {
    const limits = {
      ...{ maxLength: 100, edits: true, editIntervalMs: 0, perChat: { calls: 1, perMs: 1 }, idempotent: false },
      ...(small && { small }),
    }
    const render = (source: string) => ({ text: source, plain: source, length: source.length })
    const cards = [{ type: 'status', key: 'status', source: 'bash: a*b' }] as const
    return layout(cards, { render, limits, mode: 'live', texts, ledger: emptyLedger, now: 0 })[0]?.bubble.text
  }
  expect([text(), text((line) => `<small>${line}</small>`)]).toEqual(['*bash: a\\*b*', '<small>bash: a\\*b</small>'])
})
