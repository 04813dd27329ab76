import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
  return whole.map((text, at) => ({ name: `${path.replaceAll('/', '-')}-${at + 1}.ts`, text }))
})

test('every complete program in a README type-checks', () => {
  // Inside the repository, so that imports resolve as they do for its packages.
  const folder = mkdtempSync(join(root, 'node_modules/.readmes-'))
  try {
    for (const { name, text } of programs) writeFileSync(join(folder, name), text)
    const files = programs.map(({ name }) => name)
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
    rmSync(folder, { recursive: true })
  }
})
