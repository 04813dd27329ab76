import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { launchOpencode, sayText, scenarioToken, startModel } from '../src/index.ts'
import { endProcess, isUp } from './ended-process.ts'

const words = 'Said by a script.'
const startScripted = () => startModel({ scripts: { one: { steps: [[sayText(words)]] } } })

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

test('two servers run in isolation, one restarts on its port, and both clean up', async () => {
  const model = await startScripted()
  const both = await Promise.all([launchOpencode({ model, files: { 'a.txt': 'a' } }), launchOpencode({ model })])
  const [first, second] = both
  expect([existsSync(`${first.directory}/a.txt`), existsSync(`${second.directory}/a.txt`)]).toEqual([true, false])
  expect(first.port).not.toBe(second.port)
  expect(await Promise.all(both.map(ask))).toEqual([expect.stringContaining(words), expect.stringContaining(words)])
  // What a server would install takes longer than a test.
  expect(existsSync(`${first.home}/.npm`)).toBe(false)
  await second.stop()
  await first.kill()
  expect(await isUp(first.url)).toBe(false)
  await first.restart()
  expect(await isUp(first.url)).toBe(true)
  await first.stop()
  expect([await isUp(first.url), await isUp(second.url)]).toEqual([false, false])
  expect([existsSync(first.root), existsSync(second.root)]).toEqual([false, false])
  await model.close()
})

test('a process that ends by SIGTERM leaves no server and no folders behind', async () => {
  await endProcess('SIGTERM')
})

test('a launch with a config that the server refuses says what to do', async () => {
  const broken = { extra: { provider: 'none' } }
  await expect(launchOpencode({ model: 'http://127.0.0.1:1/v1', config: broken })).rejects.toMatchObject({
    type: 'launch',
    message: expect.stringContaining('fix the config'),
  })
})
