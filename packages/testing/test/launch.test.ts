import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { atLeast } from '../src/config.ts'
import { launchOpencode } from '../src/index.ts'
import { endProcess, isUp } from './ended-process.ts'

test('a server has its files, answers, and leaves nothing behind when it stops', async () => {
  const server = await launchOpencode({ model: 'http://127.0.0.1:1/v1', files: { 'a.txt': 'a' } })
  expect([existsSync(`${server.directory}/a.txt`), await isUp(server.url)]).toEqual([true, true])
  await server.stop()
  await server.stop()
  expect([await isUp(server.url), existsSync(server.root)]).toEqual([false, false])
  await expect(server.restart()).rejects.toThrow('launch a new one')
})

test('a process that ends by SIGKILL leaves no server and no folders behind', async () => {
  await endProcess('SIGKILL')
})

test('a launch of a version that does not exist says what to do', async () => {
  await expect(launchOpencode({ model: 'http://127.0.0.1:1/v1', version: '0.0.0-none' })).rejects.toMatchObject({
    type: 'install',
    message: expect.stringContaining('check the version'),
  })
})

test('versions are compared by their numbers', () => {
  expect(atLeast('1.18.33', '1.18.0')).toBe(true)
  expect(atLeast('1.2.27', '1.14.41')).toBe(false)
  expect(atLeast('1.14.41', '1.14.41')).toBe(true)
  expect(atLeast('2.0.0', '1.18')).toBe(true)
})
