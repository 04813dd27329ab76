import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeMarkdown } from '../src/markdown/close-markdown.ts'
import { fragments, markdownText } from './fragments.ts'

test.each<[string, string]>([
  ['', ''],
  ['plain text', 'plain text'],
  ['some **bold te', 'some **bold te**'],
  ['some **bold ', 'some **bold** '],
  ['some **bold*', 'some **bold**'],
  ['an *italic wor', 'an *italic wor*'],
  ['an _italic wor', 'an _italic wor_'],
  ['**bold and *both', '**bold and *both***'],
  ['it is ~~gone', 'it is ~~gone~~'],
  ['call `foo(', 'call `foo(`'],
  ['call ``a ` b', 'call ``a ` b``'],
  ['**call `foo', '**call `foo`**'],
  ['a trailing **', 'a trailing'],
  ['a trailing `', 'a trailing'],
  ['a trailing _', 'a trailing'],
  ['see [the docs](https://exa', 'see the docs'],
  ['see [the docs](', 'see the docs'],
  ['see **[the docs](https://exa', 'see **the docs**'],
  ['see [the docs', 'see [the docs'],
  ['see ![a picture](https://exa', 'see'],
  ['see ![a pic', 'see'],
  ['text\n#', 'text'],
  ['text\n\n## ', 'text\n'],
  ['text\n-', 'text'],
  ['text\n- item\n- ', 'text\n- item'],
  ['- [', ''],
  ['text\n--', 'text'],
  ['> quote\n>', '> quote'],
  ['text\n``', 'text'],
  ['```ts\nconst a', '```ts\nconst a\n```'],
  ['```ts\nconst a\n', '```ts\nconst a\n```'],
  ['```ts\nconst a\n``', '```ts\nconst a\n```'],
  ['````\n```\na', '````\n```\na\n````'],
  ['- item\n  ```js\n  a()', '- item\n  ```js\n  a()\n  ```'],
  ['> ```\n> a', '> ```\n> a\n> ```'],
  ['- an **item', '- an **item**'],
  ['> a **quote', '> a **quote**'],
  ['# a **head', '# a **head**'],
  ['**unclosed paragraph\n\nnext', '**unclosed paragraph\n\nnext'],
  ['| a | b |\n|--', '| a | b |\n|--'],
  ['2 * 3 * 4 and snake_case_name', '2 * 3 * 4 and snake_case_name'],
  ['`whole` **whole** [whole](https://a.b)', '`whole` **whole** [whole](https://a.b)'],
])('%j is shown as %j', (source, expected) => {
  expect(closeMarkdown(source)).toBe(expected)
})

const whole = fragments.filter((one) =>
  /^\n+(?:# H|Title|- item\n- |- \[x|1\. |> a|```ts|~~~~|- item\n {2}`|\| a \| b|---)|^(?:A s|word|\*\*bold\*|`code|\[a link|中|👩)/.test(
    one,
  ),
)

test('complete text stays unchanged', () => {
  expect(whole.length).toBeGreaterThan(14)
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...whole)), (parts) => {
      const source = parts.join('\n\n')
      expect(closeMarkdown(source)).toBe(source)
    }),
    { numRuns: 1000 },
  )
})

test('closing is idempotent', () => {
  fc.assert(
    fc.property(fc.oneof(markdownText, fc.string({ unit: 'binary' })), (text) => {
      const closed = closeMarkdown(text)
      expect(closeMarkdown(closed)).toBe(closed)
    }),
    { numRuns: 2000 },
  )
})

test('keeps everything but the last block', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...whole)), markdownText, (parts, tail) => {
      const source = `${parts.join('\n\n')}\n\nThe end.\n\n`
      expect(closeMarkdown(source + tail.replaceAll(/\s+/g, ' ').trimStart())).toContain(source.trimEnd())
    }),
    { numRuns: 1000 },
  )
})

test('thousands of nested quotes do not throw', () => {
  expect(closeMarkdown(`${'>'.repeat(20_000)} **a`)).toContain('a')
})

test('closes the end of a very long block', () => {
  const before = 'some words and *a mark* of a long line '.repeat(400)
  expect(closeMarkdown(`${before}and **bold te`)).toBe(`${before}and **bold te**`)
})

test('a text with too many open marks is shown as it is', () => {
  const opened = (marks: number): string =>
    Array.from({ length: marks }, (_, at) => `${'*_~~'[at % 2]}a${at}`).join(' ')
  expect(closeMarkdown(opened(2))).not.toBe(opened(2))
  const deep = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? `**a${at}` : `__b${at}`)).join(' ')
  expect(closeMarkdown(deep)).toBe(deep)
})
