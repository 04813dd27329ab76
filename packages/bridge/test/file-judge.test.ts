import { expect, test } from 'vitest'
import { type FileChat, judgeFiles, type Piece } from './file-judge.ts'

const wanted: readonly Piece[] = [
  { type: 'text', name: 'Here they are.' },
  { type: 'file', name: 'a.png', key: 'prt_1.file.0' },
  { type: 'file', name: 'b.csv', key: 'prt_2.file.0' },
  { type: 'missing', name: 'c.gone' },
  { type: 'text', name: 'The end.' },
]
const text = (words: string) => ({ text: words, files: [] })
const file = (name: string) => ({ text: '', files: [Buffer.from(`bytes of ${name}`)] })
const note = text('📎 The file c.gone is not there any more.')
const whole = [text('Here they are.'), file('a.png'), file('b.csv'), note, text('The end.')]
const judge = (seen: FileChat['seen'], more: Partial<FileChat> = {}) =>
  judgeFiles({ wanted, seen, doubtful: 0, doubted: new Set(), ...more })

test('a chat that shows all in order is right', () => {
  expect(judge(whole)).toEqual({ copies: 0, doubted: 0, lost: 0, problems: [] })
})

test('a note does not count as a file: a bridge that sends none and notes each one loses them all', () => {
  const noted = [text('Here they are.'), text('📎 a.png, 📎 b.csv'), note, text('The end.')]
  expect(judge(noted)).toMatchObject({
    lost: 2,
    problems: ['a.png is named and not shown', 'b.csv is named and not shown'],
  })
})

test('a sentence that something may be missing excuses no file, nor does the doubt about another post', () => {
  const missing = [text('Here they are.'), file('b.csv'), note, text('It may be missing here. The end.')]
  expect(judge(missing, { doubtful: 1, doubted: new Set(['prt_2.file.0']) })).toMatchObject({
    lost: 1,
    problems: ['a.png is not shown'],
  })
})

test('the doubt about its very post excuses a file', () => {
  const seen = whole.filter((one) => one !== whole[1])
  expect(judge(seen, { doubtful: 1, doubted: new Set(['prt_1.file.0']) })).toEqual({
    ...{ copies: 0, doubted: 1, lost: 0, problems: [] },
  })
})

test('the order is checked of what is there, also in doubt and beside copies', () => {
  const doubt = { doubtful: 1, doubted: new Set(['prt_1.file.0']) }
  expect(judge([text('The end.'), file('b.csv'), note, text('Here they are.')], doubt).problems).toEqual([
    'out of order: The end.,b.csv,Here they are.',
  ])
  expect(judge([...whole, file('a.png')], { doubtful: 1 })).toMatchObject({ copies: 1, problems: [] })
})

test('a copy that is not counted is wrong, and so are a file of another run and one that should be named', () => {
  expect(judge([...whole, file('a.png')]).problems).toEqual(['1 copies, of which 0 are counted'])
  expect(judge([...whole, file('other.png')]).problems).toEqual(['a file of another run is shown'])
  expect(judge(whole.filter((one) => one !== note)).problems).toEqual(['c.gone is not named'])
})
