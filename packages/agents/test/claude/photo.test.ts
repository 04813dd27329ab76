import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBridge, parseConfig, sqliteStore } from '@reply/bridge'
import { connectSource } from '@reply/core/source'
import { bridgeChannel } from '@reply/telegram/bridge'
import { startTelegram } from '@reply/testing/telegram'
import { expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'
import { receivedBy, writeReplayProgram } from './replay-program.ts'
import { picture } from './scenes.ts'

test('a photo from a chat reaches Claude Code as a picture, and an archive is refused with the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reply-photo-'))
  const command = join(folder, 'claude-code')
  writeReplayProgram(command, '2.1.332/files')
  const telegram = await startTelegram({ token: '42:secret' })
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1', directory: folder } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: { ann: { ids: ['tg:1'], may: ['prompt', 'approve'] } },
    }),
    store: await sqliteStore({ folder: join(folder, 'state') }),
    secret: () => '42:secret',
    load: async () => bridgeChannel,
    connectTo: () => connectSource(claude({ command, cwd: folder }), { directory: folder }),
  })
  const said = () => telegram.screen(1).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
  try {
    await bridge.start()
    telegram.say(1, 'Look at this.', { file: { kind: 'photo', bytes: picture } })
    await expect.poll(said, { timeout: 20_000 }).toContainEqual(expect.stringContaining('I see them.'))
    const source = { type: 'base64', media_type: 'image/png', data: picture.toString('base64') }
    expect(receivedBy(command).prompts[0]).toEqual([
      { type: 'text', text: 'Look at this.' },
      { type: 'image', source },
    ])
    telegram.say(1, 'Read this.', {
      file: { kind: 'document', bytes: new Uint8Array([0xff]), name: 'a.zip', mime: 'application/zip' },
    })
    await expect
      .poll(said, { timeout: 20_000 })
      .toContainEqual(expect.stringContaining('the agent can’t read a.zip. It takes text files, pictures'))
  } finally {
    await bridge.stop()
    await telegram.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
