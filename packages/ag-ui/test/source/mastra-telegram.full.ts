import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startTelegram } from '@reply/testing/telegram'
import { expect, onTestFinished, test } from 'vitest'
import { bundleProgram } from '../../../bridge/test/process.ts'
import { startMastra } from './mastra.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const token = '42:secret'

test('mastra-telegram.ts answers in a chat, and runs what a person allows there', async () => {
  await using mastra = await startMastra()
  const telegram = await startTelegram({ token, chats: [{ id: 5, type: 'private', title: 'Ann' }] })
  // There, so that it finds the packages that are not ours.
  mkdirSync(join(root, 'examples/node_modules'), { recursive: true })
  const folder = mkdtempSync(join(root, 'examples/node_modules/.bundled-'))
  const program = await bundleProgram(join(root, 'examples/ag-ui/mastra-telegram.ts'), join(folder, 'program.mjs'))
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: {
      ...process.env,
      AG_UI_URL: mastra.url,
      TELEGRAM_TOKEN: token,
      TELEGRAM_USERS: '5',
      TELEGRAM_API_ROOT: telegram.url,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const errors: string[] = []
  child.stderr.on('data', (data) => errors.push(String(data)))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await telegram.close()
    rmSync(folder, { recursive: true })
  })
  const said = (): string =>
    telegram
      .screen(5)
      .flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
      .join('\n---\n')
  telegram.say(5, 'What is here? [scenario:list]')
  await expect.poll(said, { message: errors.join('') }).toContain('One file.')
  telegram.say(5, 'Remove it [scenario:remove]')
  await expect.poll(said).toContain("can't be restored")
  expect(said()).toContain('a.txt')
  const asked = telegram.screen(5).findLast(({ buttons }) => buttons !== undefined && buttons.length > 0)
  expect(mastra.model.requests).toHaveLength(3)
  telegram.press(5, asked?.messageId ?? 0, 'Allow once')
  await expect.poll(said).toContain('That is that.')
  expect(JSON.stringify(mastra.model.requests.at(-1)?.body)).toContain('removed')
  child.kill('SIGINT')
  expect(await once(child, 'close')).toEqual([0, null])
})
