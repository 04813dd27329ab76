import { type Clock, systemClock } from '@reply/core'
import { bridgeChannel as discordChannel } from '@reply/discord/bridge'
import type { BridgeChannel } from '@reply/sink/channel'
import { bridgeChannel as slackChannel } from '@reply/slack/bridge'
import { bridgeChannel as telegramChannel } from '@reply/telegram/bridge'
import { type FakeDiscord, startDiscord } from '@reply/testing/discord'
import { type FakeSlack, startSlack } from '@reply/testing/slack'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { type FakeWhatsApp, startWhatsApp } from '@reply/testing/whatsapp'
import { bridgeChannel as whatsappChannel } from '@reply/whatsapp/bridge'

export type PlatformName = 'telegram' | 'slack' | 'discord' | 'whatsapp'

/** Ann may do all, Bob may prompt. */
export type Who = 'ann' | 'bob'

/** A fake platform with one chat where Ann and Bob are. On WhatsApp, Bob has a chat of his own. */
export interface Platform {
  readonly name: PlatformName
  readonly channel: BridgeChannel
  /** Its entry in a config. */
  readonly entry: object
  readonly secrets: Readonly<Record<string, string>>
  /** The ids of the people there. */
  readonly ids: Readonly<Record<Who, string>>
  /** Lets messages reach the bridge, which has begun to hear. `url` is that of its webhook. */
  ready(url: string): Promise<void>
  /** Writes to the bot. */
  say(who: Who, text: string): void
  /** Sends files to the bot together, with a caption. As one message where the platform has messages with several files. */
  send(who: Who, caption: string, files: readonly Sent[]): void
  /** Sends a recording to the bot, as the platform's own clients record it. */
  speak(who: Who, note: Recordings): void
  /** The bot's messages, oldest first. */
  texts(who?: Who): readonly string[]
  /** The buttons of the chat, oldest first. */
  labels(who?: Who): readonly string[]
  /** Presses the newest button of that name. Resolves once the platform has its acknowledgement. */
  press(who: Who, label: string): Promise<void>
  /** What a person alone was told, oldest first. WhatsApp tells it in the chat. */
  told(): readonly string[]
  close(): Promise<void>
}

/** A file that a person sends. */
export interface Sent {
  /** The name on the person's device. Pictures lose it, except on Slack and Discord. */
  readonly name: string
  readonly mime: string
  readonly bytes: Uint8Array
  /** Sent as a picture where the platform has that kind of message. Default false. */
  readonly isPicture?: boolean
}

/** The same words in the containers of the platforms: Ogg/Opus, and MP4/AAC. */
export interface Recordings {
  readonly ogg: Uint8Array
  readonly mp4: Uint8Array
}

const opus = 'audio/ogg; codecs=opus'

const names: Readonly<Record<Who, string>> = { ann: 'Ann', bob: 'Bob' }

const starts: Readonly<Record<PlatformName, (clock: Clock) => Promise<Platform>>> = {
  telegram,
  slack,
  discord,
  whatsapp,
}

/** All platforms that have a fake. */
export const platformNames = Object.keys(starts) as readonly PlatformName[]

/** Starts a fake with this clock. Default: real time. */
export async function startPlatform(name: PlatformName, clock: Clock = systemClock): Promise<Platform> {
  return await starts[name](clock)
}

async function telegram(clock: Clock): Promise<Platform> {
  return telegramOn(
    await startTelegram({ token: '42:secret', clock, chats: [{ id: shop, type: 'supergroup', title: 'Shop' }] }),
  )
}

/** Ann's and Bob's group. */
export const shop = -100_700

export function telegramOn(fake: FakeTelegram): Platform {
  const chat = shop
  const alone: string[] = []
  const ids = { ann: '1', bob: '2' }
  const from = (who: Who) => ({ id: Number(ids[who]), name: names[who] })
  const ours = () => fake.screen(chat).filter((message) => message.from === 'bot')
  return {
    ...{ name: 'telegram', channel: telegramChannel, ids, secrets: { TOKEN_TELEGRAM: '42:secret' } },
    entry: { type: 'telegram', token: { env: 'TOKEN_TELEGRAM' }, apiRoot: fake.url },
    ready: async () => {},
    say: (who, text) => void fake.say(chat, text.startsWith('/') ? text : `@fake_bot ${text}`, { from: from(who) }),
    speak: (who, { ogg: bytes }) =>
      void fake.say(chat, '@fake_bot', { from: from(who), file: { kind: 'voice', bytes, mime: 'audio/ogg' } }),
    send: (who, caption, files) => {
      for (const [index, { isPicture, ...file }] of files.entries()) {
        const sent = { ...file, kind: isPicture ? ('photo' as const) : ('document' as const) }
        const album = files.length > 1 && { albumId: caption }
        fake.say(chat, index === 0 ? `@fake_bot ${caption}` : '', { from: from(who), file: sent, ...album })
      }
    },
    texts: () => ours().map(({ text }) => text),
    labels: () => ours().flatMap(({ buttons }) => buttons.flat().map(({ text }) => text)),
    press: async (who, label) => {
      const message = ours().findLast(({ buttons }) => buttons.flat().some(({ text }) => text === label))
      const { text } = await fake.press(chat, message?.messageId ?? 0, label, { from: from(who) }).settled
      if (text !== undefined) alone.push(text)
    },
    told: () => alone,
    close: fake.close,
  }
}

async function slack(clock: Clock): Promise<Platform> {
  return slackOn(await startSlack({ clock }))
}

