import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { type Dialect, renderMarkdown } from '../src/markdown/dialect.ts'
import { openFence } from '../src/markdown/fence.ts'
import { lex } from '../src/markdown/lex.ts'
import { tableText } from '../src/markdown/table.ts'
import { markdownText } from './fragments.ts'

/** A dialect that names each construct. */
const telling: Dialect = {
  text: (text) => text,
  strong: (content) => `strong(${content})`,
  em: (content) => `em(${content})`,
  del: (content) => `del(${content})`,
  codespan: (text) => `codespan(${text})`,
  code: (text, lang) => `code${lang === undefined ? '' : `:${lang}`}(${text})`,
  link: (content, href) => `link:${href}(${content})`,
  image: (text, href) => `image:${href}(${text})`,
  heading: (content, depth) => `h${depth}(${content})`,
  paragraph: (content) => `p(${content})`,
  item: (content, { ordered, number, depth, checked }) =>
    `${ordered ? number : '-'}${depth}${checked === undefined ? '' : checked ? 'x' : 'o'}(${content})`,
  list: (items, depth) => `list${depth}(${items.join(',')})`,
  blockquote: (content, depth) => `quote${depth}(${content})`,
  hr: () => 'hr()',
  br: () => 'br()',
}
const rendered = (source: string): string => renderMarkdown(source, telling)

test.each<[string, string]>([
  ['a **b** *c* ~~d~~ `e`', 'p(a strong(b) em(c) del(d) codespan(e))'],
  ['[a](http://b) ![c](http://d)', 'p(link:http://b(a) image:http://d(c))'],
  ['[](http://b) ![](http://d)', 'p(link:http://b(link) image:http://d(image))'],
  ['[![a](b)](http://c)', 'p(link:http://c(a))'],
  ['[a](http://b?c&amp;d&#64;)', 'p(link:http://b?c&d@(a))'],
  ['[**a**](b) ![c](d)', 'p(strong(a) (b) c (d))'],
  ['[](b) ![](d) [e](e) []()', 'p(b d e link)'],
  ['[a](tg://b) <tg://b> ftp://c', 'p(a (tg:\u2060//b) tg:\u2060//b ftp:\u2060//c)'],
  ['[a](http://b@c) [d](http://b&#64;c)', 'p(a (http:\u2060//b@c) d (http:\u2060//b@c))'],
  ['http://b@c', 'p(http:\u2060//b@c)'],
  ['[a](\u00e4%2F) [b](<c d>)', 'p(a (\u00e4%2F) b (c d))'],
  ['## a', 'h2(a)'],
  ['a\n===', 'h1(a)'],
  ['a\nb', 'p(a\nb)'],
  ['a  \nb', 'p(abr()b)'],
  ['a\n\nb', 'p(a)\n\np(b)'],
  ['a\n- b', 'p(a)\nlist0(-0(b))'],
  ['2. a\n   - b\n5. c', 'list0(20(a\nlist1(-1(b))),30(c))'],
  ['- [x] a\n- [ ] b', 'list0(-0x(a),-0o(b))'],
  ['> a\n> > b', 'quote0(p(a)\nquote1(p(b)))'],
  ['```ts x\na\n\n\n```', 'code:ts(a)'],
  ['---', 'hr()'],
  ['<b>x</b><br/>', 'p(<b>x</b>br())'],
  ['<div>\n\n*x*', 'p(<div>)\n\np(em(x))'],
  ['&lt;&#x41;&nbsp;&#0;&no;', 'p(<A\u00a0\ufffd&no;)'],
  ['\\*a', 'p(*a)'],
  ['[a]: b', 'p([a]: b)'],
  ['| a | b |\n|:-:|--:|\n| *cc* | 1 |', 'code( a │ b\n───┼──\ncc │ 1)'],
])('%j renders as %j', (source, expected) => {
  expect(rendered(source)).toBe(expected)
})

test('a dialect with tables gets their cells without markup', () => {
  const table = vi.fn(() => 'table')
  renderMarkdown('| **a** |\n|---|\n| [b](http://c)<br>d |', { ...telling, table })
  expect(table).toHaveBeenCalledWith({ header: ['a'], rows: [['b d']], align: [null] })
})

test('a dialect with HTML gets the tags', () => {
  expect(renderMarkdown('a <i>b', { ...telling, html: (tag) => `tag(${tag})` })).toBe('p(a tag(<i>)b)')
})

test('the columns of a table are aligned', () => {
  expect(tableText({ header: ['a', 'b', 'c'], rows: [['1', '22', '333']], align: [null, 'right', 'center'] })).toBe(
    'a │  b │  c\n──┼────┼────\n1 │ 22 │ 333',
  )
})

test('cached and uncached reads give the same result', () => {
  // With a definition, the text is not cut into chunks.
  const definition = '[~]: /x\n\n'
  fc.assert(
    fc.property(markdownText, (source) => {
      fc.pre(!source.includes('~]'))
      expect(
        rendered(definition + source)
          .slice('p([~]: /x)'.length)
          .trimStart(),
      ).toBe(rendered(source))
    }),
    { numRuns: 2000 },
  )
})

test('every text renders, and twice the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (source) => {
      expect(rendered(source)).toBe(rendered(source))
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['quotes', '>'],
  ['quotes with spaces', '> '],
  ['numbers', '1. '],
  ['bullets', '* - '],
])('thousands of nested %s are text', (_, mark) => {
  const source = mark.repeat(20_000)
  const shown = rendered(source).replace(/\s/g, '')
  const marks = source.replace(/\s/g, '').length
  expect(shown.length).toBeGreaterThan(marks - 50)
})

test.each<[string, string | undefined]>([
  ['```ts\na', '```'],
  ['~~~~\na\n~~~', '~~~~'],
  ['```', '```'],
  ['```\na\n```', undefined],
  ['```\na\n```\n', undefined],
  ['    ```', undefined],
  ['text', undefined],
])('%j: its fence is open until %j', (source, marker) => {
  const token = lex(source).at(-1) ?? expect.fail()
  expect(openFence(token)?.marker).toBe(marker)
})
