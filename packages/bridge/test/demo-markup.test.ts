import { expect, test } from 'vitest'
import { readEntities } from '../scripts/demo/entities.ts'
import { readDiscordMarkdown, readMarkdown } from '../scripts/demo/markdown.ts'

test('Markdown becomes elements, and HTML in it stays text', () => {
  expect(readMarkdown('# A *b*\n\n<img onerror="x">\n\na <b>c</b> &lt; `d`')).toEqual([
    { tag: 'h1', children: ['A ', { tag: 'em', children: ['b'] }] },
    { tag: 'p', children: ['<img onerror="x">'] },
    { tag: 'p', children: ['a ', '<b>', 'c', '</b>', ' < ', { tag: 'code', children: ['d'] }] },
  ])
})

test('only links to the web and to mail are links', () => {
  const [kept, script] = ['[a](https://example.org)', '[a](javascript:alert)'].map((source) => readMarkdown(source)[0])
  expect(kept).toMatchObject({ children: [{ tag: 'a', href: 'https://example.org' }] })
  expect(script).toEqual({ tag: 'p', children: [{ tag: 'mention', children: ['a'] }] })
})

test("Discord's small lines are small", () => {
  expect(readDiscordMarkdown('a\n-# *b*')).toEqual([
    { tag: 'p', children: ['a'] },
    { tag: 'p', children: [{ tag: 'small', children: [{ tag: 'em', children: ['b'] }] }] },
  ])
})

test('formats of ranges nest, and one that overlaps ends with the outer one', () => {
  const bold = { type: 'bold', offset: 2, length: 4 }
  const code = { type: 'code', offset: 4, length: 5 }
  expect(readEntities('a bc de f', [code, bold])).toEqual([
    {
      tag: 'lines',
      children: ['a ', { tag: 'strong', children: ['bc', { tag: 'code', children: [' d'] }] }, 'e f'],
    },
  ])
})

test('a block of code ends its line by itself', () => {
  const code = { type: 'pre', offset: 2, length: 1 }
  expect(readEntities('a\nb\n\nc', [code])).toEqual([
    { tag: 'lines', children: ['a', { tag: 'pre', children: ['b'] }, '\nc'] },
  ])
})
