import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CutText, cutText } from '../page/view/chunks.ts'

const textsOf = (cut: CutText): readonly string[] => cut.chunks.map(({ text }) => text)
const filler = 'Some words that fill the line of a paragraph. '.repeat(40)

describe('a text is cut', () => {
  test('not at all if it is short', () => {
    expect(textsOf(cutText('# One\n\nTwo'))).toEqual(['# One\n\nTwo'])
  })

  test('at a blank line, once there is enough before it', () => {
    expect(textsOf(cutText(`${filler}\n\nTwo\n\nThree`))).toEqual([`${filler}\n\n`, 'Two\n\nThree'])
  })

  test('not before a line that may continue a list, a quote or indented code', () => {
    for (const next of ['- more', '* more', '1. more', '> more', '    more', '+ more'])
      expect(textsOf(cutText(`${filler}\n\n${next}`))).toEqual([`${filler}\n\n${next}`])
  })

  test('not within a code block', () => {
    const text = `${filler}\n\`\`\`ts\n\nconst a = 1\n\n\`\`\`\n\nTwo`
    expect(textsOf(cutText(text))).toEqual([text.slice(0, -3), 'Two'])
  })

  test('within a code block that is longer than a chunk, whose rest is code', () => {
    const code = 'const a = 1\n'.repeat(2000)
    const { chunks } = cutText(`\`\`\`ts\n${code}\`\`\`\nTwo`)
    expect(chunks.map(({ type }) => type)).toEqual(['markdown', 'code', 'code', 'markdown'])
    expect(chunks.map(({ text }) => text).join('')).toBe(`\`\`\`ts\n${code}Two`)
    expect(chunks[1]?.fence?.language).toBe('ts')
  })

  test('between two words of a line of a megabyte', () => {
    const { chunks } = cutText('word '.repeat(200_000))
    expect(chunks.length).toBeGreaterThan(100)
    expect(chunks.every(({ text }) => text.length <= 8005 && text.endsWith(' '))).toBe(true)
  })
})

describe('a text that grew', () => {
  test('keeps the chunks that did not change, as the same objects', () => {
    const before = cutText(`${filler}\n\n${filler}\n\nThree`)
    const after = cutText(`${before.text} and more`, before)
    expect(before.chunks.length).toBe(3)
    expect(after.chunks.slice(0, 2).every((chunk, at) => chunk === before.chunks[at])).toBe(true)
    expect(after.chunks[2]?.text).toBe('Three and more')
  })

  test('is cut as if it had come at once, wherever it was before', () => {
    const piece = fc.constantFrom(
      ...['\n', '\n\n', '```', '~~~', '```ts\n', '- item\n', '> quote\n', '# Head\n', '[a]: https://a.example\n', '  '],
      ...['word '.repeat(90), 'long'.repeat(700), 'x\n'.repeat(900)],
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 6 }), (pieces, cuts) => {
        const text = pieces.join('')
        const stops = cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b)
        let grown: CutText | undefined
        for (const stop of [...stops, text.length]) grown = cutText(text.slice(0, stop), grown)
        expect(grown?.chunks).toEqual(cutText(text).chunks)
        expect(grown?.definitions).toBe(cutText(text).definitions)
      }),
      { numRuns: 400 },
    )
  })

  test('gives each chunk the definitions of links', () => {
    expect(cutText(`[a]\n\n[a]: https://a.example\n[b]: https://b.example`).definitions).toBe(
      '[a]: https://a.example\n[b]: https://b.example\n',
    )
  })
})
