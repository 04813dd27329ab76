import { renderHtml } from '@reply/telegram/internal'
import { expect, test } from 'vitest'
import { plain } from '../src/texts.ts'

test.each([
  '**bold** _it_ `code` [link](https://example.com) ![x](y)',
  '# title',
  '> quote',
  '- item\n1. one',
  '<b>html</b> &amp; ~~gone~~ || spoiler ||',
  '```\nfence\n```',
])('shows %j as it is', (text) => {
  expect(renderHtml(plain(text)).plain).toBe(text)
})

test('makes hidden characters visible', () => {
  expect(renderHtml(plain('a\u202eb')).plain).toBe('a\\u202eb')
})
