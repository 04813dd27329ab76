import fc from 'fast-check'
import { Lexer } from 'marked'
import { describe, expect, test, vi } from 'vitest'
import { layout } from '../src/layout/layout.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { closeMarkdown } from '../src/markdown/close-markdown.ts'
import { renderMarkdown } from '../src/markdown/dialect.ts'
import { createGrowingSplit } from '../src/markdown/growing-split.ts'
import { lex } from '../src/markdown/lex.ts'
import { readMarkdown } from '../src/markdown/lexer/bounded-lexer.ts'
import { createTableLimit } from '../src/markdown/lexer/limits.ts'
import { knownTokens, type Token } from '../src/markdown/lexer/token.ts'
import { readLongBlock } from '../src/markdown/long-block.ts'
import { split } from '../src/markdown/split.ts'
import { createTextCache } from '../src/port/text-cache.ts'
import { fakeRender } from '../src/testing/fake.ts'
import { fakeLimits } from '../src/testing/fake-options.ts'
import { texts } from '../src/texts.ts'

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)
const list = (count: number): string =>
  numbers(count)
    .map((at) => `- item ${at} of **all** that\n  - is below\n`)
    .join('')
const numbered = (count: number): string =>
  numbers(count)
    .map((at) => `${at + 1}. item\n\n`)
    .join('')
const table = (count: number): string =>
  `| a | b |\n|---|:-:|\n${numbers(count)
    .map((at) => `| ${at} | *b* |\n`)
    .join('')}`
const headings = (count: number): string =>
  numbers(count)
    .map(
      (at) => `${'#'.repeat(1 + (at % 3))} A heading of some words ${at}\nUnderlined text of some words ${at}\n=====\n`,
    )
    .join('')
const fence = (count: number): string =>
  `\`\`\`ts\n${numbers(count)
    .map((at) => `- const a${at} = 1\n`)
    .join('')}\`\`\`\n`

/** A token's content, regardless of how its text was cut. */
const shape = (token: Token): unknown =>
  token.type === 'list'
    ? [token.type, token.ordered, token.start, token.raw, token.items.map(({ text }) => text.trimEnd())]
    : token.type === 'table'
      ? [token.type, token.raw, token.align, token.rows.map((row) => row.map(({ text }) => text))]
      : [token.type, token.raw]

describe('a long block', () => {
  test.each([
    ['list', list(200)],
    ['numbered list', numbered(500)],
    ['table', table(500)],
    ['headings', headings(100)],
    ['fence', fence(500)],
    ['list and a table', `${list(100)}\n${table(200)}`],
  ])('%s: read in pieces it gives the same tokens as in one', (_, source) => {
    const whole = readMarkdown(source).map(shape)
    expect(readLongBlock(source, readMarkdown).map(shape)).toEqual(whole)
  })

  test.each([
    ['list', list],
    ['numbered list', numbered],
    ['table', table],
    ['headings', headings],
  ])('%s: one more line reads only its end', (_, write) => {
    const cache = createTextCache<readonly Token[]>(1_000_000)
    let units = 0
    const read = (piece: string): readonly Token[] =>
      cache.get(piece, (text) => {
        units += text.length
        return readMarkdown(text)
      })
    readLongBlock(write(2000), read)
    units = 0
    readLongBlock(write(2001), read)
    expect(units).toBeLessThan(4000)
  })
})

test('pieces of a table with a long head read the head at most once per two lengths of it', () => {
  let units = 0
  const source = wideCell(2000)
  readLongBlock(source, (text) => {
    units += text.length
    return readMarkdown(text)
  })
  expect(units).toBeLessThan(1.8 * source.length)
})

test('a long block of any lines reads the same in pieces as in one', () => {
  const lines = [
    'some words',
    '# h',
    '## h',
    '   # h',
    '===',
    '-',
    '---',
    '--',
    '- a',
    '- # h',
    '* b',
    '  - c',
    '    d',
  ]
  const more = ['1. n', '> q', '> # h', '```', '| a | b |', '|---|---|', '- [ ] t', '- - -', '# ', '']
  const blocks = fc
    .array(fc.constantFrom(...lines, ...more), { minLength: 2, maxLength: 5 })
    .chain((some) => fc.array(fc.constantFrom(...some, '## words', 'a\n==='), { minLength: 150, maxLength: 250 }))
  const read = (text: string): readonly Token[] => knownTokens(new Lexer().blockTokens(text))
  fc.assert(
    fc.property(blocks, (some) => {
      const source = some.join('\n')
      expect(readLongBlock(source, read).map(shape)).toEqual(read(source).map(shape))
    }),
    { numRuns: 200 },
  )
})

