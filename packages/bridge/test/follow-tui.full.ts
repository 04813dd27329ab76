import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callTool, opencodeBinary, type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  touch: {
    steps: [[callTool('bash', { command: 'touch desk.txt', description: 'Touch' })], [sayText('It is touched.')]],
  },
}
const home = 1
const hasTmux = canRun('tmux', ['-V'])

let stage: BridgeStage
let folder = ''
let terminals = 0

function canRun(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The terminal of a person at the desk, in which the TUI of OpenCode is attached to the server. */
async function openTui() {
  const own = join(folder, `home${++terminals}`)
  const name = `reply-${process.pid}-${terminals}`
  const tmux = (...args: readonly string[]): string => execFileSync('tmux', ['-L', name, ...args], { encoding: 'utf8' })
  const variables = {
    HOME: own,
    ...{ XDG_CONFIG_HOME: join(own, 'config'), XDG_DATA_HOME: join(own, 'data') },
    ...{ XDG_STATE_HOME: join(own, 'state'), XDG_CACHE_HOME: join(own, 'cache') },
    ...{ OPENCODE_DISABLE_AUTOUPDATE: '1', TERM: 'xterm-256color' },
  }
  const env = Object.entries(variables).flatMap(([key, value]) => ['-e', `${key}=${value}`])
  const { url, directory } = stage.server
  const attach = `exec '${await opencodeBinary({})}' attach ${url} --dir '${directory}'`
  tmux('new-session', '-d', '-x', '140', '-y', '45', ...env, attach)
  const shows = async (words: RegExp, timeout = 60_000): Promise<void> =>
    await expect.poll(() => tmux('capture-pane', '-p'), { timeout }).toMatch(words)
  await shows(/ctrl\+p commands/)
  return {
    shows,
    type: (text: string) => tmux('send-keys', '-l', text),
    press: (key: string) => tmux('send-keys', key),
    screen: () => tmux('capture-pane', '-p'),
    close: () => tmux('kill-server'),
  }
}

describe.skipIf(!hasTmux)('the TUI of OpenCode at the desk (requires tmux)', () => {
  let tui: Awaited<ReturnType<typeof openTui>> | undefined

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reply-tui-'))
    stage = await startStage({ scripts })
    await stage.start({ server: { homeChat: `tg:${home}` } })
  })
  afterEach(() => {
    tui?.close()
    tui = undefined
  })
  afterAll(async () => {
    await stage.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const request = async (isOpen: boolean) =>
    await stage.seen(home, (screen) => {
      const last = screen.findLast(({ text }) => text.includes('Allow this?'))
      return last && last.buttons.length > 0 === isOpen && last
    })

  /** Lets a person at the desk type a prompt, and resolves when the TUI asks. */
  async function askInTui(): Promise<void> {
    tui = await openTui()
    tui.type('Go [scenario:touch]')
    await tui.shows(/Go \[scenario:touch\]/)
    tui.press('Enter')
    await tui.shows(/Permission required/)
  }

  test('what is typed there asks in the chat, and is answered there', async () => {
    await askInTui()
    const { messageId, text } = await request(true)
    expect(text).toMatch(/^❓ From the terminal, project: Allow this\? bash\n\ntouch desk\.txt/)
    await stage.telegram.press(home, messageId, 'Allow once').settled
    await request(false)
    await tui?.shows(/It is touched\./)
    expect(tui?.screen()).not.toContain('Permission required')
  })

  test('a request that is answered there is closed in the chat', async () => {
    await askInTui()
    const { messageId } = await request(true)
    // `Allow once` is selected.
    tui?.press('Enter')
    const closed = await request(false)
    expect(closed.messageId).toBe(messageId)
    await tui?.shows(/It is touched\./)
    expect(stage.errors).toEqual([])
  })
})
