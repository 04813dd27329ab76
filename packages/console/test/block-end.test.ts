import { expect, test } from 'vitest'
import { markdown } from '../src/format/markdown.ts'
import { endOfBlock } from '../src/view/text.ts'

const width = 20
const last = <T>(rows: readonly T[]): readonly T[] => rows.slice(-40)

test.each([
  ['a paragraph', Array.from({ length: 400 }, (_, at) => `a line of words ${at}`).join('\n')],
  ['a fence', `\`\`\`ts\n${Array.from({ length: 400 }, (_, at) => `const a${at} = 1`).join('\n')}`],
  ['a list', Array.from({ length: 400 }, (_, at) => `- item ${at}`).join('\n')],
  ['a quote', Array.from({ length: 400 }, (_, at) => `> line ${at}`).join('\n')],
  ['a table', `| a | b |\n|---|---|\n${Array.from({ length: 400 }, (_, at) => `| ${at + 100} | x |`).join('\n')}`],
  [
    'a table with CRLF',
    `| a | b |\r\n|---|---|\r\n${Array.from({ length: 400 }, (_, at) => `| ${at + 100} | x |\r\n`).join('')}`,
  ],
])('%s: the last rows look as they do in the whole', (_, source) => {
  const end = endOfBlock(source, width)
  expect(end.length).toBeLessThan(source.length / 2)
  expect(last(markdown(end, width))).toEqual(last(markdown(source, width)))
})

test('a block that fits is left whole', () => {
  expect(endOfBlock('a\n'.repeat(100), width)).toBe('a\n'.repeat(100))
})

test('a character in a long word is never split', () => {
  const end = endOfBlock('😀'.repeat(3001), width)
  expect([...end].every((letter) => letter === '😀')).toBe(true)
})

test('a text that may be the rule of a table is scanned once', () => {
  const source = `| a | b |\n${':-'.repeat(1_000_000)}`
  expect(endOfBlock(source, width)).toBe(source.slice(-60 * width))
})

test('the end of a long line of code is code', () => {
  const rows = markdown(endOfBlock(`\`\`\`js\nfoo\n${'a*b*c '.repeat(1000)}`, width), width)
  const text = rows.map((row) => row.map((span) => span.text).join('')).join(' ')
  expect(text).toContain('a*b*c')
  expect(text).not.toContain('abc')
})
