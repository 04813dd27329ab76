import { dirname, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { entriesIn, importsOf, sourcesIn } from './source.ts'

/** The folders that hold most of the code, with the most entries that each may have. */
const rooms = [
  ['packages/reply/src/drive', 16],
  ['packages/console/src', 16],
  ['packages/sink/src', 24],
] as const

const sources = sourcesIn('src')

describe.each(rooms)('%s', (room, most) => {
  test(`has at most ${most} entries`, () => {
    expect(entriesIn(room).length).toBeLessThanOrEqual(most)
  })

  test('has no two folders that import each other, directly or through others', () => {
    const needs = new Map<string, Set<string>>()
    for (const file of sources.filter(({ path }) => path.startsWith(`${room}/`))) {
      const folder = folderIn(room, file.path)
      const targets = importsOf(file).flatMap(({ from }) =>
        from.startsWith('.') ? [folderIn(room, normalize(`${dirname(file.path)}/${from}`))] : [],
      )
      for (const target of targets) {
        if (folder === undefined || target === undefined || folder === target) continue
        needs.set(folder, (needs.get(folder) ?? new Set()).add(target))
      }
    }
    expect(needs.size).toBeGreaterThan(1)
    expect([...needs.keys()].filter((folder) => reachable(needs, folder).has(folder))).toEqual([])
  })
})

/** The folder of a room that contains the file. Undefined for files directly in the room or outside. */
function folderIn(room: string, path: string): string | undefined {
  const inside = relative(room, path)
  return inside.startsWith('..') || !inside.includes('/') ? undefined : inside.split('/')[0]
}

function reachable(needs: ReadonlyMap<string, ReadonlySet<string>>, from: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [...(needs.get(from) ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    open.push(...(needs.get(next) ?? []))
  }
  return reached
}
