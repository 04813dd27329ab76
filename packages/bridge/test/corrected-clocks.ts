import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callTool, holdAnswer, launchOpencode, type Scripts, sayText, startModel } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { expect } from 'vitest'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const token = '42:secret'
const chat = 1000
export const minutes = 60_000

/** Has a process's clock differ from the computer's by what a file says, in ms. */
const preload = `import { readFileSync } from 'node:fs'
const now = Date.now
Date.now = () => now() + Number(readFileSync(process.env.CLOCK_AHEAD, 'utf8'))`

/** Debian's package "faketime" has it. It sets the clock of programs that are not ours. */
export const libfaketime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'

const questions = [{ header: 'Colour', question: 'Which?', options: [{ label: 'Blue', description: 'Cool' }] }]
const scripts: Scripts = {
  before: { steps: [[sayText('The answer from before.')]] },
  during: { steps: [[sayText('It goes on. '), holdAnswer('corrected'), sayText('Until it ends.')]] },
  after: { steps: [[sayText('The answer from after.')]] },
  asks: { steps: [[callTool('question', { questions })], [sayText('Blue it is.')]] },
}

/** By how much the clocks of the bridge and of the server are ahead of the platform's before they are corrected. */
export async function playCorrection(bridgeAheadMs: number, serverAheadMs: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'reply-clocks-'))
  const [bridgeClock, serverClock] = [join(folder, 'bridge-clock'), join(folder, 'server-clock')]
  const set = (bridgeMs: number, serverMs: number): void => {
    writeFileSync(bridgeClock, `${bridgeMs}`)
    writeFileSync(serverClock, `${serverMs < 0 ? '' : '+'}${serverMs / 1000}s`)
  }
  set(bridgeAheadMs, serverAheadMs)
  const model = await startModel({ scripts })
  const server = await launchOpencode({
    model,
    config: { extra: { snapshot: false } },
    ...(serverAheadMs !== 0 && {
      env: {
        LD_PRELOAD: libfaketime,
        FAKETIME_TIMESTAMP_FILE: serverClock,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    }),
  })
  const telegram = await startTelegram({ token })
  const path = join(folder, 'reply.json')
  const config = {
    servers: { home: { url: server.url, directory: server.directory } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
    people: { ann: { ids: [`tg:${chat}`], may: ['prompt', 'approve'] } },
    router: { backlog: 'none' },
  }
  writeFileSync(path, JSON.stringify(config))
  const child = spawn(process.execPath, [command, 'bridge', '--config', path], {
    env: {
      ...process.env,
      TOKEN: token,
      CLOCK_AHEAD: bridgeClock,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let told = ''
  child.stderr.on('data', (chunk: Buffer) => {
    told += String(chunk)
  })
  const said = (): readonly string[] => telegram.screen(chat).flatMap((one) => (one.from === 'bot' ? [one.text] : []))
  const shows = async (words: string): Promise<void> => {
    await expect.poll(() => [told, ...said()].join('\n')).toContain(words)
  }
  try {
    await shows('Listening')
    // While its clock is ahead, all messages seem old, and no program can tell.
    if (bridgeAheadMs <= 0) {
      telegram.say(chat, 'Begin. [scenario:before]')
      await shows('The answer from before.')
      telegram.say(chat, 'Go on. [scenario:during]')
      await shows('It goes on.')
    }
    set(0, 0)
    telegram.say(chat, '/status')
    await shows(bridgeAheadMs <= 0 ? 'Running' : 'Nothing is running')
    model.release('corrected')
    if (bridgeAheadMs <= 0) await shows('Until it ends.')
    // OpenCode orders messages by its clock: what follows in a session of the future stands before it.
    if (serverAheadMs > 0) telegram.say(chat, '/new')
    telegram.say(chat, 'Go on. [scenario:after]')
    await shows('The answer from after.')
    telegram.say(chat, 'Ask. [scenario:asks]')
    await shows('Which?')
    telegram.say(chat, 'Blue')
    await shows('Blue it is.')
    expect(said().join('\n')).not.toContain('sent while the bridge was down')
    for (const words of ['from before', 'Until it ends', 'from after', 'Blue it is'])
      expect(said().filter((one) => one.includes(words)).length).toBeLessThan(2)
  } finally {
    child.kill('SIGTERM')
    await telegram.close()
    await server.stop()
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
