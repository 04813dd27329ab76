import fc from 'fast-check'
import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { charactersOf, columnsOf } from '../src/format/styled-line.ts'

const texts = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0xa0, max: 0x2fff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom(
      'a',
      ' ',
      '•',
      '│',
      '─',
      '…',
      '’',
      '—',
      'é',
      '©',
      '日',
      '👩‍💻',
      '\u0301',
      '\u200d',
      '\ufe0f',
      '\u00ad',
    ),
  ),
  maxLength: 8,
})
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

test('a text is as wide as its characters, whichever they are', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const characters = Array.from(graphemes.segment(text), ({ segment }) => segment)
      expect([...charactersOf(text)]).toEqual(characters)
      expect(columnsOf(text)).toBe(characters.reduce((sum, one) => sum + stringWidth(one), 0))
    }),
    { numRuns: 20_000 },
  )
})

test('letters with accents are as wide as their characters', () => {
  const accented = fc.string({
    unit: fc.constantFrom('a', 'é', ' ', '│', '\u0300', '\u034f', '\u036f'),
    maxLength: 12,
  })
  fc.assert(
    fc.property(accented, (text) => {
      const characters = Array.from(graphemes.segment(text), ({ segment }) => segment)
      expect([...charactersOf(text)]).toEqual(characters)
      expect(columnsOf(text)).toBe(characters.reduce((sum, one) => sum + stringWidth(one), 0))
    }),
    { numRuns: 5000 },
  )
})

test('a single character is as wide as string-width says', () => {
  for (let code = 0x20; code < 0x3000; code++) {
    const character = String.fromCharCode(code)
    if (code < 0x7f || code > 0x9f) expect([code, columnsOf(character)]).toEqual([code, stringWidth(character)])
  }
})
