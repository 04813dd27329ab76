import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clean, cleanJson, cleanLine } from '../src/format/sanitize.ts'

const noisy = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001b[',
        '\u001b]0;',
        '\u001b]52;c;',
        '\u0007',
        '\u001b\\',
        '\u009b',
        '\u0090',
        '\u009c',
        '\u001b',
        '31m',
      ),
      fc.constantFrom('\r', '\n', '\t', '\b', '\u007f', '\u202e', '\u2066', '\ud800', '\udc00', 'é', '日', '👩‍💻'),
      fc.string(),
    ),
  )
  .map((pieces) => pieces.join(''))

test.each([
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['cursor moves', 'a\u001b[2Jb\u001b[Hc', 'abc'],
  ['window titles', 'a\u001b]0;owned\u0007b', 'ab'],
  ['clipboard writes', 'a\u001b]52;c;aGk=\u001b\\b', 'ab'],
  ['links, but not their text', '\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['device controls', 'a\u001bPq#0\u001b\\b', 'ab'],
  ['eight-bit sequences', 'a\u009b31mb\u009d0;x\u009cc', 'abc'],
  ['what has no end, to the end of its line', 'a\u001b]0;never\nb', 'a\nb'],
  ['backspace, bell and DEL', 'a\b\u0007\u007fb', 'ab'],
  ['directional overrides', 'a\u202egpj.exe', 'agpj.exe'],
  ['halves of a pair', 'a\ud83d b', 'a b'],
])('removes %s', (_, input, output) => {
  expect(clean(input)).toBe(output)
})

test('keeps line feeds and tabs, and turns other breaks into line feeds', () => {
  expect(clean('a\tb\r\nc\rd\u0085e\u2028f')).toBe('a\tb\nc\nd\ne\nf')
})

test('keeps what people write: accents, wide characters, emoji', () => {
  expect(clean('Grüße 日本語 👩‍💻 שלום')).toBe('Grüße 日本語 👩‍💻 שלום')
})

test('one line has no breaks and no surrounding space', () => {
  expect(cleanLine('  a\n\n b\t c\u001b[0m ')).toBe('a b c')
})

test('no terminal command is left, whatever the input', () => {
  fc.assert(
    fc.property(noisy, (input) => {
      const output = clean(input)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
      expect(output).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      expect(clean(output)).toBe(output)
    }),
    { numRuns: 2000 },
  )
})

test('a finished line does not change when more text arrives', () => {
  fc.assert(
    fc.property(noisy, noisy, (first, second) => {
      expect(clean(`${first}\n${second}`).startsWith(clean(`${first}\n`))).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('JSON stays the same value without a raw control character', () => {
  const json = cleanJson(JSON.stringify({ text: 'a\u009b31m\u202e' }))
  expect(json).toBe('{"text":"a\\u009b31m\\u202e"}')
  expect(JSON.parse(json)).toEqual({ text: 'a\u009b31m\u202e' })
})
