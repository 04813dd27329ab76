import fc from 'fast-check'
import { Lexer, type Token } from 'marked'
import { describe, expect, test } from 'vitest'
import { readMarkdown } from '../src/markdown/lexer/bounded-lexer.ts'
import { noDefinitions, readFlatTable, readSimpleList, readSimpleSpans } from '../src/markdown/lexer/fast-path.ts'

const marked = (source: string) => new Lexer({ gfm: true }).lex(source)

const words = fc.constantFrom(
  ...['a', '**b** c', '`x`', '_i_ j', '2 apples', '3. x', 'http://a.b/c', '[l](u)', 'x | y', 'a  ', '- b', '# h'],
  ...['--', '***', 'é', 'a\\', '~~s~~', '> q', '```', '[ ] t', '\ttab', '1) z', 'a * b', '==', '2024', '*', '``x``'],
  ...['a\n  more', 'a\nlazy', 'a\n\n  second', 'a\n    code', 'www.a.b', 'a@b.c', ''],
)
const endings = fc.constantFrom(
  '',
  '\n',
  '\n\n',
  '\n\nafter',
  '\nlazy',
  '\n\n- x',
  '\n\n  in',
  '\n---',
  '\n# h',
  '\n \nz',
)
const beginnings = fc.constantFrom('', '', 'p\n', 'p\n\n', '# t\n')

const lists = fc
  .record({
    before: beginnings,
    mark: fc.constantFrom('-', '*', '+', '1.', '2)', '7.'),
    gap: fc.constantFrom('\n', '\n\n', '\n\n\n'),
    items: fc.array(words, { minLength: 1, maxLength: 4 }),
    after: endings,
  })
  .map(({ before, mark, gap, items, after }) => before + items.map((item) => `${mark} ${item}`).join(gap) + after)

/** A tree of items: each is its text, and the items in it. */
interface Item {
  readonly mark: string
  readonly text: string
  readonly gap: string
  readonly items: readonly Item[]
}

