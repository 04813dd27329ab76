import type { Ask } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { type AskInput, type AskReading, readAskInput } from '../src/asks/asks.ts'
import type { AskState } from '../src/ledger/card.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { texts } from '../src/texts.ts'
import { asks, permits, questionOf, replyWith, saidIn, viewOf } from './make.ts'

/** The message that has the button: whether it is one of the ask's is decided before. */
const there = { messageRef: { id: '1' } }

const fresh: AskState = { answers: [], picked: [] }

function take(ask: Ask, input: AskInput | string, state: AskState = fresh): AskReading {
  return readAskInput(ask, typeof input === 'string' ? { text: input } : input, { state, texts })
}

function answerTo(ask: Ask, said: string): unknown {
  const taken = take(ask, said)
  return taken?.type === 'answer' ? taken.answer : taken
}

const one = asks()
const several = asks([questionOf({ multiple: true })])
const open = asks([questionOf({ custom: true })])
const openSeveral = asks([questionOf({ custom: true, multiple: true })])

describe('a typed answer', () => {
  test.each<[string, string, Ask, readonly string[]]>([
    ['a number', '2', one, ['Green']],
    ['a number in many ways', ' #3. ', one, ['Blue']],
    ['a label', 'Green', one, ['Green']],
    ['a label in other letters', 'gREEN', one, ['Green']],
    ['a list of numbers', '1, 3', several, ['Red', 'Blue']],
    ['numbers without commas', '1 3', several, ['Red', 'Blue']],
    ['a mixed list', 'blue; 1', several, ['Blue', 'Red']],
    ['a list by lines', 'red\ngreen', several, ['Red', 'Green']],
    ['one twice', '1, red', several, ['Red']],
    ['words of its own', 'something darker', open, ['something darker']],
    ['a number in quotes', '"7"', open, ['7']],
    ['a list of its own', 'black, white', openSeveral, ['black, white']],
  ])('may be %s', (_, said, ask, picked) => {
    expect(answerTo(ask, said)).toEqual([picked])
  })

  test.each<[string, string, Ask, string]>([
    ['words', 'darker', one, '"darker" is not an option. Options: 1 (Red), 2 (Green), 3 (Blue).'],
    ['a number too high', '4', one, '"4" is not an option. Options: 1 (Red), 2 (Green), 3 (Blue).'],
    ['zero', '0', one, '"0" is not an option. Options: 1 (Red), 2 (Green), 3 (Blue).'],
    ['two where one is wanted', '1, 2', one, 'Only one answer is allowed here.'],
    ['two where one is wanted, or words', '1, 2', open, 'Only one answer is allowed here.'],
    ['nothing', '  ', one, 'Reply with a number.'],
  ])('is refused when it is %s', (_, said, ask, error) => {
    expect(take(ask, said)).toEqual({ type: 'error', error })
  })

  test('may be a label with a comma, or several numbers', () => {
    const labels = ['Yes, always', ...Array.from({ length: 11 }, (_, index) => `Option ${index + 2}`)]
    const ask = asks([questionOf({ options: labels.map((label) => ({ label, description: '' })) })])
    expect(answerTo(ask, 'yes, always')).toEqual([['Yes, always']])
    expect(answerTo(ask, '12')).toEqual([['Option 12']])
  })

  test('is refused by a closed ask', () => {
    expect(take(asks([questionOf()], { status: 'withdrawn' }), '1')).toEqual({
      type: 'error',
      error: 'This was already resolved. No longer needed.',
    })
  })
})

test.each([['7'], ['1,9'], ['2-9']])('numbers that no option has ask again, own words or not: %s', (text) => {
  const taken = take(asks([questionOf({ custom: true, multiple: true })]), text)
  expect(taken).toMatchObject({ type: 'error', error: expect.stringContaining('If it is your own answer, quote it') })
})

describe('several questions', () => {
  const ask = asks([questionOf(), questionOf({ header: 'Size' })])

  test('are answered one after another', () => {
    const first = take(ask, '1')
    expect(first).toMatchObject({ type: 'more', state: { answers: [['Red']] } })
    const state = first?.type === 'more' ? first.state : fresh
    expect(take(ask, '2', state)).toMatchObject({ type: 'answer', answer: [['Red'], ['Green']] })
  })

  test('are shown one after another, with the answers so far', () => {
    const view = (state: AskState) =>
      viewOf(replyWith([], { asks: [ask] }), { ledger: { ...emptyLedger, asks: { que_1: state } } })
    expect(saidIn(view(fresh), 'ask')).toHaveLength(1)
    expect(saidIn(view(fresh), 'ask')[0]).toContain('**Colour** (1/2)')
    const [first, second] = saidIn(view({ ...fresh, answers: [['Red']], by: 'Ada' }), 'ask')
    expect(first).toContain('✅ Red · Ada')
    expect(second).toContain('**Size** (2/2)')
  })

  test('refuse the button of an earlier question', () => {
    expect(take(ask, { ...there, token: 's3cret.0.1' }, { ...fresh, answers: [['Red']] })).toMatchObject({
      type: 'error',
    })
  })
})

