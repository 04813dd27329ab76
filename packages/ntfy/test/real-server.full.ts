import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type NtfyServer, rules, type ShownNotice } from './rules.ts'

/** The program of a real ntfy server. */
const program = process.env.REPLY_NTFY

describe.skipIf(!program)('a real server (needs its program in REPLY_NTFY)', () => {
  let folder = ''
  let running: ChildProcess | undefined
  let server: NtfyServer

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reply-ntfy-'))
    const url = `http://127.0.0.1:${await freePort()}`
    const config = join(folder, 'server.yml')
    const settings = {
      ...{ 'listen-http': url.slice('http://'.length), 'base-url': url, 'auth-default-access': 'deny-all' },
      ...{ 'auth-file': join(folder, 'users.db'), 'cache-file': join(folder, 'cache.db') },
    }
    writeFileSync(
      config,
      Object.entries(settings)
        .map(([name, value]) => `${name}: "${value}"`)
        .join('\n'),
    )
    /** Returns all that the program says. It speaks on standard error. */
    const run = (command: string, ...rest: readonly string[]): string => {
      const env = { ...process.env, NTFY_PASSWORD: 'a-password' }
      const { stdout, stderr } = spawnSync(program ?? '', [command, '--config', config, ...rest], {
        encoding: 'utf8',
        env,
      })
      return `${stdout}${stderr}`
    }
    running = spawn(program ?? '', ['serve', '--config', config], { stdio: 'ignore' })
    while (!(await fetch(`${url}/v1/health`).catch(() => undefined))?.ok)
      await new Promise((resolve) => setTimeout(resolve, 50))
    run('user', 'add', 'ann')
    for (const topic of ['shop', 'account']) run('access', 'ann', topic, 'read-write')
    const [token = ''] = /tk_[a-z0-9]+/.exec(run('token', 'add', 'ann')) ?? []
    const shown = async (): Promise<readonly ShownNotice[]> => {
      const headers = { authorization: `Bearer ${token}` }
      const text = await (await fetch(`${url}/shop/json?poll=1&since=all`, { headers })).text()
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => {
          const { title, message, priority = 3, tags, click } = JSON.parse(line)
          return { title, message, priority, tags, click }
        })
    }
    server = { url, token, topic: 'shop', shown }
  })
  afterAll(() => {
    running?.kill()
    rmSync(folder, { recursive: true })
  })

  test.each(Object.entries(rules))('%s', async (_, rule) => await rule(server))
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
