import fc from 'fast-check'
import { expect, test } from 'vitest'
import { blocksOf, markdown } from '../src/format/markdown.ts'
import { plain } from '../src/format/styled-line.ts'

const rows = (source: string, width = 40) => markdown(source, width).map(plain)

test.each<[string, string, string[]]>([
  ['headings', '# One\n\n## Two', ['One', '', 'Two']],
  ['emphasis and code', '**bold** *it* `code` ~~gone~~', ['bold it code gone']],
  ['lists', '- a\n- b\n  - c\n    1. d\n\n3. x\n4. y', ['• a', '• b', '  • c', '    1. d', '', '3. x', '4. y']],
  ['tasks', '- [x] done\n- [ ] open', ['[x] done', '[ ] open']],
  ['items that go on', '- one two three four\n\n  more', ['• one two', '  three four', '', '  more']],
  ['code with its language', '```ts\nconst a = 1\n\tb\n```', ['  ts', '  const a = 1', '      b']],
  ['quotes', '> a\n> b\n>\n> > c', ['│ a', '│ b', '│ ', '│ │ c']],
  ['links with their address', '[docs](http://x.io) <http://y.io>', ['docs (http://x.io) http://y.io']],
  [
    'images by their names and addresses',
    '![a cat](cat.png)\n\n![](cat.png)',
    ['[image: a cat] (cat.png)', '', '[image: cat.png]'],
  ],
  ['breaks', 'a  \nb<br>c', ['a', 'b', 'c']],
  ['entities', 'a &lt;b&gt; &amp; c', ['a <b> & c']],
  ['rules', '---', ['─'.repeat(12)]],
  ['an unfinished fence', '```js\nlet a', ['  js', '  let a']],
])('renders %s', (_, source, expected) => {
  expect(rows(source, expected.join('').includes('─') || source.includes('four') ? 12 : 40)).toEqual(expected)
})

test('columns share the width, cells wrap and align', () => {
  const table = '| a | name |\n|---|---:|\n| 1 | a long cell here |\n| 日本 | y |'
  expect(rows(table, 40)).toEqual([
    'a    │             name',
    '─────┼─────────────────',
    '1    │ a long cell here',
    '日本 │                y',
  ])
  expect(rows(table, 16)).toEqual([
    'a    │      name',
    '─────┼──────────',
    '1    │    a long',
    '     │ cell here',
    '日本 │         y',
  ])
})

test('a table without room for its columns becomes a list', () => {
  const table = '| a | b | c |\n|---|---|---|\n| one word | two words | three words |\n| 4 | 5 | 6 |'
  expect(rows(table, 18)).toEqual(['a: one word', 'b: two words', 'c: three words', '', 'a: 4', 'b: 5', 'c: 6'])
})

test('handles hostile nesting depth', () => {
  expect(() => markdown('>'.repeat(20_000), 80)).not.toThrow()
  expect(() => markdown('- '.repeat(5_000), 80)).not.toThrow()
})

const piece = fc.constantFrom(
  '# Title\n',
  'a word ',
  'some **bold** text\n',
  '\n',
  '\n\n',
  '- item\n',
  '  - nested\n',
  '1. one\n',
  '```ts\n',
  '```\n',
  '    code\n',
  '> quote\n',
  '| a | b |\n',
  '|---|---|\n',
  '| 1 | 2 |\n',
  '---\n',
  '<div>\n',
  '\t',
  ' ',
  '[x]: http://x\n',
  '日本語',
  'a\r\n',
  '===\n',
)

test('the blocks concatenate to the source', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      expect(blocksOf(pieces.join('')).join('')).toBe(pieces.join(''))
    }),
    { numRuns: 2000 },
  )
})

test('the first items of a long list are finished blocks, and look the same as before', () => {
  const list = Array.from({ length: 400 }, (_, at) => `- item ${at} of a long list\n`).join('')
  const blocks = blocksOf(list)
  expect(blocks.join('')).toBe(list)
  expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThan(4096)
  expect(blocks.flatMap((block) => rows(block))).toEqual(rows(list))
  expect(blocksOf(`${list}- one more\n`).slice(0, blocks.length - 1)).toEqual(blocks.slice(0, -1))
})