describe('a button', () => {
  test('answers with its option', () => {
    expect(take(one, { ...there, token: 's3cret.0.2' })).toMatchObject({ type: 'answer', answer: [['Blue']] })
  })

  test('for an option that does not exist is not an answer', () => {
    for (const token of ['s3cret.0.9', 's3cret.once', 's3cret.']) {
      expect(take(one, { ...there, token })).toMatchObject({ type: 'error' })
    }
  })

  test('pressed twice answers once', () => {
    const taken = take(one, { ...there, token: 's3cret.0.2' })
    const state = taken?.type === 'answer' ? taken.state : fresh
    expect(take(one, { ...there, token: 's3cret.0.2' }, state)).toEqual({ type: 'error', error: texts.alreadyResolved })
  })

  /** The state after presses on buttons of a multiple-choice question. */
  const afterPresses = (...pressed: readonly string[]): AskState =>
    pressed.reduce((state, token) => {
      const taken = take(several, { ...there, token: `s3cret.${token}` }, state)
      return taken?.type === 'more' ? taken.state : state
    }, fresh)

  test('picks options of a multiple-choice question and takes them back until it is done', () => {
    const picked = afterPresses('0.0', '0.2', '0.0.u')
    expect(picked.picked).toEqual(['Blue'])
    expect(take(several, { ...there, token: 's3cret.0.d' }, picked)).toMatchObject({
      type: 'answer',
      answer: [['Blue']],
    })
    expect(take(several, { ...there, token: 's3cret.0.d' })).toEqual({ type: 'error', error: texts.pickSeveral })
  })

  test('delivered twice picks an option, or takes it back, all the same', () => {
    expect(afterPresses('0.0', '0.2', '0.0').picked).toEqual(['Red', 'Blue'])
    expect(afterPresses('0.0', '0.2', '0.0.u', '0.0.u').picked).toEqual(['Blue'])
  })

  test('takes back what its button shows as picked', () => {
    const ledger = { ...emptyLedger, asks: { que_1: { ...fresh, picked: ['Green'] } } }
    const { cards } = viewOf(replyWith([], { asks: [several] }), { ledger, buttons: { perRow: 3, rows: 8, label: 40 } })
    const data = cards.flatMap((card) => (card.type === 'ask' ? card.buttons.flat().map((button) => button.data) : []))
    expect(data.map((token) => token.replace(/^[^.]*/, ''))).toEqual(['.0.0', '.0.1.u', '.0.2', '.0.d'])
  })

  test('shows what is picked, if its label has room', () => {
    const ledger = { ...emptyLedger, asks: { que_1: { ...fresh, picked: ['Green'] } } }
    const labels = (ask: Ask, label = 40) => {
      const { cards } = viewOf(replyWith([], { asks: [ask] }), { ledger, buttons: { perRow: 3, rows: 8, label } })
      return cards.flatMap((card) => (card.type === 'ask' ? card.buttons.flat().map((button) => button.label) : []))
    }
    expect(labels(several)).toEqual(['☐ Red', '☑ Green', '☐ Blue', 'Done'])
    expect(labels(several, 5)).toEqual(['☐ Red', '☑ Gr…', '☐ Bl…', 'Done'])
  })

  test('has a label, whatever the option is called', () => {
    const ask = asks([
      questionOf({
        options: [
          { label: ' ', description: 'Nothing' },
          { label: 'Red', description: '' },
        ],
      }),
    ])
    const ledger = { ...emptyLedger, asks: { que_1: fresh } }
    const [card] = viewOf(replyWith([], { phase: 'blocked', asks: [ask] }), { ledger }).cards
    expect(card?.type === 'ask' && card.buttons.flat().map(({ label }) => label)).toEqual(['1', 'Red'])
  })

  test('is left out if there are too many', () => {
    const options = Array.from({ length: 30 }, (_, index) => ({ label: `Option ${index}`, description: '' }))
    const ledger = { ...emptyLedger, asks: { que_1: fresh } }
    const { cards } = viewOf(replyWith([], { phase: 'blocked', asks: [asks([questionOf({ options })])] }), { ledger })
    expect(cards).toMatchObject([{ type: 'ask', buttons: [] }])
    expect(cards[0]?.source).toContain('*Reply with a number.*')
  })
})

