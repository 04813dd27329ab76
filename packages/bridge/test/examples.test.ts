import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
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

test('a type without a package says what to install', async () => {
  await expect(loadChannel('pigeon')).rejects.toThrow('@reply/pigeon could not be loaded')
})
