import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBridge, parseConfig, sqliteStore } from '@reply/bridge'
import { connectSource } from '@reply/core/source'
import { bridgeChannel } from '@reply/telegram/bridge'
import { startTelegram } from '@reply/testing/telegram'
import { expect, test } from 'vitest'
import { commandSource } from '../../src/command.ts'

test('a bridge keeps what ran: its list, status and logs, while it runs and afterwards', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reply-process-'))
  const telegram = await startTelegram({ token: '42:secret' })
  const bridge = createBridge({
    config: parseConfig({
      servers: { shell: { url: 'http://127.0.0.1:1', directory: folder } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: { ann: { ids: ['tg:1'], may: ['prompt', 'approve', 'admin'] } },
    }),
    store: await sqliteStore({ folder }),
    secret: () => '42:secret',
    load: async () => bridgeChannel,
    connectTo: () =>
      connectSource(commandSource({ command: 'sh', args: (text) => ['-c', text], graceMs: 200 }), {
        directory: folder,
      }),
  })
  const said = () => telegram.screen(1).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
  try {
    await bridge.start()
    telegram.say(1, 'echo out; echo err >&2; exit 3')
    await expect.poll(said).toContainEqual(expect.stringContaining('sh exited with code 3.'))
    telegram.say(1, '/list')
    await expect.poll(said).toContainEqual(expect.stringMatching(/^Recent executions \(this chat\):\n• \w+ ❌ Error /))
    const id = /• (\w+) /.exec(said().join('\n'))?.[1]
    telegram.say(1, `/logs ${id}`)
    await expect.poll(said).toContainEqual('[stdout] out\n[stderr] err\n[stderr] sh exited with code 3.')
    telegram.say(1, `/status ${id}`)
    await expect.poll(said).toContainEqual(expect.stringMatching(/^❌ Error \(.*\nReason: sh exited with code 3\./))
    telegram.say(1, 'echo working; sleep 100')
    await expect.poll(said).toContainEqual(expect.stringContaining('working'))
    telegram.say(1, '/list')
    await expect.poll(said).toContainEqual(expect.stringMatching(/this chat\):\n• \w+ ⏳ Running .*\n• /))
    telegram.say(1, '/cancel')
    await expect.poll(said).toContainEqual('Stopped.')
  } finally {
    await bridge.stop()
    await telegram.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
