import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { callTool, launchOpencode, type OpencodeServer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { prepareOpencode } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root, runBundled } from './run-bundled.ts'

/**
 * What the first programs of READMEs print, and how they end, run as they stand: against a real server or agent, and where nothing
 * answers. `at`: the nth complete program of the page. A program that names OpenCode's default address gets the one of
 * `OPENCODE_URL`: another test's OpenCode may listen at the default.
 */
async function play(page: string, at: number, env: NodeJS.ProcessEnv, cwd = root) {
  const home = page.startsWith('packages/') ? dirname(page) : '.'
  const programs = [...readFileSync(join(root, page), 'utf8').matchAll(/```ts\n(import [\s\S]*?)```/g)]
  const program = programs[at]?.[1] ?? expect.fail(`${page} has no program ${at}.`)
  const modules = join(root, home, 'node_modules')
  mkdirSync(modules, { recursive: true })
  const folder = mkdtempSync(join(modules, '.readme-'))
  try {
    const file = join(folder, 'program.mts')
    writeFileSync(file, program.replaceAll('http://127.0.0.1:4096', env.OPENCODE_URL ?? 'http://127.0.0.1:4096'))
    return await runBundled(file, { home, env, cwd })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

let model: ScriptedModel
beforeAll(async () => {
  const touch = [callTool('bash', { command: 'touch it', description: 'Touch' })]
  model = await startModel({
    scripts: { first: { steps: [touch, [sayText('I was not allowed to.')]] } },
    fallback: 'first',
  })
})
afterAll(async () => await model.close())

describe('with a server that asks', () => {
  let server: OpencodeServer
  beforeAll(async () => {
    server = await launchOpencode({ model, config: { permission: { bash: 'ask' } } })
  })
  afterAll(async () => await server.stop())

  test.concurrent.for([
    ['README.md', 0],
    ['packages/reply/README.md', 2],
    ['docs/thoughts.md', 0],
  ] as const)('the program of %s (%i) ends, and answers its asks', async ([page, at], { expect }) => {
    const { code, said } = await play(page, at, { OPENCODE_URL: server.url })
    expect([code, said]).toEqual([expect.anything(), expect.stringMatching(/stopped|completed|not allowed/)])
    expect(said.split('I was not allowed to.').length).toBeLessThanOrEqual(2)
  })
})

// They try for seconds, so they wait side by side.
describe('without one', () => {
  test.concurrent.for([
    ['README.md', 0],
    ['packages/reply/README.md', 0],
    ['packages/reply/README.md', 2],
    ['docs/thoughts.md', 0],
    ['docs/thoughts.md', 1],
    ['packages/tools/README.md', 0],
  ] as const)('the program of %s (%i) says that no server answers', async ([page, at], { expect }) => {
    const { said } = await play(page, at, { OPENCODE_URL: 'http://127.0.0.1:9', HOME: '/tmp' })
    expect(said).toMatch(/No (OpenCode )?server/)
  })

  test.each([
    ['packages/agents/README.md', 0],
    ['packages/agents/README.md', 1],
  ])('the program of %s (%i) says that there is no such agent', async (page, at) => {
    const { said } = await play(page, at, { PATH: dirname(process.execPath) })
    expect(said).toContain('was not found')
  })
})

describe('with an agent that asks', () => {
  test.each([
    ['packages/agents/README.md', 0],
    ['packages/agents/README.md', 1],
  ])('the program of %s (%i) ends, and answers its asks', async (page, at) => {
    const opencode = await prepareOpencode({ model, config: { permission: { bash: 'ask' } } })
    const env = { ...opencode.env, PATH: `${dirname(opencode.command)}${delimiter}${process.env.PATH}` }
    const { code, said } = await play(page, at, env, opencode.directory)
    await opencode.remove()
    expect([code, said]).toEqual([0, expect.stringMatching(/stopped|completed|not allowed/)])
  })
})
