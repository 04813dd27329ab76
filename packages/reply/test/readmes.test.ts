import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const readmes = ['README.md', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`)]

/** Blocks that connect to a server are complete programs; the others are fragments. */
const programs = readmes.flatMap((path) => {
  const blocks = [...readFileSync(join(root, path), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, text = '']) => text,
  )
  const whole = blocks.filter((text) => /^import \{[^}]*\bconnect\b/m.test(text))
  return whole.map((text, at) => ({ home: dirname(path), name: `program-${at + 1}.ts`, text }))
})

test('every complete program in a README type-checks', () => {
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
    expect([files.length > 8, stdout, status]).toEqual([true, '', 0])
  } finally {
    for (const folder of folders.values()) rmSync(folder, { recursive: true })
  }
})

function folderIn(home: string): string {
  const modules = join(root, home, 'node_modules')
  mkdirSync(modules, { recursive: true })
  return mkdtempSync(join(modules, '.readmes-'))
}
