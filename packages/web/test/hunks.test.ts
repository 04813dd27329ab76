import { describe, expect, test } from 'vitest'
import { hunksOf, pairsOf, wordsOf } from '../page/view/diff/hunks.ts'

const patch = '@@ -4,3 +4,4 @@\n same\n-let a = 1\n+const a = 1\n+const b = 2\n end\n\\ No newline at end of file\n'

describe('the lines of a diff', () => {
  test('have their numbers before and after', () => {
    expect(hunksOf(patch)).toEqual([
      {
        head: '@@ -4,3 +4,4 @@',
        lines: [
          { type: 'same', text: 'same', old: 4, next: 4 },
          { type: 'removed', text: 'let a = 1', old: 5 },
          { type: 'added', text: 'const a = 1', next: 5 },
          { type: 'added', text: 'const b = 2', next: 6 },
          { type: 'same', text: 'end', old: 6, next: 7 },
          { type: 'note', text: 'No newline at end of file' },
        ],
      },
    ])
  })

  test('are beside what replaced them', () => {
    const pairs = pairsOf(hunksOf(patch)[0]?.lines ?? [])
    expect(pairs.map(({ left, right }) => [left?.text, right?.text])).toEqual([
      ['same', 'same'],
      ['let a = 1', 'const a = 1'],
      [undefined, 'const b = 2'],
      ['end', 'end'],
      ['No newline at end of file', 'No newline at end of file'],
    ])
  })

  test('show the words that changed in them', () => {
    const [, pair] = pairsOf(hunksOf(patch)[0]?.lines ?? [])
    expect(pair && wordsOf(pair)).toEqual({
      left: [
        { text: 'let', isChanged: true },
        { text: ' a = 1', isChanged: false },
      ],
      right: [
        { text: 'const', isChanged: true },
        { text: ' a = 1', isChanged: false },
      ],
    })
  })

  test('are not compared by words if they have little in common, or are long', () => {
    const pairOf = (old: string, next: string) =>
      pairsOf(hunksOf(`@@ -1,1 +1,1 @@\n-${old}\n+${next}\n`)[0]?.lines ?? [])[0]
    for (const [old, next] of [
      ['one two three', 'alpha beta gamma'],
      ['a '.repeat(400), 'b '.repeat(400)],
    ] as const) {
      const pair = pairOf(old, next)
      expect(pair && wordsOf(pair)).toBeUndefined()
    }
  })
})
