import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { atLeast, launchOpencode } from '../src/index.ts'
import { endProcess, isUp } from './ended-process.ts'

test('a server that was killed restarts on its port, and leaves nothing behind when it stops', async () => {
  const server = await launchOpencode({ model: 'http://127.0.0.1:1/v1', files: { 'a.txt': 'a' } })
  expect(existsSync(`${server.directory}/a.txt`)).toBe(true)
  await server.kill()
  expect(await isUp(server.url)).toBe(false)
  await server.restart()
  expect(await isUp(server.url)).toBe(true)
  await server.stop()
  await server.stop()
  expect([await isUp(server.url), existsSync(server.root)]).toEqual([false, false])
  await expect(server.restart()).rejects.toThrow('launch a new one')
})

test('a process that ends by SIGKILL leaves no server and no folders behind', async () => {
  await endProcess('SIGKILL')
})

describe('a failed launch says what to do:', () => {
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