test('growing text is cut and rendered only at its end', () => {
  const sentence = 'A sentence of some words, which goes on. '
  const paragraph = `${sentence.repeat(8)}\n\n`
  let units = 0
  const render = (source: string) => {
    units += source.length
    return fakeRender(source)
  }
  const measure = (source: string): number => render(source).length
  const cut = createGrowingSplit()
  const cutting = { from: 0, open: () => undefined, maxLength: 1000, escapable: undefined, measure, measuredBy: [] }
  let text = ''
  for (let step = 0; step < 300; step++) {
    text += paragraph
    units = 0
    const slices = cut(text, cutting)
    expect(units).toBeLessThan(12_000)
    if (step % 50 === 0)
      expect(slices.map(({ from, to }) => [from, to])).toEqual(
        split(text, { maxLength: 1000, measure }).map(({ from, to }) => [from, to]),
      )
  }
})

test('a forced cut is made between paragraphs', () => {
  const source = numbers(1000)
    .map((at) => `${at}.0.1 of a day\n===\n\n  * item\n\n`)
    .join('')
  const rendered = renderMarkdown(source, { ...verbatim, heading: (content) => `[${content}]` })
  expect(rendered).not.toContain('===')
})

test('one long cell does not widen all rows of a table into hundreds of messages', () => {
  const card = { type: 'answer', key: 'answer', source: wideCell(2000), isOpen: false } as const
  const limits = { ...fakeLimits, maxLength: 4000 }
  const slots = layout([card], { render: fakeRender, limits, mode: 'live', texts, ledger: emptyLedger })
  expect(slots.length).toBeLessThan(120)
})

describe('doubling the text at most about doubles the matches', () => {
  test.each<[string, string]>([
    ['emphasis', '_a*'],
    ['lazy items in quotes', '> - a\nb\n'],
    ['lazy quotes', '> > a\nb\n'],
    ['headings', '# a\n'],
    ['underlined headings', 'a\n-\n'],
    ['strikes', '~~a '],
  ])('%s', (_, unit) => {
    const matches = (units: number): number => {
      const exec = vi.spyOn(RegExp.prototype, 'exec')
      try {
        readMarkdown(unit.repeat(units / unit.length))
        return exec.mock.calls.length
      } finally {
        exec.mockRestore()
      }
    }
    expect(matches(8000)).toBeLessThan(2.5 * matches(4000))
    expect(matches(8000)).toBeLessThan(60_000)
  })
})

test.each([
  ['setext headings', 'a\n-\n', false],
  ['a table', '| a | b |\n|---|---|\n| 1 | 2 |\n', true],
  ['a table without outer bars', 'a | b\n--|--\n', true],
  // Takes minutes when the search is quadratic.
  ['a long line that is almost a rule', `| a |\n${':-'.repeat(200_000)}x`, false],
])('%s: the second line tells whether it may be a table', (_, source, expected) => {
  expect(createTableLimit(1000).isLikely(source)).toBe(expected)
})

test('names with underscores do not use up the read limit of emphasis', () => {
  const rendered = renderMarkdown(`${'a_b_c '.repeat(600)}\`code\``, { ...verbatim, codespan: (text) => `[${text}]` })
  expect(rendered).toContain('[code]')
})

