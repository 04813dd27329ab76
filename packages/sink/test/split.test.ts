import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Dialect, renderMarkdown } from '../src/markdown/dialect.ts'
import { openFence } from '../src/markdown/fence.ts'
import { lex } from '../src/markdown/lex.ts'
import { type Slice, split } from '../src/markdown/split.ts'
import { markdownText } from './fragments.ts'

const same = (content: string): string => content
const plain: Dialect = {
  text: same,
  strong: same,
  em: same,
  del: same,
  codespan: same,
  code: same,
  link: same,
  image: same,
  heading: same,
  paragraph: same,
  item: (content, { ordered, number, depth }) =>
    `${'  '.repeat(depth)}${ordered ? `${number}.` : '•'} ${content.trimStart()}`.trimEnd(),
  list: (items) => items.join('\n'),
  blockquote: same,
  hr: () => '———',
  br: () => '\n',
}
const rendered = (source: string): string => renderMarkdown(source, plain).trim()
const measures: Readonly<Record<string, (source: string) => number>> = {
  rendered: (source) => rendered(source).length,
  raw: (source) => source.length,
}
const limits = [48, 100, 333, 1000]

const settings = fc.record({ name: fc.constantFrom('rendered', 'raw'), maxLength: fc.constantFrom(...limits) })
const optionsOf = ({ name, maxLength }: { name: string; maxLength: number }) => ({
  maxLength,
  measure: measures[name] ?? expect.fail(),
})
const cut = (source: string, maxLength: number): readonly string[] =>
  split(source, { maxLength, measure: (text) => rendered(text).length }).map((slice) => slice.source)