describe('a form', () => {
  const both = asks([questionOf({ multiple: true }), questionOf({ header: 'Name', options: [], custom: true })])
  const fill = (values: readonly (readonly string[])[], at = 0, state = fresh) =>
    take(both, { ...there, token: `s3cret.${at}.f`, values }, state)

  test('answers all questions at once', () => {
    const answer = [['Red', 'Blue'], ['Ada']]
    expect(fill([['Red', 'Blue', 'Red'], [' Ada ']])).toMatchObject({ type: 'answer', answer })
    // It also replaces answers that were given one by one since it was opened.
    expect(fill(answer, 0, { ...fresh, answers: [['Green']] })).toMatchObject({ type: 'answer', answer })
    expect(fill([['Ada']], 1, { ...fresh, answers: [['Green']] })).toMatchObject({ answer: [['Green'], ['Ada']] })
  })

  test('reads what is written in it as a text in the chat', () => {
    const three = asks([questionOf({ multiple: true, custom: true })])
    const filled = (value: string) => take(three, { ...there, token: 's3cret.0.f', values: [[value]] })
    expect(filled('1, 3')).toMatchObject({ type: 'answer', answer: [['Red', 'Blue']] })
    expect(filled('2-3')).toMatchObject({ type: 'answer', answer: [['Green', 'Blue']] })
    expect(filled('pink')).toMatchObject({ type: 'answer', answer: [['pink']] })
    expect(filled('7')).toMatchObject({ type: 'error', error: expect.stringContaining('"7" is not an option') })
  })

  test.each<[string, readonly (readonly string[])[], string]>([
    ['nothing', [['Red'], []], texts.replyWith({ options: 0, multiple: false, custom: true })],
    ['an unknown option', [['Pink'], ['Ada']], texts.notAnOption('Pink', ['1 (Red)', '2 (Green)', '3 (Blue)'], false)],
    ['two for one', [['Red'], ['Ada', 'Bob']], texts.oneOnly],
  ])('does not take %s', (_, values, error) => {
    expect(fill(values)).toEqual({ type: 'error', error })
  })

  test('of a later question is refused', () => {
    expect(fill([['Ada']], 1)).toEqual({ type: 'error', error: texts.alreadyResolved })
    expect(take(both, { ...there, token: 's3cret.7.f', values: [['Ada']] })).toMatchObject({ type: 'error' })
  })

  test.each([
    ['several questions', both, true],
    ['words of its own', open, true],
    [
      'more options than buttons',
      asks([questionOf({ options: Array(30).fill({ label: 'a', description: '' }) })]),
      true,
    ],
    ['what buttons do', one, false],
  ])('is there for %s', (_, ask, isThere) => {
    const reply = replyWith([], { phase: 'blocked', asks: [ask] })
    const ledger = { ...emptyLedger, asks: { que_1: fresh } }
    const formOf = (forms: boolean) =>
      viewOf(reply, { ledger, forms }).cards.map((card) => card.type === 'ask' && card.form)
    expect(formOf(false)).toEqual([undefined])
    const questions = ask.questions.map((question) => expect.objectContaining({ header: question.header }))
    expect(formOf(true)).toEqual([isThere ? { token: 's3cret.0.f', label: texts.fillIn, questions } : undefined])
  })
})

describe('a permission', () => {
  test.each<[string, string]>([
    ['once', 'once'],
    ['1', 'once'],
    ['Yes', 'once'],
    ['ok', 'once'],
    ['ALWAYS', 'always'],
    ['2', 'always'],
    ['allow once', 'once'],
  ])('is allowed by "%s"', (said, reply) => {
    expect(answerTo(permits(), said)).toBe(reply)
  })

  test.each<[string, string | undefined]>([
    ['reject', undefined],
    ['3', undefined],
    ['No', undefined],
    ['no, use pnpm', 'use pnpm'],
    ['reject: use pnpm\ninstead', 'use pnpm\ninstead'],
    ['deny – not today', 'not today'],
  ])('is rejected by "%s"', (said, message) => {
    const taken = take(permits(), said)
    expect(taken?.type).toBe('reject')
    expect(taken).toMatchObject(message === undefined ? {} : { message })
    if (message === undefined) expect(taken).not.toHaveProperty('message')
  })

  test('does not accept always if it would cover nothing', () => {
    const ask = permits({ always: [] })
    expect(take(ask, 'always')).toEqual({ type: 'error', error: texts.alwaysNotOffered })
    expect(take(ask, '2')).toEqual({ type: 'error', error: texts.alwaysNotOffered })
    expect(take(ask, '3')?.type).toBe('reject')
    expect(take(ask, { ...there, token: 's3cret.always' })).toMatchObject({ type: 'error' })
  })

  test.each(['nothing', 'maybe', 'onceandforall', ''])('does not accept "%s"', (said) => {
    expect(take(permits(), said)).toMatchObject({ type: 'error' })
  })

  test.each(['once', 'always'] as const)('is allowed by the button for %s', (reply) => {
    expect(take(permits(), { ...there, token: `s3cret.${reply}` })).toMatchObject({ type: 'answer', answer: reply })
  })

  test('is rejected by its button, and not taken again after an answer', () => {
    expect(take(permits(), { ...there, token: 's3cret.reject' })?.type).toBe('reject')
    expect(take(permits({ status: 'answered', reply: 'once' }), { ...there, token: 's3cret.once' })?.type).toBe('error')
  })
})