test.each<[string, string]>([
  ['names in code', '`someName`, '],
  ['bold code', '**`a name`** and '],
  ['links', 'see [the docs](https://example.com/a), '],
  ['emphasis', 'a **bold** and an *italic* word, '],
])('a paragraph of 3,900 units of %s keeps all its marks', (_, unit) => {
  expect(renderMarkdown(unit.repeat(3900 / unit.length), verbatim)).not.toMatch(/[`*[]/)
})

test.each<[string, string]>([
  ['links that never close', '[a]('],
  ['links with parentheses', '[a](('],
  ['backticks', '`a ``b '],
  ['addresses', 'http://a.www.a@a.'],
])('%s: a line has a bounded number of spans', (_, unit) => {
  const [paragraph] = readMarkdown(unit.repeat(4000 / unit.length))
  const tokens = paragraph !== undefined && 'tokens' in paragraph ? (paragraph.tokens ?? []) : []
  expect(tokens.length).toBeLessThan(300 + 4000 / 8 + 5)
})

describe('a text that marked would read repeatedly', () => {
  test.each<[string, string]>([
    ['emphasis', '_a*'.repeat(3000)],
    ['strikes', '~~a '.repeat(2000)],
    ['quotes', '> '.repeat(4000)],
    ['numbers', '1. '.repeat(3000)],
    ['brackets', '['.repeat(8000)],
    ['images', '![['.repeat(3000)],
    ['links', '[a](b '.repeat(1500)],
    ['lazy items in quotes', '> - a\nb\n'.repeat(1000)],
    ['addresses', 'a.a-a_'.repeat(1500)],
    ['a wide head of short rows', `${'|a'.repeat(800)}\n${'|-'.repeat(800)}\n${'|\n'.repeat(2000)}`],
  ])('%s: no text is lost', (_, source) => {
    const text = renderMarkdown(source, verbatim).replace(/[^a-z]/g, '')
    expect(text).toBe(source.replace(/[^a-z]/g, ''))
    expect(() => closeMarkdown(source)).not.toThrow()
  })

  test('it is a block of its own: what stands before it keeps its marks', () => {
    const [first] = lex(`**bold**\n\n${'_a*'.repeat(3000)}`)
    expect(first).toMatchObject({ type: 'paragraph', tokens: [{ type: 'strong' }] })
  })

  test('the number of tokens nested in emphasis is bounded', () => {
    const depthOf = (tokens: readonly unknown[]): number =>
      Math.max(0, ...tokens.map((token) => 1 + depthOf(inside(token))))
    const inside = (token: unknown): readonly unknown[] =>
      typeof token === 'object' && token !== null && 'tokens' in token && Array.isArray(token.tokens)
        ? token.tokens
        : []
    expect(depthOf(lex('_a*'.repeat(3000)))).toBeLessThan(20)
    expect(depthOf(lex('> '.repeat(4000)))).toBeLessThan(30)
  })
})

test('a layout does not depend on what was laid out before', () => {
  const card = (source: string) => ({ type: 'answer', key: 'answer', source, isOpen: true }) as const
  const options = {
    render: fakeRender,
    limits: { ...fakeLimits, maxLength: 300 },
    mode: 'live',
    texts,
    ledger: emptyLedger,
  } as const
  const text = list(60)
  const fresh = layout([card(text)], { ...options, render: (source) => fakeRender(source) })
  for (const length of [10, 700, 90, 1200, text.length, 2 * text.length, 650])
    layout([card((text + text).slice(0, length))], options)
  layout([card(`other ${text}`)], options)
  const known = layout([card(text)], options)
  expect(known.map(({ key, body, piece }) => ({ key, body, piece }))).toEqual(
    fresh.map(({ key, body, piece }) => ({ key, body, piece })),
  )
})

test('a text that became shorter is cut like any other', () => {
  const card = (source: string) => ({ type: 'answer', key: 'answer', source, isOpen: true }) as const
  const limits = { ...fakeLimits, maxLength: 1000 }
  const options = { render: fakeRender, limits, mode: 'live', texts, ledger: emptyLedger } as const
  const text = '- an item of some words\n'.repeat(60)
  for (let length = 1; length < 900; length += 50) {
    const fresh = layout([card(text.slice(0, length))], { ...options, render: (source) => fakeRender(source) })
    layout([card(text)], options)
    const known = layout([card(text.slice(0, length))], options)
    expect(known.map(({ piece }) => piece)).toEqual(fresh.map(({ piece }) => piece))
  }
})

const wideCell = (rows: number): string => `|${'a'.repeat(900)}|\n|-|\n${'|a|\n'.repeat(rows)}`
const same = (content: string): string => content
const verbatim = {
  text: same,
  strong: same,
  em: same,
  del: same,
  codespan: same,
  code: same,
  link: (content: string, href: string) => content + href,
  image: (content: string, href: string) => content + href,
  heading: same,
  paragraph: same,
  item: same,
  list: (items: readonly string[]) => items.join('\n'),
  blockquote: same,
  hr: () => '',
  br: () => '\n',
}
