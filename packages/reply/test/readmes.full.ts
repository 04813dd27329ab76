import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const packages = readdirSync(join(root, 'packages'))
const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))

/** Every page that may hold programs, and the folder in which their imports resolve. */
const pages = [
  { path: 'README.md', home: '.' },
  ...packages.map((name) => ({ path: `packages/${name}/README.md`, home: `packages/${name}` })),
  ...docs.map((name) => ({ path: `docs/${name}`, home: homeOf(name.replace('.md', '')) })),
]

/** Blocks that begin with an import are complete programs; the others are fragments. */
const programs = pages.flatMap(({ path, home }) => {
  const blocks = [...readFileSync(join(root, path), 'utf8').matchAll(/```ts\n(import [\s\S]*?)```/g)]
  const name = path.replace('.md', '').replaceAll('/', '-')
  return blocks.map(([, text = ''], at) => ({ home, name: `${name}-${at + 1}.ts`, text }))
})

test('every complete program in a README and in docs type-checks', () => {
  // Inside each package, so that imports resolve as they do for it.
  const folders = new Map([...new Set(programs.map(({ home }) => home))].map((home) => [home, folderIn(home)]))
  try {
    const files = programs.map(({ home, name }) => join(folders.get(home) ?? expect.fail(), name))
    for (const [at, { text }] of programs.entries()) writeFileSync(files[at] ?? expect.fail(), text)
    const folder = folders.get('.') ?? expect.fail()
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.test.json'), files, include: [] }),
    )
    const { stdout, status } = spawnSync(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder],
      {
        encoding: 'utf8',
      },
    )
    expect([files.length > 20, stdout, status]).toEqual([true, '', 0])
  } finally {
    for (const folder of folders.values()) rmSync(folder, { recursive: true })
  }
})

/** `docs/slack.md` belongs to the package of that name. */
function homeOf(subject: string): string {
  return packages.includes(subject) ? `packages/${subject}` : '.'
}

function folderIn(home: string): string {
  const modules = join(root, home, 'node_modules')
  mkdirSync(modules, { recursive: true })
  return mkdtempSync(join(modules, '.readmes-'))
}
