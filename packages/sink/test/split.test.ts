import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Dialect, renderMarkdown } from '../src/dialect.ts'
import { lex, openFence } from '../src/markdown.ts'
import { createSplitter, type Slice, split } from '../src/split.ts'
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
const sources = (slices: readonly Slice[]): readonly string[] => slices.map(({ source }) => source)
const cut = (source: string, maxLength: number): readonly string[] =>
  sources(split(source, { maxLength, measure: (text) => rendered(text).length }))

describe('for every text', () => {
  test('every slice but the last stays as it is when text is added', () => {
    fc.assert(
      fc.property(markdownText, markdownText, settings, (text, more, setting) => {
        const options = optionsOf(setting)
        const before = split(text, options).slice(0, -1)
        expect(split(text + more, options).slice(0, before.length)).toEqual(before)
      }),
      { numRuns: 1500 },
    )
  })

  test('every prefix seals what the whole seals', () => {
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

  test('the slices are the source, and each fits', () => {
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

  test('no slice breaks a pair of surrogates, or leaves a fence open', () => {
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

  test('a splitter that remembers says the same', () => {
    fc.assert(
      fc.property(fc.array(markdownText, { maxLength: 5 }), settings, (texts, setting) => {
        const options = optionsOf(setting)
        const remembering = createSplitter(options)
        let text = ''
        for (const more of texts) {
          text += more
          expect(remembering(text)).toEqual(split(text, options))
        }
      }),
      { numRuns: 1000 },
    )
  })
})
