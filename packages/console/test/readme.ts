import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type OpencodeServer, promptFor } from '@reply/testing'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const [, program = ''] = /```ts\n([\s\S]*?)```/.exec(readFileSync(`${root}README.md`, 'utf8')) ?? []

/** The README's first program, on a real server that requires a password. */
export function testReadme(server: () => OpencodeServer, password: string): void {
  /** The first program of the root README, unchanged except for its prompt, with the built packages. */
  function run(prompt: string, env: Record<string, string> = {}): Promise<{ code: unknown; out: string; err: string }> {
    const given = { ...process.env, OPENCODE_URL: server().url, OPENCODE_SERVER_PASSWORD: password, ...env }
    const text = program.replace('What does this project do?', prompt)
    return new Promise((resolve) => {
      execFile(process.execPath, ['--input-type=module', '-e', text], { cwd: root, env: given }, (error, out, err) =>
        resolve({ code: error?.code ?? 0, out, err }),
      )
    })
  }

  test("the README's first program prints the answer and ends with 0", async () => {
    const { code, out } = await run(promptFor('plain'))
    expect([code, out]).toEqual([0, expect.stringContaining('Hello!')])
  })

  test("the README's first program does not wait for an answer, and ends with 1", async () => {
    const { code, err } = await run(promptFor('question'))
    expect([code, err]).toEqual([1, expect.stringContaining('stopped')])
  })

  test("the README's first program says why it failed", async () => {
    const { code, err } = await run('Hello', { OPENCODE_SERVER_PASSWORD: 'wrong' })
    expect([code, err]).toEqual([1, expect.stringMatching(/failed .*OPENCODE_SERVER_PASSWORD/)])
    expect(err).not.toContain('wrong')
  })
}