const marks = fc.constantFrom('-', '*', '+', '1.', '2.', '10.', '1)', '7)')
const texts = fc.constantFrom(
  'a',
  'b c',
  '**b** c',
  '`x`',
  '_i_ j',
  '2 apples',
  'é',
  'www.a.b',
  '[l](u)',
  '- a',
  '1. b',
  '* - c',
)
const gaps = fc.constantFrom('\n', '\n', '\n\n')
const { items } = fc.letrec<{ items: readonly Item[] }>((tie) => ({
  items: fc
    .tuple(
      marks,
      fc.array(
        fc.record({ text: texts, gap: gaps, items: fc.oneof({ depthSize: 'small' }, fc.constant([]), tie('items')) }),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
    )
    .map(([mark, all]) => all.map((item) => ({ ...item, mark }))),
}))

function linesOf(all: readonly Item[], indent: number): string {
  return all
    .map(({ mark, text, gap, items }) => {
      return `${' '.repeat(indent)}${mark} ${text}${gap}${linesOf(items, indent + mark.length + 1)}`
    })
    .join('')
}

/** Lists in lists, some with one more or one less space before an item than its list has. */
const nestedLists = fc
  .record({
    before: fc.constantFrom('', '', 'p\n\n', 'p\n'),
    text: items.map((all) => linesOf(all, 0)),
    moved: fc.constantFrom('', '', '', ' - ', '\n- '),
    after: fc.constantFrom('', '\n', '\n\nz', 'lazy', '\n in', '\n  in', '\n - x', '\n* y', '\n ', '> q', '\n\t'),
  })
  .map(({ before, text, moved, after }) => before + (moved === '' ? text : text.replace('  - ', moved)) + after)

const cells = fc.constantFrom('a', '', '  ', ' b ', '**c** d', '`x`', '_i_', 'x\\|y', ' - ', ':', '[l](u)', '--', ' é ')
const bar = fc.constantFrom('|', '|', '|', '| ', '')
const row = (most: number) =>
  fc
    .tuple(bar, fc.array(cells, { minLength: 1, maxLength: most }), bar)
    .map(([open, texts, close]) => open + texts.join('|') + close)
const rule = fc
  .tuple(bar, fc.array(fc.constantFrom('-', ' --- ', ':-:', '-:', ':--'), { minLength: 1, maxLength: 3 }), bar)
  .map(([open, texts, close]) => open + texts.join('|') + close)
const tables = fc
  .tuple(beginnings, row(3), rule, fc.array(row(4), { maxLength: 3 }), endings)
  .map(([before, head, below, rows, after]) => before + [head, below, ...rows].join('\n') + after)

describe('a simple block reads as marked reads it', () => {
  test.each([
    ['lists', lists],
    ['lists in lists', nestedLists],
    ['tables', tables],
  ])('%s', (_, texts) => {
    fc.assert(
      fc.property(texts, (source) => {
        expect(readMarkdown(source)).toEqual(marked(source))
      }),
      { numRuns: 5000 },
    )
  })
})

const spanFragments = fc.constantFrom(
  ...[
    'a',
    'b c',
    '**',
    '*',
    '_',
    '`',
    ' ',
    '  ',
    '.',
    ',',
    '(',
    ')',
    '1',
    '2.',
    'é',
    'a_b_c',
    'a*b',
    '**c**',
    '*d*',
    '_e_',
  ],
  ...[
    '`f`',
    '`g h`',
    '**i j**',
    '!',
    '#',
    '-',
    ':',
    '"',
    "'",
    '|',
    '>',
    '+',
    '=',
    '/',
    '中',
    '👍',
    '**k`l`**',
    '`m*n`',
  ],
  ...[
    '`_o_`',
    '__p__',
    '***q***',
    '$',
    '\u0301',
    'http',
    'www',
    '\t',
    '—',
    '’',
    '`<b>`',
    '[',
    ']',
    '@',
    '~',
    '&',
    '\\',
  ],
  ...[
    '[a]',
    '![a]',
    ' [a] ',
    '[B]',
    '[c d]',
    '[]',
    '(u)',
    'http://a.b',
    ' https://c.d:80/e?f=1#g ',
    ' http://h. ',
    ' ',
    '\n',
    '`` ',
    '` i ` ',
    '```',
    '``` j',
    '`````',
  ],
)
const spans = fc.array(spanFragments, { minLength: 1, maxLength: 9 }).map((parts) => parts.join(''))

const definitions = { a: { href: 'u', title: 't' }, b: { href: 'v', title: '' } }

test.each([
  ['without definitions', noDefinitions],
  ['with definitions', definitions],
])('simple spans %s are what marked reads', (_, links) => {
  fc.assert(
    fc.property(spans, fc.boolean(), (line, isInLink) => {
      const simple = readSimpleSpans(line, links, isInLink)
      if (simple === undefined) return
      const lexer = new Lexer({ gfm: true })
      Object.assign(lexer.tokens.links, links)
      lexer.state.inLink = isInLink
      expect(withoutEscaped(simple)).toEqual(withoutEscaped(lexer.inlineTokens(line)))
    }),
    { numRuns: 20_000 },
  )
})

/** marked sets `escaped` of a text by how it begins. It matters only to marked's own renderer. */
function withoutEscaped(tokens: readonly Token[]): unknown {
  return JSON.parse(JSON.stringify(tokens, (key, value) => (key === 'escaped' ? undefined : value)))
}

test.each([
  ['a **b c** (_d_) and `e`.', true],
  ['*a*, `b*c`', true],
  ['a_b_c', false],
  ['`a @ `b @ `c', true],
  ['a@b', false],
  ['`a ``b', true],
  ['```a` b``` ``', true],
  ['**a `b`**', false],
  ['[a](b)', false],
  ['[c][d]', false],
  ['[a] [c]: http://a.b "x"\n[d]', true],
  ['[c][a]', false],
  ['a http://a.b/c d', true],
  ['a http://a.b. d', false],
  ['a\nb', true],
  ['a  \nb', false],
])('%j has simple spans: %s', (line, expected) => {
  expect(readSimpleSpans(line, definitions, false) !== undefined).toBe(expected)
})

test('brackets are text without definitions', () => {
  const tokens = readSimpleSpans('[c][d] [e', noDefinitions, false)
  expect(tokens).toMatchObject([{ type: 'text', raw: '[c][d] [e' }])
})

test('brackets are not read before all definitions are', () => {
  expect(readSimpleSpans('[c]', undefined, false)).toBeUndefined()
})

test.each([
  ['- a\n- b c\n', true],
  ['1. a\n2. **b**', true],
  ['- a\n\n- b\n\nafter', true],
  ['- a\n  - b\n', true],
  ['- a\n\n- b\n- c\n', true],
  ['- - a\n\n  - b\n', true],
  ['1. a\n   - **b**\n\n     1. c\n2. d', true],
  ['- a\n - b\n', false],
  ['- a\n  2. b\n', false],
  ['- a\n* b\n', false],
  ['- a\n  b\n', false],
  ['- [ ] a\n', false],
])('%j is a simple list: %s', (source, expected) => {
  expect(readSimpleList(source, new Lexer()) !== undefined).toBe(expected)
})

test.each([
  ['| a | b |\n|---|:-:|\n| 1 | 2 |\n', true],
  ['| a |\n|---|', true],
  ['| `a` |\n|---|', false],
  ['a | b\n---|---', false],
  ['| a | b |\n|---|\n', false],
])('%j is a flat table: %s', (source, expected) => {
  expect(readFlatTable(source, new Lexer()) !== undefined).toBe(expected)
})
