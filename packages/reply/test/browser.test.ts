import { dirname, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { doorsOf, importsOf, type SourceFile, sourcesIn } from './source.ts'

const sources = new Map(sourcesIn('src').map((file) => [file.path, file]))

/** The entry points that a browser may import. */
const doors = [
  ...doorsOf('reply').filter(({ id }) => id !== 'reply/node'),
  ...doorsOf('sink').filter(({ id }) => id === 'sink'),
]

describe.each(doors.map((door) => [door.id, door] as const))('what %s loads', (_, door) => {
  const loaded = loadedBy(door.path)

  test('imports nothing of Node', () => {
    expect(loaded.length).toBeGreaterThan(3)
    const needing = loaded.filter((file) => importsOf(file).some(({ from, isType }) => !isType && /^node:/.test(from)))
    expect(needing.map(({ path }) => path)).toEqual([])
  })

  test('uses no Buffer', () => {
    expect(loaded.filter(({ code }) => /\bBuffer\b/.test(code)).map(({ path }) => path)).toEqual([])
  })

  test('loads only the parts of zod that it uses, and of the core only the small build', () => {
    const named = /import (type )?\{[^}]*\} from 'zod(\/mini)?'/
    const isWhole = ({ path, text }: SourceFile): boolean =>
      path.startsWith('packages/reply/') && /from 'zod'/.test(text)
    expect(loaded.filter((file) => named.test(file.text) || isWhole(file)).map(({ path }) => path)).toEqual([])
  })
})

/** A file and everything of its package that it imports as a value. */
function loadedBy(path: string): readonly SourceFile[] {
  const found = new Map<string, SourceFile>()
  const open = [path]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const file = sources.get(next)
    if (!file || found.has(next)) continue
    found.set(next, file)
    const folder = dirname(next)
    for (const { from, isType } of importsOf(file))
      if (!isType && from.startsWith('.')) open.push(normalize(`${folder}/${from}`))
  }
  return [...found.values()]
}
