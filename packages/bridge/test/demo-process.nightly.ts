import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const demos = [
  ['demo:bridge', '../scripts/demo/main.ts'],
  ['demo:web', '../../ui/scripts/demo/main.ts'],
] as const

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-demo-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a demo. `said()` is what it has printed. */
function start(path: string, args: readonly string[]): { readonly child: ChildProcess; said(): string } {
  const script = fileURLToPath(new URL(path, import.meta.url))
  const env = { ...process.env, TMPDIR: folder }
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)))
  return { child, said: () => said }
}

/** What the demo left, besides what runs its TypeScript. */
const leftovers = (): readonly string[] => readdirSync(folder).filter((name) => !name.startsWith('tsx'))

describe.each(demos)('%s', (_, path) => {
  const run = (...args: readonly string[]) => start(path, args)

  test('Control-C ends a demo that is still starting, and nothing of it stays', async () => {
    const { child, said } = run()
    const ended = once(child, 'exit')
    await expect.poll(leftovers).not.toEqual([])
    child.kill('SIGINT')
    expect(await ended).toEqual([130, null])
    expect(said()).not.toContain(' running')
    await expect.poll(leftovers).toEqual([])
  })

  test('a demo that runs prints its address; Control-C ends it, and nothing of it stays', async () => {
    const { child, said } = run()
    const ended = once(child, 'exit')
    await expect.poll(said).toMatch(/http:\/\/127\.0\.0\.1:\d+\//)
    const [url = ''] = /http:\S+/.exec(said()) ?? []
    expect((await fetch(url)).status).toBe(200)
    child.kill('SIGINT')
    expect(await ended).toEqual([130, null])
    await expect(fetch(url)).rejects.toThrow()
    expect(leftovers()).toEqual([])
  })

  test('what a killed demo leaves is removed', async () => {
    const { child } = run()
    await expect.poll(() => leftovers().flatMap((name) => readdirSync(join(folder, name)))).not.toEqual([])
    child.kill('SIGKILL')
    await once(child, 'exit')
    await expect.poll(leftovers).toEqual([])
  })

  test('a port that is none is refused with how to write it', async () => {
    const { child, said } = run('--port', 'x')
    expect(await once(child, 'exit')).toEqual([2, null])
    expect(said()).toContain('--port <number>')
  })

  test('a port that is taken is named, with the cure, and nothing stays', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const { child, said } = run('--port', String(port))
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(said()).toContain(`The demo could not start: Port ${port} is taken. Give another one, or none.`)
    expect(leftovers()).toEqual([])
    server.close()
  })

  test('--help says how to call it', async () => {
    const { child, said } = run('--help')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(said()).toContain('--port <number>')
  })
})
