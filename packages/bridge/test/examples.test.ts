import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { loadChannel } from '../src/chats/load-channel.ts'

const folder = new URL('../../../examples/', import.meta.url)

test.each(['telegram', 'slack', 'discord', 'whatsapp', 'baileys'])(
  'the example for %s names a channel',
  async (name) => {
    const program = readFileSync(new URL(`${name}.ts`, folder), 'utf8')
    const [, type = ''] = /type: '(\w+)'/.exec(program) ?? []
    const channel = await loadChannel(type)
    expect(channel.type).toBe(type)
  },
)

test('the example for whatsapp ends at Control-C', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'reply-example-'))
  const port = await freePort()
  const example = fileURLToPath(new URL('whatsapp.ts', folder))
  const args = ['--conditions=@reply/source', '--import', import.meta.resolve('tsx'), example]
  const env = {
    ...process.env,
    OPENCODE_URL: 'http://127.0.0.1:1',
    PORT: String(port),
    WHATSAPP_TOKEN: 'token',
    WHATSAPP_PHONE_NUMBER_ID: '1',
    WHATSAPP_APP_SECRET: 'an app secret',
    WHATSAPP_VERIFY_TOKEN: 'a verify token',
    WHATSAPP_USERS: '491701234567',
  }
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'ignore' })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(cwd, { recursive: true, force: true })
  })
  const closed = once(child, 'close')
  await expect.poll(() => fetch(`http://127.0.0.1:${port}`).then(Boolean, () => false)).toBe(true)
  child.kill('SIGINT')
  expect(await closed).toEqual([0, null])
})

test('a type without a package says what to install', async () => {
  await expect(loadChannel('pigeon')).rejects.toThrow('@reply/pigeon could not be loaded')
})

/** Resolves with a port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
