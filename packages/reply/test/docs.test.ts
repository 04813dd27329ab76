import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { oddWords } from './source.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const pages = [
  ...['.', 'docs', 'examples', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)].flatMap(
    pagesIn,
  ),
]

/** Names on the pages that no file of the repository has. */
const filesElsewhere: ReadonlySet<string> = new Set([
  // Yours, in examples of programs and commands.
  ...['stage.ts', 'a.ts', 'notes.md', 'rows.json', 'reply.json'],
  // OpenCode's and Claude Code's.
  ...['opencode.json', '.mcp.json', 'service.json'],
  // CONTRIBUTING.md says why there is none.
  'vitest.workspace.ts',
])

/** All files of the repository, as paths from its root. */
const files = filesIn('.')

/** Pages that guide through the repository: the paths they name must exist. */
const guides = ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...pagesIn('docs')]

describe.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')

  test('links to what is there', () => {
    const links = text.matchAll(/(?:\]\(|<img src=")(?!https?:|mailto:)([^)"\s]+)[)"]/g)
    const targets = [...links].map(([, target = '']) => target)
    const broken = targets.filter((target) => !isThere(page, target))
    expect(broken).toEqual([])
  })

  test('speaks plainly', () => {
    const lines = text.replaceAll(/\n(?=\S)/g, ' ').split('\n')
    expect(lines.filter((line) => oddWords.test(line))).toEqual([])
  })
})

test.each(readdirSync(join(root, 'packages')))('the README of %s is short: the rest is in docs', (name) => {
  const lines = readFileSync(join(root, 'packages', name, 'README.md'), 'utf8').split('\n').length
  expect(lines).toBeLessThanOrEqual(130)
})

test('the index of docs links to every page in it', () => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8')
  const names = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md')
  expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([])
})

test('every picture is small, and shown on a page with a text that says what it shows', () => {
  const text = pages.map((page) => readFileSync(join(root, page), 'utf8')).join('\n')
  const described = [...text.matchAll(/<img src="[^"]*\/pictures\/([^"]+)" width="[^"]+" alt="[^"]{50,}">/g)]
  const files = readdirSync(join(root, 'docs/pictures'))
  expect([...new Set(described.map(([, name]) => name))].toSorted()).toEqual(files.toSorted())
  for (const name of files) expect(statSync(join(root, 'docs/pictures', name)).size).toBeLessThan(150_000)
})

test.each(pages)('%s names only files that exist', (page) => {
  const named = [...readFileSync(join(root, page), 'utf8').matchAll(/[\w@*~./-]*\w\.(?:ts|mjs|json|md)\b(?![\w.])/g)]
  const missing = named
    .map(([name]) => name)
    .filter((name) => !name.includes('*') && !filesElsewhere.has(basename(name)))
    .filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name.replace(/^(?:\.\.?\/)+/, '')}`)))
  expect(missing).toEqual([])
})

test.each(guides)('%s names only paths that exist', (page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const paths = [...text.matchAll(/`((?:packages|examples|docs|\.ci|scripts)\/[^`*<> ]*)`/g)].map(
    ([, path = '']) => path,
  )
  // The version in the checklist is an example of one that does not exist yet.
  expect(paths.filter((path) => !path.endsWith('1.19.0') && !existsSync(join(root, path)))).toEqual([])
})

/** Without what is installed or built. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (/^(?:node_modules|dist|\.git|\.cache|coverage)$/.test(entry.name)) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : [path]
  })
}

function pagesIn(folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return []
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'))
  return names.map((name) => join(folder, name))
}

/** Whether a link's file exists and, if the link names a heading, contains it. */
function isThere(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? join(root, page) : join(root, dirname(page), path)
  if (!existsSync(file)) return false
  return anchor === undefined || anchorsOf(readFileSync(file, 'utf8')).has(anchor)
}

/** As GitHub makes them. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = [...markdown.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}
