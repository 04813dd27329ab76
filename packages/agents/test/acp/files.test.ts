import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clientOf } from '../../src/acp/client.ts'
import { scripted } from './agent.ts'

let root = ''
let folder = ''

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'reply-acp-')))
  folder = join(root, 'project')
  await mkdir(folder)
  await writeFile(join(root, 'secret.txt'), 'secret')
  await writeFile(join(folder, 'a.txt'), 'one\ntwo\nthree')
  await symlink(root, join(folder, 'out'))
  await symlink(join(root, 'new.txt'), join(folder, 'new'))
})

afterEach(async () => await rm(root, { recursive: true, force: true }))

/** What the client answers to one request of the agent. */
async function answer(method: string, params: object, files?: 'none' | 'read'): Promise<unknown> {
  let got: unknown
  const { source } = scripted(
    async ({ ask, end }) => {
      got = await ask(method, params)
      end({ stopReason: 'end_turn' })
    },
    { cwd: folder, ...(files && { files }) },
  )
  const client = clientOf(source, { command: 'agent', cwd: folder })
  await client.prompt({ text: 'Go.' }).result
  await client.close()
  return got
}

const inFolder = (name: string): string => join(folder, name)

test('a file of the folder is read, whole or some of its lines', async () => {
  const path = inFolder('a.txt')
  expect(await answer('fs/read_text_file', { path })).toEqual({ content: 'one\ntwo\nthree' })
  expect(await answer('fs/read_text_file', { path, line: 2, limit: 1 })).toEqual({ content: 'two' })
})

test('a file of the folder is written, with the folders above it', async () => {
  const path = inFolder('deep/er/b.txt')
  expect(await answer('fs/write_text_file', { path, content: 'new' })).toEqual({})
  expect(await readFile(path, 'utf8')).toBe('new')
})

test.each(['../secret.txt', 'out/secret.txt', 'deep/../../secret.txt', '../project-two/a.txt', ''])(
  'a path out of the folder is refused: %s',
  async (name) => {
    const path = `${folder}/${name}`
    expect(await answer('fs/read_text_file', { path })).toMatchObject({ code: -32_602 })
    expect(await answer('fs/write_text_file', { path, content: 'x' })).toMatchObject({ code: -32_602 })
    expect(await readFile(join(root, 'secret.txt'), 'utf8')).toBe('secret')
  },
)

test('a file is not written through a link out of the folder, even one to a file that is not there', async () => {
  expect(await answer('fs/write_text_file', { path: inFolder('new'), content: 'x' })).toMatchObject({ code: -32_602 })
  await expect(readFile(join(root, 'new.txt'))).rejects.toThrow('ENOENT')
})

test('a relative path, a folder and a file that is not there are refused', async () => {
  expect(await answer('fs/read_text_file', { path: 'a.txt' })).toMatchObject({ code: -32_602 })
  expect(await answer('fs/read_text_file', { path: inFolder('none.txt') })).toMatchObject({ code: -32_002 })
})

test('a right that was not given is a method that is not there', async () => {
  const path = inFolder('a.txt')
  expect(await answer('fs/read_text_file', { path }, 'none')).toMatchObject({ code: -32_601 })
  expect(await answer('fs/write_text_file', { path, content: 'x' }, 'read')).toMatchObject({ code: -32_601 })
  expect(await answer('terminal/create', { command: 'ls' })).toMatchObject({ code: -32_601 })
})
