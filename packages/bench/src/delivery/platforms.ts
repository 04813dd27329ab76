import { createDiscordAdapter } from '@chat-adapter/discord'
import { createSlackAdapter } from '@chat-adapter/slack'
import { createMemoryState } from '@chat-adapter/state-memory'
import { createTelegramAdapter } from '@chat-adapter/telegram'
import { createWhatsAppAdapter } from '@chat-adapter/whatsapp'
import { REST } from '@discordjs/rest'
import { discordRestOptions, discordSink } from '@reply/discord'
import type { Sink } from '@reply/sink'
import { slackSink } from '@reply/slack'
import { telegramSink } from '@reply/telegram'
import { startDiscord } from '@reply/testing/discord'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { createCloudClient, whatsappSink } from '@reply/whatsapp'
import { WebClient } from '@slack/web-api'
import { Chat } from 'chat'
import { Api } from 'grammy'
import type { Timeline } from './timeline.ts'

/** A call to a fake platform. */
export interface PlatformCall {
  readonly name: string
  readonly isRateLimited: boolean
  /** The text in the call. */
  readonly text?: string | undefined
}

/** A fake platform with one chat in it. */
export interface OpenedChat {
  /** Called after each change in the chat. Returns a function that stops it. */
  observe(look: () => void): () => void
  /** The text that a person sees there. */
  screen(): string
  calls(): readonly PlatformCall[]
  /** How many messages notified. */
  notifications(): number
  /** Rate-limits the next call. */
  refuseNext(): void
  /** Shows a reply through our sink. `beganAtMs`: when the reply began, by `performance.now()`. */
  ours(timeline: Timeline, beganAtMs: number): Promise<void>
  /** Shows its text through Chat SDK. Its set-up counts towards the same time. */
  peer(timeline: Timeline, beganAtMs: number): Promise<void>
  close(): Promise<void>
}

/** A platform that starts a fake for each chat. */
export interface Platform {
  readonly name: string
  open(): Promise<OpenedChat>
}

/** The visible text of the bot's messages, a line each. */
export function screenText(screen: readonly { readonly from: string; readonly text: string }[]): string {
  return screen
    .filter(({ from }) => from !== 'user' && from !== 'person')
    .map(({ text }) => text)
    .join('\n')
}

/**
 * Feeds a sink a reply over its timeline, and waits until it is shown. Reports what isn't on standard error.
 * `beganAtMs`: when the reply began, by `performance.now()`.
 */
async function showOn(sink: Sink, { states }: Timeline, beganAtMs: number): Promise<void> {
  const startedAt = Date.now()
  for (const [index, { atMs, reply }] of states.entries()) {
    const waitMs = atMs - (performance.now() - beganAtMs)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    const now = { ...reply, startedAt, ...(reply.phase === 'settled' && { settledAt: Date.now() }) }
    if (index === 0) sink.replyStarted?.({ type: 'replyStarted', reply: now })
    else sink.phaseChanged?.({ type: 'phaseChanged', phase: reply.phase, before: reply.phase, reply: now })
  }
  const { undelivered } = await sink.settled()
  for (const { key, reason } of undelivered) process.stderr.write(`not shown: ${key}, ${reason}\n`)
}

/** A silent logger: failures show on the screen. */
const silentLogger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLogger }

/**
 * Feeds a thread of Vercel's Chat SDK, with its own adapter and defaults, a reply's text over its timeline. Ignores its
 * failures, which show on the screen.
 */
async function postThrough(adapter: unknown, threadId: string, { texts }: Timeline, beganAtMs: number): Promise<void> {
  const [name = ''] = threadId.split(':')
  const chat = new Chat({
    userName: 'bot',
    adapters: { [name]: adapter as never },
    state: createMemoryState(),
    logger: 'silent',
  })
  await chat.initialize()
  try {
    await chat
      .thread(threadId)
      .post(piecesOf(texts, beganAtMs))
      .catch(() => undefined)
  } finally {
    await chat.shutdown()
  }
}

/** Yields each addition to the text at its time. Skips a state whose text doesn't continue the one before. */
async function* piecesOf(texts: Timeline['texts'], beganAtMs: number): AsyncGenerator<string> {
  let sent = ''
  for (const { atMs, text } of texts) {
    const waitMs = atMs - (performance.now() - beganAtMs)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    if (text.startsWith(sent) && text !== sent) yield text.slice(sent.length)
    if (text.startsWith(sent)) sent = text
  }
}