describe('for every text', () => {
  test('every slice but the last stays the same when text is added', () => {
    fc.assert(
      fc.property(markdownText, markdownText, settings, (text, more, setting) => {
        const options = optionsOf(setting)
        const before = split(text, options).slice(0, -1)
        expect(split(text + more, options).slice(0, before.length)).toEqual(before)
      }),
      { numRuns: 1500 },
    )
  })

  test('every prefix seals what the whole text seals', () => {
    fc.assert(
      fc.property(markdownText, settings, fc.array(fc.nat(2000), { maxLength: 12 }), (text, setting, lengths) => {
        const options = optionsOf(setting)
        const whole = split(text, options)
        for (const length of lengths) {
          const before = split(text.slice(0, length), options).slice(0, -1)
          expect(whole.slice(0, before.length)).toEqual(before)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('white space that becomes visible later has room', () => {
    const text = `A sentence of some words. Another one! **never closed <!-- open \n\n\r\n${'x'.repeat(70)}`
    const options = { maxLength: 64, measure: (source: string) => rendered(source).length }
    expect(split(text, options).slice(0, 2)).toEqual(split(text.slice(0, 106), options).slice(0, 2))
  })

  test('the slices concatenate to the source, and each fits', () => {
    fc.assert(
      fc.property(markdownText, settings, (text, setting) => {
        const { maxLength, measure } = optionsOf(setting)
        const slices = split(text, { maxLength, measure })
        expect(slices.map(({ from, to }) => text.slice(from, to)).join('')).toBe(text)
        let at = 0
        for (const { from, to, source } of slices) {
          expect(from).toBe(at)
          expect(to).toBeGreaterThan(from)
          expect(measure(source)).toBeLessThanOrEqual(maxLength)
          at = to
        }
      }),
      { numRuns: 1500 },
    )
  })

  test('no slice splits a surrogate pair, or leaves a fence open', () => {
    fc.assert(
      fc.property(markdownText, settings, (text, setting) => {
        for (const { from, to, source } of split(text, optionsOf(setting))) {
          if (to < text.length) expect(text.slice(to - 1, to + 1)).not.toMatch(/[\ud800-\udbff][\udc00-\udfff]/)
          if (from > 0) expect(text.slice(from - 1, from + 1)).not.toMatch(/^[\ud800-\udbff][\udc00-\udfff]$/)
          const last = lex(source).at(-1)
          expect(last && openFence(last)).toBeUndefined()
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('continuing after the sealed slices equals cutting the whole', () => {
    fc.assert(
      fc.property(fc.array(markdownText, { maxLength: 5 }), settings, (texts, setting) => {
        const options = optionsOf(setting)
        let [text, slices]: [string, readonly Slice[]] = ['', []]
        for (const more of texts) {
          text += more
          const sealed = slices.slice(0, -1)
          const last = sealed.at(-1)
          slices = [...sealed, ...split(text, { ...options, from: last?.to, open: last?.open })]
          expect(slices).toEqual(split(text, options))
        }
      }),
      { numRuns: 1000 },
    )
  })
})

describe('a slice', () => {
  const words = 'word '.repeat(12)

  test.each<[string, number, string[]]>([
    ['short', 48, ['short']],
    ['', 48, []],
    [`${words}\n\nnext words`, 70, [words.trim(), 'next words']],
    ['One whole sentence is here. Another one there', 40, ['One whole sentence is here.', 'Another one there']],
    [
      'some words that are here\nwrapped by hand somewhere',
      40,
      ['some words that are here', 'wrapped by hand somewhere'],
    ],
    ['x'.repeat(50), 40, ['x'.repeat(40), 'x'.repeat(10)]],
    [
      'two halves that are separated by space      end of it',
      40,
      ['two halves that are separated by space', 'end of it'],
    ],
    [
      'see this [link text here](https://example.com) now',
      40,
      ['see this', '[link text here](https://example.com)', 'now'],
    ],
    ['lots of words before `some code here` that ends', 32, ['lots of words before', '`some code here` that ends']],
  ])('%#: %j is cut well', (source, maxLength, expected) => {
    expect(cut(source, maxLength)).toEqual(expected)
  })

  test('has at most 700 lines, where blank lines in a row are one', () => {
    const slices = cut(`${'a\n'.repeat(1000)}${'\n'.repeat(1000)}b`, 4096)
    expect(slices.map((source) => source.split('\n').filter((line) => line !== '').length)).toEqual([700, 301])
  })

  test('a full list is measured once', () => {
    const measured: string[] = []
    const measure = (source: string): number => measured.push(source) && source.length
    split('- an item of words\n'.repeat(100), { maxLength: 1000, measure })
    expect(measured.join('').length).toBeLessThan(2000)
  })

  test('reopens a fence with its language, and closes it', () => {
    const lines = Array.from({ length: 8 }, (_, index) => `const a${index} = ${index}`).join('\n')
    const slices = cut(`\`\`\`ts title\n${lines}\n\`\`\`\nafter`, 70)
    expect(slices.length).toBe(3)
    expect(slices[0]).toMatch(/^```ts title\n[^`]*\n```$/)
    expect(slices[1]).toMatch(/^```ts\n[^`]*\n```$/)
    expect(slices[2]).toBe('after')
  })

  test('reopens a fence of an item inside an item', () => {
    const [, second = ''] = cut(`2. item\n   \`\`\`js\n${'   a()\n'.repeat(12)}   \`\`\`\n3. next`, 80)
    expect(second).toMatch(/^2\. ```js\n( {3}a\(\)\n)+ {3}```\n3\. next$/)
  })

  test('continues the numbering', () => {
    const slices = cut('1. some item\n'.repeat(8), 60)
    expect(slices.map((source) => source.split('\n')[0])).toEqual(['1. some item', '5. some item'])
  })

  test('continues the item that was cut', () => {
    const [, second] = cut(`3. ${words}${words}\n4. next`, 80)
    expect(second).toMatch(/^3\. (word ?)+\n4\. next$/)
  })

  test('continues the nested list', () => {
    const nested = '   - nested item\n'.repeat(5)
    expect(cut(`1. first\n${nested}2. second`, 75)[1]).toBe('1. - nested item\n2. second')
  })

  test('continues the quote that was cut', () => {
    expect(cut(`> ${words}${words}`, 80)[1]).toMatch(/^> word/)
  })

  test('repeats the head of its table', () => {
    const [, second = ''] = cut(`| a | b |\n|---|---|\n${'| cell | other |\n'.repeat(12)}`, 140)
    expect(second).toMatch(/^\| a \| b \|\n\|---\|---\|\n\| cell/)
  })

  test('is cut at a blank line outside of a fence, if one is near', () => {
    const code = '```\nconst a = 1\nconst b = 2\nconst c = 3\n```'
    expect(cut(`${words}\n\n${code}`, 90)).toEqual([words.trim(), code])
  })

  test('never splits a grapheme', () => {
    const family = '👩‍👩‍👧‍👦'
    for (const source of cut(family.repeat(20), 48)) expect(source.length % family.length).toBe(0)
  })

  test.each([46, 47, 48, 49, 50])('never splits a flag in a row of flags, with slices of %i units', (maxLength) => {
    for (const source of cut('🇳🇱'.repeat(40), maxLength)) expect(source).toMatch(/^(🇳🇱)+$/u)
  })

  test('makes progress if one grapheme is longer than a slice', () => {
    const slices = cut(`e${'\u0301'.repeat(200)}`, 48)
    expect(slices.join('')).toBe(`e${'\u0301'.repeat(200)}`)
  })

  test('fits even if the text measures more than its units', () => {
    fc.assert(
      fc.property(markdownText, (text) => {
        const measure = (source: string): number => Buffer.byteLength(source.trim()) * 2
        const slices = split(text, { maxLength: 200, measure })
        expect(slices.map(({ from, to }) => text.slice(from, to)).join('')).toBe(text)
        for (const { source } of slices) expect(measure(source)).toBeLessThanOrEqual(200)
      }),
      { numRuns: 500 },
    )
  })

  test('returns its open blocks: cutting from there needs no earlier text', () => {
    const text = `${words}\n\n- item\n`.repeat(20)
    const options = { maxLength: 200, measure: (source: string) => rendered(source).length }
    const slices = split(text, options)
    const third = slices[2] ?? expect.fail()
    expect(split(text, { ...options, from: third.to, open: third.open })).toEqual(slices.slice(3))
  })
})

test('a table row is one whether or not it has a bar yet', () => {
  const table = '\n| a | b |\n|---|:-:|\n| 1 | a long cell with words |\n| 22 | x\\|y |\n'
  const link = '[a link](https://example.com/a/rather/long/path?with=query) '
  const options = { maxLength: 100, measure: (text: string) => rendered(text).length }
  const before = split(table + link.repeat(2), options).slice(0, -1)
  expect(split(`${table}${link.repeat(2)}|---|`, options).slice(0, before.length)).toEqual(before)
})

test('if each letter takes the room of many, no more is measured than some messages hold', () => {
  const source = 'a\n-\n'.repeat(20_000)
  let units = 0
  const measure = (text: string): number => {
    units += text.length
    return 65 * text.split('\n').length
  }
  const slices = split(source, { maxLength: 32_768, measure })
  expect(slices.map((slice) => slice.to - slice.from).reduce((sum, one) => sum + one)).toBe(source.length)
  for (const slice of slices) expect(measure(slice.source)).toBeLessThanOrEqual(32_768)
  expect(units).toBeLessThan(12 * source.length)
})

describe('with tables that render much longer than their source, and a large limit', () => {
  const table = fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 10, max: 60 }), fc.integer({ min: 1, max: 150 }))
    .map(([columns, head, rows]) => {
      const row = (cell: string): string => `|${`${cell}|`.repeat(columns)}\n`
      return `${row('h'.repeat(head))}${row('-')}${row('x').repeat(rows)}\n`
    })
  const paragraph = fc.integer({ min: 1, max: 40 }).map((count) => `${'some words here '.repeat(count)}\n\n`)
  const text = fc.array(fc.oneof(table, table, paragraph), { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
  const options = { maxLength: 8300, measure: (source: string) => rendered(source).length }

  test('every prefix seals what the whole text seals', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(6000), { maxLength: 12 }), (source, lengths) => {
        const whole = split(source, options)
        for (const length of lengths) {
          const before = split(source.slice(0, length), options).slice(0, -1)
          expect(whole.slice(0, before.length)).toEqual(before)
        }
      }),
      { numRuns: 200 },
    )
  })
})
