import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countLines, hunksIn, patchBetween } from '../../src/show/patch.ts'

const endMark = '\n\\ No newline at end of file'

/** The lines of a text. The last one has a mark if no line break ends it. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  const last = lines.pop()
  return last ? [...lines, `${last}${endMark}`] : lines
}

/** Applies hunks to a text. Throws if a line doesn't fit. */
function applied(text: string, hunks: string): string {
  const old = linesOf(text)
  const result: string[] = []
  let at = 0
  for (const line of hunks.replaceAll(endMark, '\u0000').split('\n').slice(0, -1)) {
    const [, first, count] = /^@@ -(\d+),(\d+) /.exec(line) ?? []
    if (first !== undefined) {
      const from = count === '0' ? Number(first) : Number(first) - 1
      result.push(...old.slice(at, from))
      at = from
      continue
    }
    const content = line.slice(1).replace('\u0000', endMark)
    if (!line.startsWith('+')) expect(old[at++]).toBe(content)
    if (!line.startsWith('-')) result.push(content)
  }
  const lines = [...result, ...old.slice(at)]
  return lines.map((line) => (line.endsWith(endMark) ? line.slice(0, -endMark.length) : `${line}\n`)).join('')
}

const texts = fc.array(fc.constantFrom('a', 'b', 'c', '', 'd\r', ' e', '-f', '@@ -1 +1 @@'), { maxLength: 30 })
const withEnd = fc
  .tuple(texts, fc.boolean())
  .map(([lines, ends]) => lines.map((line) => `${line}\n`).join('') + (ends ? '' : 'end'))

test('the patch between two texts makes one into the other', () => {
  fc.assert(
    fc.property(withEnd, withEnd, (before, after) => {
      const hunks = patchBetween(before, after)
      expect(before === after ? before : applied(before, hunks)).toBe(after)
      expect(hunks === '').toBe(before === after)
    }),
  )
})

test('reading hunks again changes nothing', () => {
  fc.assert(
    fc.property(withEnd, withEnd, (before, after) => {
      const hunks = patchBetween(before, after)
      expect(hunksIn(hunks)).toBe(hunks)
    }),
  )
})

test('Git applies what patchBetween returns, without a final line break and with CRLF too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reply-patch-'))
  const file = join(folder, 'a.txt')
  for (const [before, after] of [
    ['a\r\nb\r\n', 'a\r\nB\r\n'],
    ['a\nb', 'a\nb\n'],
    ['one\ntwo\nthree\n', 'zero\none\nthree'],
    [`${'x\n'.repeat(40)}end\n`, `top\n${'x\n'.repeat(20)}new\n${'x\n'.repeat(20)}`],
  ] as const) {
    writeFileSync(file, before)
    const patch = `diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n${patchBetween(before, after)}`
    execFileSync('git', ['apply', '-'], { cwd: folder, input: patch })
    expect(readFileSync(file, 'utf8')).toBe(after)
  }
})

test('a patch has few lines around a change, and as few changed lines as possible', () => {
  const lines = Array.from({ length: 50 }, (_, index) => `${index}\n`)
  const hunks = patchBetween(lines.join(''), lines.toSpliced(25, 1, 'new\n', 'more\n').join(''))
  expect(hunks).toBe('@@ -23,7 +23,8 @@\n 22\n 23\n 24\n-25\n+new\n+more\n 26\n 27\n 28\n')
  expect(countLines(hunks)).toEqual({ additions: 2, deletions: 1 })
  const apart = patchBetween(lines.join(''), lines.toSpliced(40, 1).toSpliced(5, 1, 'five\n').join(''))
  expect(countLines(apart)).toEqual({ additions: 1, deletions: 2 })
})

test("a server's patch with the whole file is cut to the changes", () => {
  const same = Array.from({ length: 30 }, (_, index) => ` ${index}\n`).join('')
  const patch = `Index: a.txt\n===================================================================\n--- a.txt\t\n+++ a.txt\t\n@@ -1,31 +1,31 @@\n${same}-old\n+new\n`
  expect(hunksIn(patch)).toBe('@@ -28,4 +28,4 @@\n 27\n 28\n 29\n-old\n+new\n')
})

test.each([
  ['no hunk', 'Index: a.txt\n--- a.txt\n+++ a.txt\n'],
  ['a hunk that is cut off', '@@ -1,3 +1,3 @@\n a\n-b'],
  ['other text', 'hello'],
  ['nothing', ''],
])('%s gives no hunks', (_, patch) => {
  expect(hunksIn(patch)).toBe('')
})

test('two long texts without a common line are compared at once', () => {
  const before = Array.from({ length: 50_000 }, (_, index) => `a${index}\n`).join('')
  const after = Array.from({ length: 50_000 }, (_, index) => `b${index}\n`).join('')
  const started = performance.now()
  expect(countLines(patchBetween(before, after))).toEqual({ additions: 50_000, deletions: 50_000 })
  expect(performance.now() - started).toBeLessThan(20_000)
})
