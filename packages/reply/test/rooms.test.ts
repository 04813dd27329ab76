import { readFileSync } from 'node:fs'
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
    const needs = needsIn(room)
    expect(needs.size).toBeGreaterThan(1)
    expect([...needs.keys()].filter((folder) => reachable(needs, folder).has(folder))).toEqual([])
  })
})

describe('the order of folders in ARCHITECTURE.md', () => {
  const page = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8')

  test.each([
    ['packages/reply/src/drive', /^\| `drive\/(\w+)\/` \|/gm],
    ['packages/sink/src', /^\| `(\w+)\/` \|/gm],
  ])('%s: each imports only those above it', (room, row) => {
    const order = [...page.matchAll(row)].map(([, folder = '']) => folder).filter((folder) => isIn(room, folder))
    expect(order.toSorted()).toEqual(
      entriesIn(room)
        .filter((entry) => !entry.includes('.'))
        .toSorted(),
    )
    const needs = needsIn(room)
    for (const [at, folder] of order.entries()) {
      expect([...(needs.get(folder) ?? [])].filter((needed) => order.indexOf(needed) > at)).toEqual([])
    }
  })
})

test('a server is known to its source alone', () => {
  const inner = sources.filter(({ path }) => /^packages\/reply\/src\/(?:drive|track|reduce|ask)(?:\/|\.)/.test(path))
  const knowing = inner.filter((file) =>
    importsOf(file).some(({ from }) => /source\/(?!port\.ts|input\.ts)/.test(from)),
  )
  expect(inner.length).toBeGreaterThan(50)
  expect(knowing.map(({ path }) => path)).toEqual(['packages/reply/src/drive/connect.ts'])
})

/** Which other folders of a room each folder imports. */
function needsIn(room: string): ReadonlyMap<string, ReadonlySet<string>> {
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
  return needs
}

function isIn(room: string, folder: string): boolean {
  return entriesIn(room).includes(folder)
}

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
