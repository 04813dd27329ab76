import fc from 'fast-check'
import { expect, test } from 'vitest'
import { split } from '../src/split.ts'
import { markdownText } from './fragments.ts'

/** As dialects do that escape what they take for marks. */
const measure = (source: string): number => source.replace(/[*_@]/g, '\\$&').length

test('where letters are written as two, every slice but the last stays as it is as well', () => {
  fc.assert(
    fc.property(markdownText, markdownText, fc.constantFrom(48, 100, 333), (text, more, maxLength) => {
      const options = { maxLength, measure, swells: /[*_@]/g }
      const before = split(text, options).slice(0, -1)
      const after = split(text + more, options)
      expect(after.slice(0, before.length)).toEqual(before)
      for (const { source } of after.slice(0, -1)) expect(measure(source)).toBeLessThanOrEqual(maxLength)
    }),
    { numRuns: 1500 },
  )
})
