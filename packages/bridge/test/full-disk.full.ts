import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdAnswer, launchOpencode, sayText, startModel } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { expect, test } from 'vitest'
import { texts } from '../src/texts.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const token = '42:secret'
const chat = 1000

/** Makes a small disk of its own. Only root may. */
function mounted(folder: string): boolean {
  mkdirSync(folder)
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', folder]).status === 0
}

/** Writes until the disk is full. */
function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (;;) writeSync(file, Buffer.alloc(512))
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}

const root = mkdtempSync(join(tmpdir(), 'reply-full-'))
const disk = join(root, 'disk')
const canMount = mounted(disk)

test.skipIf(!canMount)(
  'a bridge whose disk is full waits, says so, and goes on when there is room (needs root)',
  async () => {
    const model = await startModel({
      scripts: {
        long: { steps: [[sayText('It begins.'), holdAnswer('room'), sayText(' It ends.')]] },
        short: { steps: [[sayText('Here.')]] },
      },
    })
    const server = await launchOpencode({ model, config: { extra: { snapshot: false } } })
    const telegram = await startTelegram({ token })
    const path = join(root, 'reply.json')
    const config = {
      state: join(disk, 'state'),
      servers: { home: { url: server.url, directory: server.directory } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: { ann: { ids: [`tg:${chat}`], may: ['prompt', 'approve'] } },
    }
    writeFileSync(path, JSON.stringify(config))
    const child = spawn(process.execPath, [command, 'bridge', '--config', path, '--listen', '127.0.0.1:0'], {
      env: { ...process.env, TOKEN: token },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let told = ''
    child.stderr.on('data', (chunk: Buffer) => {
      told += String(chunk)
    })
    const said = (): readonly string[] => telegram.screen(chat).flatMap((one) => (one.from === 'bot' ? [one.text] : []))
    const health = async (): Promise<readonly [number, string]> => {
      const url = /Serving (http:\S+?)\/?(?:healthz)/.exec(told)?.[1] ?? ''
      const response = await fetch(new URL('/readyz', url))
      return [response.status, await response.text()]
    }
    try {
      await expect.poll(() => told).toContain('Listening')
      telegram.say(chat, 'Go. [scenario:long]')
      await expect.poll(() => said().join()).toContain('It begins.')
      fill(join(disk, 'filler'))
      await expect.poll(() => told).toContain("can't be written, so no calls are made until it can: The state")
      expect(told).toContain('the disk is full. Make room on it.')
      expect(await health()).toEqual([503, expect.stringMatching(/^stalled\n.*the disk is full/)])
      model.release('room')
      telegram.say(chat, 'And now? [scenario:short]')
      const calls = telegram.calls.filter(({ method }) => method !== 'getUpdates').length
      await new Promise((resolve) => setTimeout(resolve, 5000))
      expect(telegram.calls.filter(({ method }) => method !== 'getUpdates').length).toBe(calls)
      expect(child.exitCode).toBeNull()
      rmSync(join(disk, 'filler'))
      await expect.poll(() => told).toContain('The state can be written again. Resuming.')
      await expect.poll(said).toContain('It begins. It ends.')
      await expect.poll(() => said().some((one) => one === 'Here.' || one === texts.notTaken)).toBe(true)
      expect(await health()).toEqual([200, 'ready\n'])
      expect(told).not.toContain('took over')
    } finally {
      child.kill('SIGTERM')
      await new Promise((resolve) => child.once('exit', resolve))
      await telegram.close()
      await server.stop()
      await model.close()
      execFileSync('umount', [disk])
      rmSync(root, { recursive: true, force: true })
    }
  },
)
