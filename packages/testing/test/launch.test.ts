import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { atLeast, launchOpencode, scenarioToken, startModel, text } from '../src/index.ts'

const words = 'Said by a script.'
const startScripted = () => startModel({ scripts: { one: { steps: [[text(words)]] } } })

/** Asks for one reply and waits for it, over REST alone. */
const ask = async (server: { url: string; directory: string }): Promise<string> => {
  const query = `directory=${encodeURIComponent(server.directory)}`
  const post = (path: string, body: unknown) =>
    fetch(`${server.url}${path}?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const { id } = (await (await post('/session', {})).json()) as { id: string }
  const answer = await post(`/session/${id}/message`, { parts: [{ type: 'text', text: scenarioToken('one') }] })
  return JSON.stringify(await answer.json())
}

const isUp = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/global/health`, { signal: AbortSignal.timeout(2000) })).ok
  } catch {
    return false
  }
}

test('a launched server answers with the script, survives a restart on its port, and leaves nothing behind', async () => {
  const model = await startScripted()
  const opencode = await launchOpencode({ model, files: { 'a.txt': 'a' } })
  expect(existsSync(`${opencode.directory}/a.txt`)).toBe(true)
  expect(await ask(opencode)).toContain(words)
  // What a server would install takes longer than a test.
  expect(existsSync(`${opencode.home}/.npm`)).toBe(false)
  await opencode.kill()
  expect(await isUp(opencode.url)).toBe(false)
  await opencode.restart()
  expect(await isUp(opencode.url)).toBe(true)
  await opencode.stop()
  await opencode.stop()
  expect(await isUp(opencode.url)).toBe(false)
  expect(existsSync(opencode.root)).toBe(false)
  await expect(opencode.restart()).rejects.toThrow('launch a new one')
  await model.close()
})

test('two servers at once do not know of each other', async () => {
  const model = await startScripted()
  const both = await Promise.all([launchOpencode({ model }), launchOpencode({ model })])
  const [first, second] = both
  expect(first.port).not.toBe(second.port)
  expect(first.directory).not.toBe(second.directory)
  expect(await Promise.all(both.map(ask))).toEqual([expect.stringContaining(words), expect.stringContaining(words)])
  await Promise.all(both.map((each) => each.stop()))
  await model.close()
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'a process that ends by %s takes its server and its folders along',
  async (signal) => {
    const script = fileURLToPath(new URL('./fixtures/interrupted.ts', import.meta.url))
    const tsx = import.meta.resolve('tsx')
    const child = spawn(process.execPath, ['--import', tsx, '--conditions', '@reply/source', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [said] = (await once(child.stdout, 'data')) as [Buffer]
    const { url, root } = JSON.parse(said.toString('utf8')) as { url: string; root: string }
    expect([await isUp(url), existsSync(root)]).toEqual([true, true])
    child.kill(signal)
    expect((await once(child, 'close'))[1]).toBe(signal)
    await expect.poll(async () => [await isUp(url), existsSync(root)], { timeout: 20_000 }).toEqual([false, false])
  },
  60_000,
)

describe('what cannot be launched says what to do', () => {
  test('a version that does not exist', async () => {
    await expect(launchOpencode({ model: 'http://127.0.0.1:1/v1', version: '0.0.0-none' })).rejects.toMatchObject({
      type: 'install',
      message: expect.stringContaining('check the version'),
    })
  })

  test('a config that the server refuses', async () => {
    const broken = { extra: { provider: 'none' } }
    await expect(launchOpencode({ model: 'http://127.0.0.1:1/v1', config: broken })).rejects.toMatchObject({
      type: 'launch',
      message: expect.stringContaining('fix the config'),
    })
  })
})

test('versions are compared by their numbers', () => {
  expect(atLeast('1.18.33', '1.18.0')).toBe(true)
  expect(atLeast('1.2.27', '1.14.41')).toBe(false)
  expect(atLeast('1.14.41', '1.14.41')).toBe(true)
  expect(atLeast('2.0.0', '1.18')).toBe(true)
})