export const telegram: Platform = {
  name: 'Telegram',
  async open() {
    const token = '1:bench'
    const chatID = 1001
    const fake = await startTelegram({ token })
    const adapter = () =>
      createTelegramAdapter({
        botToken: token,
        apiBaseUrl: fake.url,
        mode: 'webhook',
        allowUnverifiedWebhooks: true,
        logger: silentLogger,
      })
    return {
      observe: (look) => fake.observe(look),
      screen: () => screenText(fake.screen(chatID)),
      calls: () =>
        fake.calls.map(({ method, status, payload: { text, rich_message: rich } }) => ({
          name: method,
          isRateLimited: status === 429,
          text: typeof text === 'string' ? text : richMessageText(rich),
        })),
      notifications: () => fake.notifications(chatID),
      refuseNext: () => fake.inject({ type: 'rate-limited', retryAfterS: 3, method: /^(?!sendChatAction$)/ }),
      ours: (timeline, beganAtMs) =>
        showOn(telegramSink({ api: new Api(token, { apiRoot: fake.url }), chatId: chatID }), timeline, beganAtMs),
      peer: (timeline, beganAtMs) => postThrough(adapter(), `telegram:${chatID}`, timeline, beganAtMs),
      close: () => fake.close(),
    }
  },
}

/** The text of a rich message, given as Markdown or HTML. Undefined for anything else. */
function richMessageText(rich: unknown): string | undefined {
  if (typeof rich !== 'object' || rich === null) return undefined
  if ('html' in rich && typeof rich.html === 'string') return rich.html.replace(/<[^>]*>|&\w+;/g, ' ')
  return 'markdown' in rich && typeof rich.markdown === 'string' ? rich.markdown : undefined
}

export const slack: Platform = {
  name: 'Slack',
  async open() {
    // A direct message, where streams need no recipient.
    const channelId = 'D0000000001'
    const fake = await startSlack()
    const { token, url, signingSecret } = fake
    const threadTs = fake.say(channelId, 'Go on.')
    const adapter = () => createSlackAdapter({ botToken: token, apiUrl: url, signingSecret, logger: silentLogger })
    const client = () =>
      new WebClient(token, { slackApiUrl: url, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true })
    return {
      observe: (look) => fake.observe(look),
      screen: () => screenText(fake.screen(channelId, threadTs)),
      calls: () => fake.calls.map(({ method, status }) => ({ name: method, isRateLimited: status === 429 })),
      notifications: () => fake.notifications(channelId),
      refuseNext: () => fake.inject({ type: 'rate-limited', retryAfterS: 3, method: /^chat\./ }),
      ours: (timeline, beganAtMs) => showOn(slackSink({ api: client(), channelId, threadTs }), timeline, beganAtMs),
      peer: (timeline, beganAtMs) => postThrough(adapter(), `slack:${channelId}:${threadTs}`, timeline, beganAtMs),
      close: () => fake.close(),
    }
  },
}

export const discord: Platform = {
  name: 'Discord',
  async open() {
    const token = 'bench-token'
    const channelId = '100000000000000001'
    const fake = await startDiscord({ token })
    const adapter = () =>
      createDiscordAdapter({
        botToken: token,
        apiUrl: `${fake.url}/v10`,
        applicationId: '100000000000000002',
        publicKey: fake.publicKey,
        logger: silentLogger,
      })
    const rest = () => new REST({ ...discordRestOptions, api: fake.url }).setToken(token)
    return {
      observe: (look) => fake.observe(look),
      screen: () => screenText(fake.screen(channelId)),
      calls: () =>
        fake.calls.map(({ name, status, body: { content } }) => ({
          name,
          isRateLimited: status === 429,
          text: typeof content === 'string' ? content : undefined,
        })),
      notifications: () => fake.notifications(channelId),
      refuseNext: () => fake.inject({ type: 'rate-limited', retryAfterS: 3 }),
      ours: (timeline, beganAtMs) => showOn(discordSink({ rest: rest(), channelId }), timeline, beganAtMs),
      peer: (timeline, beganAtMs) =>
        postThrough(adapter(), `discord:100000000000000003:${channelId}`, timeline, beganAtMs),
      close: () => fake.close(),
    }
  },
}

export const whatsapp: Platform = {
  name: 'WhatsApp',
  async open() {
    const token = 'bench-token'
    const to = '491700000001'
    const fake = await startWhatsApp({ token })
    const { phoneNumberId } = fake
    const adapter = () =>
      createWhatsAppAdapter({
        accessToken: token,
        apiUrl: new URL(fake.url).origin,
        apiVersion: 'v23.0',
        appSecret: fake.appSecret,
        phoneNumberId,
        verifyToken: 'bench',
        logger: silentLogger,
      })
    const client = () => createCloudClient({ token, phoneNumberId, apiUrl: fake.url })
    return {
      observe: (look) => fake.observe(look),
      screen: () => screenText(fake.screen(to)),
      calls: () =>
        fake.calls.map(({ kind, status, code }) => ({
          name: kind,
          isRateLimited: status === 429 || code === 130429 || code === 131056,
        })),
      notifications: () => fake.notifications(to),
      refuseNext: () => fake.inject({ type: 'rate-limited' }),
      ours: (timeline, beganAtMs) => showOn(whatsappSink({ client: client(), to }), timeline, beganAtMs),
      peer: (timeline, beganAtMs) => postThrough(adapter(), `whatsapp:${phoneNumberId}:${to}`, timeline, beganAtMs),
      close: () => fake.close(),
    }
  },
}
