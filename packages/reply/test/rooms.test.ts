import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { doorsOf, entriesIn, importsOf, packages, sourcesIn } from './source.ts'

const page = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8')
const sources = sourcesIn('src')
const paths: ReadonlySet<string> = new Set(sources.map(({ path }) => path))
const doors: ReadonlySet<string> = new Set(packages.flatMap((name) => doorsOf(name).map(({ path }) => path)))

interface Import {
  readonly from: string
  readonly to: string
  readonly isType: boolean
}

const imports: readonly Import[] = sources.flatMap((file) =>
  importsOf(file).flatMap(({ from, isType }) => {
    const to = from.startsWith('.') ? join(dirname(file.path), from) : undefined
    return to !== undefined && paths.has(to) ? [{ from: file.path, to, isType }] : []
  }),
)

describe.each(packages)('%s', (name) => {
  const room = `packages/${name}/src`

  test('has no folders that import each other, directly or through others', () => {
    expect(folderCirclesIn(room)).toEqual([])
  })

  test('has no folder whose files import a file beside the folder that imports them back', () => {
    expect(roomsIn(room).flatMap(circlesBesideIn)).toEqual([])
  })

  test('has no files that import each other in a circle at run time', () => {
    expect(fileCirclesIn(room)).toEqual([])
  })

  test('has its row and all of its folders in ARCHITECTURE.md', () => {
    expect(page).toMatch(new RegExp(`^\\|.*\`packages/${name}\``, 'm'))
    const named = foldersNamedOf(name)
    const there = roomsIn(room)
      .map((inner) => inner.slice(room.length + 1))
      .filter((inner) => inner !== '')
    expect(named.filter((folder) => !there.includes(folder))).toEqual([])
    // Naming an inner folder is enough to find the outer one.
    const missing = there.filter((folder) => !folder.includes('/') && !named.some((one) => isWithin(one, folder)))
    expect(missing).toEqual([])
  })
})

