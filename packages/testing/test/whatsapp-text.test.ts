import { expect, test } from 'vitest'
import { readWhatsApp } from '../src/internal.ts'

const read = (source: string): readonly [string, ...string[]] => {
  const { text, entities } = readWhatsApp(source)
  return [text, ...entities.map(({ type, offset, length }) => `${type} ${text.slice(offset, offset + length)}`)]
}

test.each<[string, readonly string[]]>([
  ['*a* _b_ ~c~ `d`', ['a b c d', 'bold a', 'italic b', 'strikethrough c', 'code d']],
  ['*a _b_ c*', ['a b c', 'italic b', 'bold a b c']],
  ['```a\n*b*```', ['a\n*b*', 'pre a\n*b*']],
  ['```\na\n```', ['a', 'pre a']],
  ['`*a*`', ['*a*', 'code *a*']],
  ['> a\nb', ['a\nb', 'quote a']],
  ['a > b', ['a > b']],
  ['2*3*4', ['2*3*4']],
  ['* a *', ['* a *']],
  ['*a\nb*', ['*a\nb*']],
  ['**a**', ['*a*', 'bold a']],
  ['*\u2060a*\u2060', ['*a*']],
  ['>\u2060 a', ['> a']],
  ['snake_case_name', ['snake_case_name']],
  ['é*a*', ['é*a*']],
  ['(*a*)', ['(a)', 'bold a']],
  ['https://a.b/_c_', ['https://a.b/_c_']],
])('%j reads %j', (source, expected) => {
  expect(read(source)).toEqual(expected)
})
