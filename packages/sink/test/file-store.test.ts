import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fileStore } from '../src/node.ts'
import { settledWith, text } from './make.ts'
import { createScene } from './scene.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reply-store-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('what was written is read again, also by another store on the folder, under any key', async () => {
  const keys = ['chat/ses_1', '../../etc/passwd', 'a:b*?|"<>', `long${'x'.repeat(5000)}`, 'chat/ses_2']
  const store = fileStore(join(folder, 'new', 'inner'))
  expect(await store.read('chat/ses_1')).toBeUndefined()
  for (const key of keys) await store.write(key, `old ${key}`)
  for (const key of keys) await store.write(key, `text of ${key}`)
  const again = fileStore(join(folder, 'new', 'inner'))
  expect(await Promise.all(keys.map(async (key) => await again.read(key)))).toEqual(keys.map((key) => `text of ${key}`))
  expect(await readdir(join(folder, 'new', 'inner'))).toHaveLength(keys.length)
})

test('writes at the same time leave one whole text, and no other file', async () => {
  const own = join(folder, 'many')
  const store = fileStore(own)
  const texts = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(10_000))
  await Promise.all(texts.map((one) => store.write('key', one)))
  expect(texts).toContain(await store.read('key'))
  expect(await readdir(own)).toHaveLength(1)
})

test('a folder that is a file is reported', async () => {
  const path = join(folder, 'file')
  await writeFile(path, '')
  await expect(fileStore(path).write('key', 'x')).rejects.toThrow(/EEXIST|ENOTDIR/)
  await expect(fileStore(path).read('key')).rejects.toThrow('ENOTDIR')
})

test('a new process with the folder posts nothing twice', async () => {
  const store = fileStore(join(folder, 'restart'))
  const scene = createScene()
  const answer = settledWith([text('It is done.')])
  for (let life = 0; life < 2; life++) {
    const { port } = scene.fake
    const sink = createScene({ clock: scene.clock, sink: { store, port } })
    sink.show(answer)
    const settled = sink.sink().settled()
    let isOver = false
    void settled.then(() => {
      isOver = true
    })
    while (!isOver) {
      await scene.pass(100)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  expect(scene.fake.posted).toHaveLength(1)
})
