import fc from 'fast-check'
import { expect, test } from 'vitest'
import { markdown } from '../src/format/markdown.ts'
import { plain } from '../src/format/styled-line.ts'
import { closeTable } from '../src/view/text.ts'

const rows = (source: string) => markdown(closeTable(source), 40).map(plain)
const TABLE = '| name | lines |\n|---|---:|\n| `a.ts` | 12 |\n| b\\|c | 3 |'

test.each<[string, string[]]>([
  ['|', []],
  ['| na', []],
  ['| name | li', ['name', '────']],
  ['| name | lines |\n|-', ['name │ lines', '─────┼──────']],
  ['| name | lines |\n|---|-', ['name │ lines', '─────┼──────']],
  ['| name | lines |\n|---|---:|\n| `a.t', ['name │ lines', '─────┼──────']],
  ['| name | lines |\n|---|---:|\n| `a.ts` | 1', ['name │ lines', '─────┼──────', 'a.ts │      ']],
  ['Look:\n| name | lines |', ['Look:', 'name │ lines', '─────┼──────']],
])('a table in progress looks like one: %j', (source, expected) => {
  expect(rows(source)).toEqual(expected)
})

test.each(['```\n| a', '    | a', '> | a', '- | a', '| a |\nno table', 'a | b', 'text', ''])(
  'other text is left alone: %j',
  (source) => {
    expect(closeTable(source)).toBe(source)
  },
)

test('a complete table is left alone', () => {
  expect(closeTable(TABLE)).toBe(TABLE)
})

test('a table in progress never shows a bar', () => {
  fc.assert(
    fc.property(fc.nat({ max: TABLE.length }), (length) => {
      const shown = rows(TABLE.slice(0, length)).join('')
      expect(shown.replace('b|c', '')).not.toContain('|')
    }),
  )
})