export function slackOn(fake: FakeSlack): Platform {
  const chat = 'C1'
  /** The thread that all of them write in. */
  let root = ''
  const ids = { ann: 'U1', bob: 'U2' }
  const from = (who: Who) => ({ id: ids[who], name: names[who] })
  const ours = () => fake.screen(chat).filter((message) => message.from === 'bot')
  return {
    ...{ name: 'slack', channel: slackChannel, ids },
    secrets: { TOKEN_SLACK: fake.token, APP_SLACK: fake.appToken },
    entry: { type: 'slack', token: { env: 'TOKEN_SLACK' }, appToken: { env: 'APP_SLACK' }, apiUrl: fake.url },
    ready: async () => await eventually(() => fake.sockets > 0),
    say: (who, text) => {
      const ts = fake.say(chat, text, { from: from(who), mention: true, ...(root && { threadTs: root }) })
      root ||= ts
    },
    send: (who, caption, files) => {
      const ts = fake.say(chat, caption, { from: from(who), mention: true, files, ...(root && { threadTs: root }) })
      root ||= ts
    },
    speak: (who, { mp4: bytes }) => {
      const file = { name: 'audio_message.mp4', bytes, mime: 'video/mp4', isClip: true }
      const ts = fake.say(chat, '', { from: from(who), mention: true, file, ...(root && { threadTs: root }) })
      root ||= ts
    },
    texts: () => ours().map(({ text }) => text),
    labels: () => ours().flatMap(({ controls }) => controls.flat().map(({ label }) => label)),
    press: async (who, label) => {
      const message = ours().findLast(({ controls }) => controls.flat().some((one) => one.label === label))
      await fake.press(chat, message?.ts ?? '', label, { from: from(who) })
    },
    told: () => fake.whispers.map(({ text }) => text),
    close: fake.close,
  }
}

async function discord(clock: Clock): Promise<Platform> {
  return discordOn(await startDiscord({ token: 'MTA.very-secret-token', clock }))
}

export function discordOn(fake: FakeDiscord): Platform {
  const chat = '100000000000000001'
  const { token } = fake
  const alone: string[] = []
  const ids = { ann: '800000000000000001', bob: '800000000000000002' }
  const from = (who: Who) => ({ id: ids[who], name: names[who] })
  const ours = () => fake.screen(chat).filter((message) => message.from === 'bot')
  const labelsIn = ({ rows }: ReturnType<typeof ours>[number]) =>
    rows.flat().flatMap((one) => (one.type === 'button' ? [one.label] : []))
  return {
    ...{ name: 'discord', channel: discordChannel, ids, secrets: { TOKEN_DISCORD: token } },
    entry: { type: 'discord', token: { env: 'TOKEN_DISCORD' }, apiUrl: fake.url },
    ready: async () => await eventually(() => fake.connected > 0),
    say: (who, text) => void fake.say(chat, text, { from: from(who), mention: true }),
    send: (who, caption, files) => void fake.say(chat, caption, { from: from(who), mention: true, files }),
    speak: (who, { ogg: bytes }) => {
      const file = { name: 'voice-message.ogg', bytes, mime: 'audio/ogg', voiceSeconds: 2 }
      fake.say(chat, '', { from: from(who), mention: true, file })
    },
    texts: () => ours().map(({ text }) => text),
    labels: () => ours().flatMap(labelsIn),
    press: async (who, label) => {
      const message = ours().findLast((one) => labelsIn(one).includes(label))
      const { texts } = await fake.press(chat, message?.messageId ?? '', label, { from: from(who) }).settled
      alone.push(...texts)
    },
    told: () => alone,
    close: fake.close,
  }
}

async function whatsapp(clock: Clock): Promise<Platform> {
  return whatsappOn(await startWhatsApp({ token: 'EAA-very-secret', clock }))
}

export function whatsappOn(fake: FakeWhatsApp): Platform {
  const ids = { ann: '15550000001', bob: '15550000002' }
  const ours = (who: Who) => fake.screen(ids[who]).filter(({ from }) => from === 'business')
  const texts = (who: Who = 'ann') => ours(who).map(({ text }) => text)
  return {
    ...{ name: 'whatsapp', channel: whatsappChannel, ids, texts },
    secrets: { TOKEN_WHATSAPP: 'EAA-very-secret', APP_WHATSAPP: fake.appSecret, VERIFY_WHATSAPP: 'a-verify-token' },
    entry: {
      ...{ type: 'whatsapp', api: 'cloud', phoneNumberId: fake.phoneNumberId, apiUrl: fake.url },
      ...{ token: { env: 'TOKEN_WHATSAPP' }, appSecret: { env: 'APP_WHATSAPP' } },
      verifyToken: { env: 'VERIFY_WHATSAPP' },
    },
    ready: async (url) => await fake.setWebhook(url, 'a-verify-token'),
    say: (who, text) => void fake.say(ids[who], text, { name: names[who] }),
    send: (who, caption, files) => {
      for (const [index, file] of files.entries())
        fake.say(ids[who], index === 0 ? caption : '', { name: names[who], file })
    },
    speak: (who, { ogg: bytes }) =>
      void fake.say(ids[who], '', { name: names[who], file: { name: '', bytes, mime: opus, isVoice: true } }),
    labels: (who = 'ann') => ours(who).flatMap(({ buttons }) => buttons.map(({ label }) => label)),
    press: async (who, label) => {
      const message = ours(who).findLast(({ buttons }) => buttons.some((one) => one.label === label))
      fake.press(ids[who], message?.id ?? '', label, { name: names[who] })
    },
    told: () => [],
    close: fake.close,
  }
}

async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}
