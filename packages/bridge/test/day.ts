import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bridgeChannel as slackChannel } from '@reply/slack/bridge'
import { bridgeChannel as telegramChannel } from '@reply/telegram/bridge'
import { launchOpencode, type OpencodeServer, type ScriptedModel, type Scripts, startModel } from '@reply/testing'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import type { Bridge } from '../src/bridge.ts'
import { createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'

/** Two projects, two platforms, and a bridge between them that can be restarted. */
export interface Day {
  readonly model: ScriptedModel
  readonly home: OpencodeServer
  readonly work: OpencodeServer
  readonly telegram: Awaited<ReturnType<typeof startTelegram>>
  readonly slack: Awaited<ReturnType<typeof startSlack>>
  readonly errors: Error[]
  restart(): Promise<void>
  /** Waits until the bot has said that in a chat of Telegram, and returns the whole message. */
  told(chatId: number, words: string): Promise<{ readonly messageId: number; readonly text: string }>
  /** The same in a thread, or a channel, of Slack. */
  slackTold(channel: string, words: string, threadTs?: string): Promise<{ readonly ts: string; readonly text: string }>
  /** The sessions of a project. */
  sessions(server: OpencodeServer): Promise<readonly { readonly id: string; readonly parentID?: string }[]>
  /** The texts of all assistant messages of a project that a person wrote the prompts of. */
  answers(server: OpencodeServer): Promise<readonly string[]>
  close(): Promise<void>
}

const token = '42:secret'

/** `config` takes the place of what the config says by default. */
export async function startDay(scripts: Scripts, config: object = {}): Promise<Day> {
  const model = await startModel({ scripts })
  const settings = { permission: { bash: { '*': 'allow', 'touch *': 'ask' } }, extra: { snapshot: false } } as const
  const [home, work] = [
    await launchOpencode({ model, config: settings }),
    await launchOpencode({ model, config: settings }),
  ]
  const telegram = await startTelegram({ token })
  const slack = await startSlack()
  const folder = mkdtempSync(join(tmpdir(), 'reply-day-'))
  const errors: Error[] = []
  const secrets: Readonly<Record<string, string>> = { TG: token, SLACK: slack.token, APP: slack.appToken }
  const parsed = parseConfig({
    servers: {
      // Its own rules ask for `touch` alone, also where Bob prompts: by default he would have no shell.
      home: { url: home.url, directory: home.directory, trustPrompt: true },
      work: { url: work.url, directory: work.directory, trustPrompt: true },
    },
    channels: {
      tg: { type: 'telegram', token: { env: 'TG' }, apiRoot: telegram.url },
      sl: { type: 'slack', token: { env: 'SLACK' }, appToken: { env: 'APP' }, apiUrl: `${slack.url}` },
    },
    routes: { tg: 'home', sl: 'work' },
    people: {
      ann: { ids: ['tg:1', 'sl:U1'], may: ['prompt', 'approve', 'admin'] },
      bob: { ids: ['tg:2', 'sl:U2'], may: ['prompt'] },
      cyd: { ids: ['sl:U3'], may: ['prompt', 'approve'] },
    },
    router: { messagesPerMinute: 1000 },
    ...config,
  })
  let bridge: Bridge | undefined
  await restart()
  return { model, home, work, telegram, slack, errors, restart, told, slackTold, sessions, answers, close }

  async function restart(): Promise<void> {
    await bridge?.stop()
    bridge = createBridge({
      config: parsed,
      store: await sqliteStore({ folder: join(folder, 'state') }),
      secret: (source) => ('env' in source ? (secrets[source.env] ?? '') : ''),
      onError: (error) => errors.push(error),
      load: async (type) => (type === 'slack' ? slackChannel : telegramChannel),
    })
    await bridge.start()
    // The fake has no events for an app that is not connected.
    while (slack.sockets === 0) await pause(20)
  }

  async function told(chatId: number, words: string): Promise<{ readonly messageId: number; readonly text: string }> {
    return await until(telegram.observe, () =>
      telegram.screen(chatId).findLast(({ from, text }) => from === 'bot' && text.includes(words)),
    )
  }

  async function slackTold(
    channel: string,
    words: string,
    threadTs?: string,
  ): Promise<{ readonly ts: string; readonly text: string }> {
    return await until(slack.observe, () =>
      slack.screen(channel, threadTs).findLast(({ from, text }) => from === 'bot' && text.includes(words)),
    )
  }

  async function get(server: OpencodeServer, path: string): Promise<ReturnType<typeof JSON.parse>> {
    const address = new URL(path, server.url)
    address.searchParams.set('directory', server.directory)
    return await (await fetch(address)).json()
  }

  async function sessions(server: OpencodeServer): ReturnType<Day['sessions']> {
    return await get(server, '/session')
  }

  async function answers(server: OpencodeServer): Promise<readonly string[]> {
    const all = await Promise.all(
      (await sessions(server))
        .filter(({ parentID }) => parentID === undefined)
        .map(async ({ id }) => await get(server, `/session/${id}/message`)),
    )
    const messages: readonly { info: { role: string }; parts: readonly { type: string; text?: string }[] }[] =
      all.flat()
    return messages
      .filter(({ info }) => info.role === 'assistant')
      .flatMap(({ parts }) =>
        parts.flatMap(({ type, text = '' }) => (type === 'text' && text.trim() !== '' ? [text] : [])),
      )
  }

  async function close(): Promise<void> {
    await bridge?.stop()
    await Promise.all([telegram.close(), slack.close(), home.stop(), work.stop()])
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves with what is found, looking again after each change. */
async function until<T>(observe: (look: () => void) => () => void, find: () => T | undefined): Promise<T> {
  return await new Promise((resolve) => {
    let stop = (): void => {}
    const look = (): void => {
      const found = find()
      if (found === undefined) return
      stop()
      resolve(found)
    }
    stop = observe(look)
    look()
  })
}
