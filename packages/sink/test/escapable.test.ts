import fc from 'fast-check'
import { expect, test } from 'vitest'
import { split } from '../src/markdown/split.ts'
import { markdownText } from './fragments.ts'

/** Like dialects that escape characters that look like marks. */
const measure = (source: string): number => source.replace(/[*_@]/g, '\\$&').length

test('if rendering doubles characters, every slice but the last still stays the same', () => {
  fc.assert(
    fc.property(markdownText, markdownText, fc.constantFrom(48, 100, 333), (text, more, maxLength) => {
      const options = { maxLength, measure, escapable: /[*_@]+/g }
      const before = split(text, options).slice(0, -1)
      const after = split(text + more, options)
      expect(after.slice(0, before.length)).toEqual(before)
      for (const { source } of after.slice(0, -1)) expect(measure(source)).toBeLessThanOrEqual(maxLength)
    }),
    { numRuns: 1500 },
  )
})
