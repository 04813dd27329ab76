import { expect, test } from 'vitest'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { asks, call, questionOf, replyWith, saidIn, viewOf } from './make.ts'

const hidden = 'rm\u202e -rf\u200b \u0007x'
const shown = 'rm\\u202e -rf\\u200b \\u0007x'
const escaped = shown.replaceAll('\\', '\\\\').replaceAll('-', '\\-')

test('hidden characters of a tool line are made visible', () => {
  const reply = replyWith([call('bash', { title: hidden })])
  expect(saidIn(viewOf(reply), 'status')[0]).toContain(shown)
  expect(saidIn(viewOf(reply, { mode: 'sealed' }), 'notice')[0]).toContain(escaped)
})

test('hidden characters of a question, its options and their buttons are made visible', () => {
  const options = [{ label: hidden, description: hidden }]
  const question = questionOf({ header: hidden, question: `${hidden}\nsecond line`, options })
  const ledger = { ...emptyLedger, asks: { que_1: { answers: [], picked: [] } } }
  const buttons = { perRow: 1, rows: 8, label: 80, data: 64 }
  const { cards } = viewOf(replyWith([], { asks: [asks([question])] }), { ledger, buttons })
  const [card] = cards.filter(({ type }) => type === 'ask')
  expect(card?.source.split(escaped)).toHaveLength(4)
  expect(card?.source).toContain(`${shown}\nsecond line`)
  expect(card?.type === 'ask' && card.buttons.flat().map(({ label }) => label)).toEqual([shown])
  expect(card?.source).not.toMatch(/[\u202e\u200b]/)
})
