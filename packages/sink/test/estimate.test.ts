import { expect, test } from 'vitest'
import { estimateFit } from '../src/markdown/estimate.ts'
import { firstLine } from '../src/markdown/line.ts'

const endOf = (text: string, room: number): number => estimateFit(text, firstLine(text), room).end
const blockOf = (text: string): number | undefined => estimateFit(text, firstLine(text), 1000).block?.start

test.each([
  'words\n',
  '> words\n',
  '  words\n',
  '- words\n',
  '- > * words\n',
  '# words\n',
  'words\n---\n',
  '| words | more |\n',
  '|\n',
])('%j takes its own units', (line) => {
  expect(endOf(`${line}${line}`, 2 * line.length)).toBe(2 * line.length)
})

test.each(['a\tb\n', '1. a\n', '- 1. a\n', '```\n', '> ```\n', '- ~~~\n', '1. ```\n'])(
  '%j may take more than its own units',
  (line) => {
    expect(endOf(line, line.length)).toBeLessThan(line.length)
  },
)

test.each(['|-|-|', '- | -', '-|-', ':-|-', '> |-|', '| :-|'])('cells below the rule %j are padded', (rule) => {
  const table = `a|b\n${rule}\n${'|\n'.repeat(40)}${'w'.repeat(60)}|b\n`
  expect(endOf(table, table.length)).toBeLessThan(table.length)
})

test.each(['- b', '* b', '+ b', '# b', '  ### b'])('%j begins a block below text', (line) => {
  expect(blockOf(`a\n${line}\n`)).toBe(2)
})

test.each(['-', '---', '#', '> b', '1. b', '|', 'b'])('%j begins no block below text', (line) => {
  expect(blockOf(`a\n${line}\n`)).toBeUndefined()
})

test('a number begins a block in a list', () => {
  expect(blockOf('1. a\n2. b\n')).toBe(5)
})