test('ARCHITECTURE.md names no package that is gone', () => {
  const named = [...page.matchAll(/`packages\/([\w-]+)/g)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(packages.length)
  expect(named.filter((name) => !packages.includes(name))).toEqual([])
})

describe('the order of folders in ARCHITECTURE.md', () => {
  test.each([
    ['packages/reply/src', 'reply', ''],
    ['packages/reply/src/drive', 'reply', 'drive/'],
    ['packages/sink/src', 'sink', ''],
    ['packages/bridge/src', 'bridge', ''],
  ])('%s: each imports only those above it', (room, name, prefix) => {
    const order = foldersNamedOf(name)
      .filter((folder) => folder.startsWith(prefix))
      .map((folder) => folder.slice(prefix.length))
      .filter((folder) => !folder.includes('/'))
    expect(order.toSorted()).toEqual(
      entriesIn(room)
        .filter((entry) => !entry.includes('.'))
        .toSorted(),
    )
    for (const [folder, needed] of foldersNeededIn(room)) {
      expect([...needed].filter((one) => order.indexOf(one) > order.indexOf(folder))).toEqual([])
    }
  })
})

test('a server is known to its source alone', () => {
  const inner = sources.filter(({ path }) =>
    /^packages\/reply\/src\/(?:client|drive|track|reduce|ask)(?:\/|\.)/.test(path),
  )
  const knowing = inner.filter((file) =>
    importsOf(file).some(({ from }) => /source\/(?!port\.ts|input\.ts)/.test(from)),
  )
  expect(inner.length).toBeGreaterThan(50)
  expect(knowing.map(({ path }) => path)).toEqual(['packages/reply/src/client/connect.ts'])
})

/**
 * The folders of a package that the page names, in its order: `drive/connection` for a row that begins with `drive/connection/` in
 * the package's own section, or for `packages/reply/src/drive/connection/` anywhere.
 */
function foldersNamedOf(name: string): readonly string[] {
  const section = new RegExp(`^### .*\`packages/${name}/src\`\\n([\\s\\S]*?)(?=^##|(?![\\s\\S]))`, 'm').exec(page)?.[1]
  const rows = (section ?? '').matchAll(/^(?:\| |- )`([\w-]+(?:\/[\w-]+)*)\/`/gm)
  const elsewhere = page.matchAll(new RegExp(`\`packages/${name}/src/([\\w/-]+)/\``, 'g'))
  return [...rows, ...elsewhere].map(([, folder = '']) => folder)
}

function folderCirclesIn(room: string): readonly string[] {
  return roomsIn(room).flatMap((inner) => circlesIn(foldersNeededIn(inner), inner))
}

function fileCirclesIn(room: string): readonly string[] {
  return circlesIn(needsOf(imports.filter(({ from, isType }) => !isType && isWithin(from, room))), room)
}

/** The folder itself and all folders in it, as paths from the repository's root. */
function roomsIn(folder: string): readonly string[] {
  const inside = sources.map(({ path }) => dirname(path)).filter((path) => isWithin(path, folder))
  const rooms = inside.flatMap((path) => {
    const steps = path.slice(folder.length).split('/')
    return steps.map((_, at) => folder + steps.slice(0, at + 1).join('/'))
  })
  return [...new Set([folder, ...rooms])]
}

/** Which folders of a room each folder in it needs, also for types. `reduce.ts` next to `reduce/` belongs to that folder. */
function foldersNeededIn(room: string): Needs {
  const folders = new Set(roomsIn(room).map((inner) => inner.slice(room.length + 1).split('/')[0] ?? ''))
  const folderOf = (path: string): string | undefined => {
    if (!isWithin(path, room) || doors.has(path)) return undefined
    const entry = path
      .slice(room.length + 1)
      .split('/')[0]
      ?.replace(/\.ts$/, '')
    return entry !== undefined && folders.has(entry) ? entry : undefined
  }
  return needsOf(
    imports.flatMap(({ from, to }) => {
      const user = folderOf(from)
      const used = folderOf(to)
      return user === undefined || used === undefined || user === used ? [] : [{ from: user, to: used }]
    }),
  )
}

/**
 * The circles between the folders of a room and the files beside them, also for types. Each file counts by itself, so `sink.ts`
 * may import a folder that imports `texts.ts`. Circles of files alone are not among them.
 */
function circlesBesideIn(room: string): readonly string[] {
  const entryOf = (path: string): string | undefined =>
    isWithin(path, room) && !doors.has(path) ? path.slice(room.length + 1).split('/')[0] : undefined
  const edges = imports.flatMap(({ from, to }) => {
    const user = entryOf(from)
    const used = entryOf(to)
    return user === undefined || used === undefined || user === used ? [] : [{ from: user, to: used }]
  })
  return circlesIn(needsOf(edges), room).filter((circle) => !/\.ts imports /.test(circle))
}

type Needs = ReadonlyMap<string, ReadonlySet<string>>

function needsOf(edges: readonly Pick<Import, 'from' | 'to'>[]): Needs {
  const needs = new Map<string, Set<string>>()
  for (const { from, to } of edges) needs.set(from, (needs.get(from) ?? new Set()).add(to))
  return needs
}

/** What needs itself through others, each with what it needs of the same circle. */
function circlesIn(needs: Needs, room: string): readonly string[] {
  return [...needs].flatMap(([one, needed]) => {
    const back = [...needed].filter((other) => reachable(needs, other).has(one))
    return back.length === 0 ? [] : [`${room}: ${one} imports ${back.join(', ')}, which import it back`]
  })
}

function reachable(needs: Needs, from: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [from]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const fresh = [...(needs.get(next) ?? [])].filter((one) => !reached.has(one))
    for (const one of fresh) reached.add(one)
    open.push(...fresh)
  }
  return reached
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}
