import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ansi, clip, fit, line, plain, span, widthOf, wrap } from '../src/format/styled-line.ts'

const words = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '-', '日', '👩‍💻', 'é', 'e\u0301') })

test('wraps at spaces, which are dropped at the break', () => {
  expect(wrap(line('one two three'), 8).map(plain)).toEqual(['one two', 'three'])
})

test('breaks a word that is longer than the row', () => {
  expect(wrap(line('abcdefghij'), 4).map(plain)).toEqual(['abcd', 'efgh', 'ij'])
})

test('breaks between wide characters and counts them as two', () => {
  expect(wrap(line('日本語です'), 5).map(plain)).toEqual(['日本', '語で', 'す'])
})

test('keeps the indentation of a row and its blank rows', () => {
  expect(wrap(line('  a\n\n    b'), 10).map(plain)).toEqual(['  a', '', '    b'])
})

test('puts the lead before the first row and the hang before the others', () => {
  expect(wrap(line('one two'), 6, line('- '), line('  ')).map(plain)).toEqual(['- one', '  two'])
})

test('keeps the style of every piece', () => {
  const rows = wrap([span('bo'), span('ld text', 'bold')], 6)
  expect(rows.map(ansi)).toEqual(['bo\u001b[1mld\u001b[22m', '\u001b[1mtext\u001b[22m'])
})

test('clips with an ellipsis, never through a character', () => {
  expect(plain(clip(line('abcdef'), 4))).toBe('abc…')
  expect(plain(clip(line('日本語'), 4))).toBe('日…')
  expect(plain(clip(line('abc'), 3))).toBe('abc')
})

test('the end of a fitted row is always there', () => {
  expect(plain(fit(line('a very long name'), line(' 12s'), 14))).toBe('a very lo… 12s')
})

test('no row is wider than the width, and no character but a space is lost', () => {
  fc.assert(
    fc.property(words, fc.integer({ min: 2, max: 30 }), (text, width) => {
      const rows = wrap(line(text), width)
      for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(width)
      expect(rows.map(plain).join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
    }),
    { numRuns: 1000 },
  )
})

test('a row has no styles but its tones', () => {
  expect(ansi([{ text: 'a\u001b[2Jb\nc', tones: ['red'] }])).toBe('\u001b[31mab c\u001b[39m')
})
