import { launchOpencode, openCode2Password, openCode2Version, type ScriptedModel, startModel } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../src/index.ts'

let model: ScriptedModel
beforeAll(async () => {
  model = await startModel({ scripts: {} })
})
afterAll(async () => await model.close())

/** Connects to a server with a directory that it doesn't have. */
async function tellsOf(version: string, password?: string) {
  const server = await launchOpencode({ model, version })
  const reported: string[] = []
  const directory = '/no/such'
  const opencode = connect({
    ...{ url: server.url, password, directory, connectTimeoutMs: 600_000 },
    onError: ({ message }) => reported.push(message),
  })
  const ready = await opencode.ready.then(
    () => 'ready',
    (error: Error) => error.message,
  )
  const reply = ready === 'ready' ? undefined : await opencode.prompt({ text: 'Hi' }).result
  await opencode.close()
  await server.stop()
  return { ready, reported, outcome: reply?.outcome, words: reply?.error?.message }
}

test.each([
  ['1.18.33', undefined],
  [openCode2Version, openCode2Password],
])('a directory that OpenCode %s does not have is told by connect, and by each prompt', async (version, password) => {
  const { ready, outcome, words } = await tellsOf(version, password)
  expect(ready).toContain('can\'t open the directory "/no/such"')
  expect([outcome, words]).toEqual(['failed', expect.stringContaining('can\'t open the directory "/no/such"')])
})

test('OpenCode 1.1.65 takes it for an empty one, which is reported', async () => {
  const { ready, reported } = await tellsOf('1.1.65')
  expect(ready).toBe('ready')
  expect(reported).toEqual([expect.stringContaining(`"/no/such": it is empty or doesn't exist.`)])
})
