import { expect, test } from 'vitest'
import { type FileChat, judgeFiles, type Piece } from './file-judge.ts'

const wanted: readonly Piece[] = [
  { type: 'text', name: 'Here they are.' },
  { type: 'file', name: 'a.png' },
  { type: 'file', name: 'b.csv' },
  { type: 'missing', name: 'c.gone' },
  { type: 'text', name: 'The end.' },
]
const text = (words: string) => ({ text: words, files: [] })
const file = (name: string) => ({ text: '', files: [Buffer.from(`bytes of ${name}`)] })
const note = text('📎 The file c.gone is not there any more.')
const whole = [text('Here they are.'), file('a.png'), file('b.csv'), note, text('The end.')]
const judge = (seen: FileChat['seen'], more: Partial<FileChat> = {}) =>
  judgeFiles({ wanted, seen, resent: [], doubtful: 0, ...more })

test('a chat that shows all in order is right', () => {
  expect(judge(whole)).toEqual({ copies: 0, late: 0, lost: 0, problems: [] })
})

test('a note does not count as a file: a bridge that sends none and notes each one loses them all', () => {
  const noted = [text('Here they are.'), text('📎 a.png, 📎 b.csv'), note, text('The end.')]
  expect(judge(noted)).toMatchObject({
    lost: 2,
    problems: ['a.png is named and not shown', 'b.csv is named and not shown'],
  })
})

const withoutPicture = whole.filter((one) => one !== whole[1])

test('neither a doubt nor a sentence that something may be missing excuses a file', () => {
  const told = [...withoutPicture, text('It may be missing here.')]
  const lost = { lost: 1, problems: ['a.png is not shown'] }
  expect(judge(told, { doubtful: 2 })).toMatchObject(lost)
  expect(judge(told, { doubtful: 2, resent: [text('Posted again.'), file('b.csv')] })).toMatchObject(lost)
})

test('a file that comes once the person asks for it is not lost, and what comes then does not count as a copy', () => {
  const resent = [text('Posted again. The end.'), file('a.png'), file('b.csv')]
  expect(judge(withoutPicture, { resent })).toEqual({ copies: 0, late: 1, lost: 0, problems: [] })
})

test('a name that comes once the person asks for it is late, and one that never comes is missing', () => {
  const without = whole.filter((one) => one !== note)
  expect(judge(without, { resent: [text('Posted again.'), note] })).toMatchObject({ late: 1, problems: [] })
  expect(judge(without, { resent: [text('Posted again: c.gone')] }).problems).toEqual(['c.gone is not named'])
})

test('the order is checked of what is there, also beside copies', () => {
  expect(judge([text('The end.'), file('b.csv'), note, text('Here they are.')]).problems).toEqual([
    'a.png is not shown',
    'out of order: The end.,b.csv,Here they are.',
  ])
  expect(judge([...whole, file('a.png')], { doubtful: 1 })).toMatchObject({ copies: 1, problems: [] })
})

test('a copy that is not counted is wrong, and so are a file of another run and one that should be named', () => {
  expect(judge([...whole, file('a.png')]).problems).toEqual(['1 copies, of which 0 are counted'])
  expect(judge([...whole, file('other.png')]).problems).toEqual(['a file of another run is shown'])
  expect(judge(whole.filter((one) => one !== note)).problems).toEqual(['c.gone is not named'])
})
