import { markdownCases, readWhatsApp, renderings } from '@reply/testing/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapeWhatsApp, renderWhatsApp } from '../src/render.ts'

test.each(Object.entries(markdownCases))('%s: %j', (name, source) => {
  const { text, plain, length } = renderWhatsApp(source)
  expect(text).toBe(new Map(Object.entries(renderings.whatsapp)).get(name))
  expect([readWhatsApp(text).text, length]).toEqual([plain.replaceAll('\u2060', ''), text.length])
})

const kindsIn = (source: string): readonly string[] =>
  readWhatsApp(renderWhatsApp(source).text).entities.map(({ type, offset, length }) => {
    const { plain } = renderWhatsApp(source)
    return `${type} ${plain.slice(offset, offset + length)}`
  })

test.each([
  ['**bold** _italic_ ~~struck~~ `code`', ['bold bold', 'italic italic', 'strikethrough struck', 'code code']],
  ['**two\nlines**', ['bold two', 'bold lines']],
  ['**a _b_ c**', ['italic b', 'bold a b c']],
  ['**a **b** c**', ['bold a b c']],
  ['# Title of **it**', ['bold Title of it']],
  ['in**side**word', []],
  ['(**a**)', ['bold a']],
  ['**https://a.b**', []],
  ['2*3*4', []],
  ['\\*not\\* \\_that\\_ \\~either\\~', []],
  ['\\> no quote', []],
  ['> a quote\n> of two', ['quote a quote', 'quote of two']],
  ['> **bold\n> quote**', ['bold bold', 'quote bold', 'bold quote', 'quote quote']],
  ['````\n```\n````', ['pre ```']],
  ['`` `ticks` ``', ['pre `ticks`']],
  ['[t](https://a.b/~c*d)', []],
])('%j has the expected marks', (source, kinds) => {
  expect(kindsIn(source)).toEqual(kinds)
})

test('a lone surrogate, as in a growing text that was cut, becomes a replacement character', () => {
  expect(renderWhatsApp('a \ud83d').text).toBe('a \ufffd')
  expect(renderWhatsApp('👍 `\udc4d`').text).toBe('👍 `\ufffd`')
})

test('plain text has no marks, whatever it contains', () => {
  const words = '*a* _b_ ~c~ `d` ```e```\n> f\n* g'
  expect(readWhatsApp(escapeWhatsApp(words))).toEqual({ text: words, entities: [] })
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'*_~`> a1.\n-👍') }), (given) => {
      expect(readWhatsApp(escapeWhatsApp(given))).toEqual({ text: given, entities: [] })
    }),
    { numRuns: 2000 },
  )
})

test('thousands of nested quotes are shown literally', () => {
  expect(renderWhatsApp('>'.repeat(20_000)).plain).toMatch(/^>*$/)
})

const fragments = [
  '**',
  '*',
  '_',
  '~~',
  '~',
  '`',
  '``',
  '```',
  '```ts\n',
  '\n',
  '\n\n',
  '> ',
  '- ',
  '  - ',
  '1. ',
  '# ',
  '[',
  '](',
  ')',
  '|',
  '|---|---|\n',
  '\n| a | b |\n|---|---|\n| 1 | `<2>` |\n',
  '<b>',
  '<br>',
  '&lt;',
  '[t](https://a.b?c="d"&e=<f>)',
  '![i](https://a.b)',
  'https://a.b/c_d_e ',
  '<https://a.b>',
  'a@b.c',
  '\\',
  '\\*',
  '---\n',
  '    code\n',
  '\t',
  '- [x] t\n',
  'word ',
  'word',
  '@everyone ',
  '👍🏽',
  '𝔘',
  '\ud83d',
  '\u2060',
  '\ufdd0',
  '\ufdd9',
  '[![i](https://a.b)](https://c.d) ',
]
const markdown = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 4 })), { maxLength: 40 })
    .map((parts) => parts.join('')),
)

describe('any source', () => {
  test('shows as plain', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        const { text, plain, length } = renderWhatsApp(source)
        expect(readWhatsApp(text).text).toBe(plain)
        expect(length).toBe(text.length)
      }),
      { numRuns: 3000 },
    )
  })
})
