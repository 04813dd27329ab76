import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@reply/core'
import { callTool, httpError, launchOpencode, sayText, startModel } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { expect, onTestFinished, test } from 'vitest'
import { bundleProgram } from '../../bridge/test/process.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const token = '42:secret'

test('chat-sdk.ts answers in its thread and session, allows nothing, and lets no stranger in', async () => {
  const scripts = {
    hello: { steps: [[sayText('Hello to **you**.')]] },
    touch: {
      steps: [[callTool('bash', { command: 'touch it', description: 'Touch' })], [sayText('I was not allowed to.')]],
    },
    broken: { steps: [[httpError(400, 'The model is gone.')]] },
  }
  const model = await startModel({ scripts })
  const opencode = await launchOpencode({ model, config: { permission: { bash: 'ask' } } })
  const telegram = await startTelegram({
    token,
    chats: [5, 6].map((id) => ({ id, type: 'private' as const, title: 'x' })),
  })
  // There, so that it finds the packages that are not ours.
  mkdirSync(join(root, 'examples/node_modules'), { recursive: true })
  const folder = mkdtempSync(join(root, 'examples/node_modules/.bundled-'))
  const program = await bundleProgram(join(root, 'examples/chat-sdk.ts'), join(folder, 'program.mjs'))
  const run = (allowed: string) =>
    spawn(process.execPath, [program], {
      env: {
        ...process.env,
        OPENCODE_URL: opencode.url,
        TELEGRAM_BOT_TOKEN: token,
        TELEGRAM_API_BASE_URL: telegram.url,
        TELEGRAM_ALLOWED_USER_IDS: allowed,
      },
      stdio: 'ignore',
    })
  const open = run('')
  expect(await once(open, 'close')).toEqual([1, null])
  const child = run('5')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await Promise.all([telegram.close(), opencode.stop(), model.close()])
    rmSync(folder, { recursive: true })
  })
  const said = (chat: number): readonly string[] =>
    telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))

  telegram.say(6, 'Let me in [scenario:hello]')
  telegram.say(5, 'Hi [scenario:hello]')
  await expect.poll(() => said(5)).toEqual(['Hello to you.'])
  telegram.say(5, 'Touch [scenario:touch]')
  await expect.poll(() => said(5).at(-1)).toBe('I was not allowed to.')
  telegram.say(5, 'Now [scenario:broken]')
  await expect.poll(() => said(5).at(-1)).toMatch(/^The run ended as failed: .*The model is gone\./)
  expect(said(6)).toEqual([])
  const client = connect({ url: opencode.url })
  expect(await client.sessions({ directory: opencode.directory })).toHaveLength(1)
  await client.close()
  child.kill('SIGINT')
  expect(await once(child, 'close')).toEqual([0, null])
})
