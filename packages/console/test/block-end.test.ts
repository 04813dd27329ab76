import { expect, test } from 'vitest'
import { endOfBlock } from '../src/block-end.ts'
import { markdown } from '../src/markdown.ts'

const width = 20
const last = <T>(rows: readonly T[]): readonly T[] => rows.slice(-40)

test.each([
  ['a paragraph', Array.from({ length: 400 }, (_, at) => `a line of words ${at}`).join('\n')],
  ['a fence', `\`\`\`ts\n${Array.from({ length: 400 }, (_, at) => `const a${at} = 1`).join('\n')}`],
  ['a list', Array.from({ length: 400 }, (_, at) => `- item ${at}`).join('\n')],
  ['a quote', Array.from({ length: 400 }, (_, at) => `> line ${at}`).join('\n')],
  ['a table', `| a | b |\n|---|---|\n${Array.from({ length: 400 }, (_, at) => `| ${at + 100} | x |`).join('\n')}`],
])('%s: the last rows look as they do in the whole', (_, source) => {
  const end = endOfBlock(source, width)
  expect(end.length).toBeLessThan(source.length / 2)
  expect(last(markdown(end, width))).toEqual(last(markdown(source, width)))
})

test('what fits is left whole', () => {
  expect(endOfBlock('a\n'.repeat(100), width)).toBe('a\n'.repeat(100))
})

test('no letter of one long word is cut in two', () => {
  const end = endOfBlock('😀'.repeat(3001), width)
  expect([...end].every((letter) => letter === '😀')).toBe(true)
})
