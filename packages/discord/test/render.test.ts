import { markdownCases, readDiscord, renderings } from '@reply/testing/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapeDiscord, renderDiscord } from '../src/internal.ts'
import { markdown } from './fragments.ts'

/** Ignores white space, which the client handles. */
const letters = (text: string): string => text.replace(/\s+/g, '')

test.each(Object.entries(markdownCases))('%s: %j', (name, source) => {
  const { text, plain, length } = renderDiscord(source)
  expect(text).toBe(new Map(Object.entries(renderings.discord)).get(name))
  expect([letters(readDiscord(text)), length]).toEqual([letters(plain), text.length])
})

test.each([
  ['small text', '<small>bash: *npm test*</small>', '-# bash: *npm test*'],
  ['small text below', 'a\n\n<small>b</small>', 'a\n\n-# b'],
  ['a tag in a line', 'a <small>b</small>', 'a <small>b</small>'],
  ['a tag that stays open', '<small>b', '<small>b'],
  ["its own mark of small text, which isn't Markdown", '-# b', '\\-# b'],
])('%s', (_, source, text) => {
  expect(renderDiscord(source).text).toBe(text)
})

test.each([
  ['a deep heading', '#### a **b**', '**a b**'],
  ['a heading that ends in a mark', '# C#', '**C#**'],
  ['a heading in a list', '- # a', '- **a**'],
  ['a quote in a list', '- > a', '- a'],
  ['marks beside each other', '**a**__b__', '**a**\u200b**b**'],
  ['emphasis with a star in it', '*a\\*b*', 'a\\*b'],
  ['code with its own fence', '````\n```\n````', '```\n`\u200b`\u200b`\n```'],
  ['code with many backticks', '``` a``b ```', '``a`\u200b`b``'],
  ['a label that lies', '[https://a.b](https://c.d)', 'https\\://a.b (<https://c.d>)'],
  ['a label with brackets', '[a [b]](https://c.d)', 'a [b] (<https://c.d>)'],
  ['a link before a word', '<https://a.b>c', '<https://a.b>c'],
  ['a bold link', '**<https://a.b>**', '**<https://a.b>**'],
  ['an underscore that code would close', 'a_b `c_`', 'a\\_b `c_`'],
  ['spoilers', 'a ||b||', 'a \\|\\|b\\|\\|'],
])('%s is written so that Discord reads it as meant', (_, source, text) => {
  expect(renderDiscord(source).text).toBe(text)
  expect(letters(readDiscord(text))).toBe(letters(renderDiscord(source).plain))
})

test('thousands of nested quotes are shown literally', () => {
  expect(letters(readDiscord(renderDiscord('>'.repeat(1500)).text))).toMatch(/^>*$/)
  expect(() => renderDiscord('>'.repeat(20_000))).not.toThrow()
})

test('plain text is shown unchanged', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), markdown), (words) => {
      const read = letters(readDiscord(escapeDiscord(words))).replaceAll('\u200b', '')
      expect(read).toBe(letters(words).replaceAll('\u200b', ''))
    }),
    { numRuns: 1000 },
  )
})

describe('any source', () => {
  test('is read by Discord as plain', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        const { text, plain, length } = renderDiscord(source)
        expect(letters(readDiscord(text))).toBe(letters(plain))
        expect(length).toBe(text.length)
      }),
      { numRuns: 2000 },
    )
  })

  test('mentions no one outside of code, where Discord mentions no one anyway', () => {
    fc.assert(
      fc.property(markdown, (source) => {
        const outside = renderDiscord(source).text.replace(/```[\s\S]*?```|(`+)[\s\S]*?[^`]\1(?!`)/g, '')
        expect(outside).not.toMatch(/@everyone|@here|<@[!&]?\d/)
      }),
      { numRuns: 2000 },
    )
  })
})
