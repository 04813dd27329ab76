import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTelegram } from '@reply/testing/telegram'
import { afterEach, expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import { fakeProcess } from './fixture/io.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

/** `reply bridge` with Ann alone in its config. */
async function start({ isTTY }: { readonly isTTY: boolean }) {
  const telegram = await startTelegram({ token: '42:secret' })
  const folder = mkdtempSync(join(tmpdir(), 'reply-signals-'))
  stops.push(telegram.close, () => rmSync(folder, { recursive: true }))
  const path = join(folder, 'reply.json')
  const write = (people: object): void => {
    const channel = { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url }
    const config = { servers: { home: { url: 'http://127.0.0.1:1' } }, channels: { tg: channel }, people }
    writeFileSync(path, JSON.stringify(config))
  }
  write({ ann: { ids: ['tg:1'], may: ['prompt'] } })
  const fake = fakeProcess({ env: { TOKEN: '42:secret' } })
  const io = { ...fake.io, stdin: Object.assign(fake.io.stdin, { isTTY }) }
  const done = main(['bridge', '--config', path], io)
  await expect.poll(fake.stderr).toContain('Listening on tg.')
  return { ...fake, write, done }
}

test('SIGHUP ends the command in a terminal, as the terminal is gone', async () => {
  const { signal, done } = await start({ isTTY: true })
  signal('SIGHUP')
  expect(await done).toBe(0)
})

test('SIGHUP without a terminal has the config read anew, and the command goes on', async () => {
  const { signal, write, stderr, done } = await start({ isTTY: false })
  write({ bob: { ids: ['tg:2'], may: ['prompt'] } })
  signal('SIGHUP')
  await expect.poll(stderr).toContain('Reloaded the people and their rights')
  write({})
  signal('SIGHUP')
  await expect.poll(stderr).toContain(': none.')
  signal('SIGTERM')
  expect(await done).toBe(0)
})
