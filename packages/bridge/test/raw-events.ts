import { systemClock } from '@reply/core'
import { startDiscord } from '@reply/testing/discord'
import { slackHeaders } from '@reply/testing/internal'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { discordOn, type Platform, shop, slackOn, telegramOn, whatsappOn } from './platforms.ts'

/** A platform that can be made to send anything. */
export interface RawPlatform {
  readonly platform: Platform
  /** What the platform sends for a message of a person who is not in the config. Each id is another message. */
  event(id: number, text: string): object
  /** Sends that body to the bridge. Resolves with the status; undefined where nothing answers. */
  deliver(body: string): Promise<number | undefined>
}

export const rawNames = [
  'Telegram, polled',
  'Telegram, by webhook',
  'Slack, by webhook',
  'Slack, by socket',
  "Discord's gateway",
  'WhatsApp, by webhook',
] as const

export async function startRaw(name: (typeof rawNames)[number]): Promise<RawPlatform> {
  switch (name) {
    case 'Telegram, polled':
      return await polledTelegram()
    case 'Telegram, by webhook':
      return await hookedTelegram()
    case 'Slack, by webhook':
      return await slack()
    case 'Slack, by socket':
      return await slackSocket()
    case "Discord's gateway":
      return await discord()
    case 'WhatsApp, by webhook':
      return await whatsapp()
  }
  return name satisfies never
}

const seconds = (): number => Math.floor(Date.now() / 1000)

const telegramMessage = (id: number, text: string): object => ({
  ...{ message_id: 100_000 + id, date: seconds(), text, entities: [{ type: 'mention', offset: 0, length: 9 }] },
  ...{ chat: { id: shop, type: 'supergroup', title: 'Shop' }, from: { id: 99, is_bot: false, first_name: 'Eve' } },
})

async function polledTelegram(): Promise<RawPlatform> {
  const fake = await startTelegram({ token: '42:secret', chats: [{ id: shop, type: 'supergroup', title: 'Shop' }] })
  return {
    platform: telegramOn(fake),
    event: (id, text) => telegramMessage(id, `@fake_bot ${text}`),
    // The fake gives each update its id.
    deliver: async (body) => {
      fake.push('message', parsed(body))
      return undefined
    },
  }
}

async function hookedTelegram(): Promise<RawPlatform> {
  const fake = await startTelegram({ token: '42:secret', chats: [{ id: shop, type: 'supergroup', title: 'Shop' }] })
  const secret = 'a-secret_1'
  const headers = { 'x-telegram-bot-api-secret-token': secret }
  const inner = telegramOn(fake)
  let hook = ''
  return {
    platform: {
      ...inner,
      secrets: { ...inner.secrets, HOOK: secret },
      entry: { ...inner.entry, updates: 'webhook', secretToken: { env: 'HOOK' } },
      ready: async (url) => {
        hook = url
        const body = JSON.stringify({ url, secret_token: secret })
        const json = { 'content-type': 'application/json' }
        await fetch(`${fake.url}/bot42:secret/setWebhook`, { method: 'POST', headers: json, body })
      },
    },
    event: (id, text) => ({ update_id: id, message: telegramMessage(id, `@fake_bot ${text}`) }),
    deliver: async (body) => await post(hook, body, headers),
  }
}

async function slack(): Promise<RawPlatform> {
  const fake = await startSlack()
  const { signingSecret } = fake
  const inner = slackOn(fake)
  let hook = ''
  return {
    platform: {
      ...inner,
      secrets: { ...inner.secrets, SIGNING: signingSecret },
      entry: {
        type: 'slack',
        token: { env: 'TOKEN_SLACK' },
        events: 'http',
        signingSecret: { env: 'SIGNING' },
        apiUrl: fake.url,
      },
      ready: async (url) => {
        hook = url
        fake.sendTo(url)
      },
    },
    event: slackEvent(fake),
    deliver: async (body) => await post(hook, body, slackHeaders(body, signingSecret, systemClock)),
  }
}

function slackEvent({ team, bot }: { readonly team: string; readonly bot: string }): RawPlatform['event'] {
  return (id, text) => ({
    ...{ type: 'event_callback', event_id: `Ev${id}`, team_id: team, api_app_id: 'A0FAKE' },
    event: {
      ...{ type: 'message', channel: 'C1', channel_type: 'channel' },
      ts: `${seconds()}.${String(id).padStart(6, '0')}`,
      ...{ text: `<@${bot}> ${text}`, user: 'U99' },
    },
  })
}

async function slackSocket(): Promise<RawPlatform> {
  const fake = await startSlack()
  const event = slackEvent(fake)
  let id = 0
  return {
    platform: slackOn(fake),
    event: (id, text) => fieldsIn(event(id, text), 'event'),
    deliver: async (body) => {
      id += 1
      const payload = `{"type":"event_callback","event_id":"Ev${id}","event":${body}}`
      fake.pushFrame(`{"envelope_id":"E${id}","type":"events_api","payload":${payload}}`)
      return undefined
    },
  }
}

async function discord(): Promise<RawPlatform> {
  const fake = await startDiscord({ token: 'MTA.very-secret-token' })
  return {
    platform: discordOn(fake),
    event: (id, text) => ({
      ...{ id: String(1_500_000_000_000_000_000n + BigInt(id)), type: 0, channel_id: '100000000000000001' },
      ...{ channel_type: 0, guild_id: '900000000000000001', content: text, attachments: [], mentions: [] },
      author: { id: '800000000000000099', username: 'eve', global_name: 'Eve' },
    }),
    deliver: async (body) => {
      fake.pushFrame(`{"op":0,"t":"MESSAGE_CREATE","s":null,"d":${body}}`)
      return undefined
    },
  }
}

function fieldsIn(event: object, name: string): object {
  const inner: unknown = Reflect.get(event, name)
  return typeof inner === 'object' && inner !== null ? inner : {}
}

async function whatsapp(): Promise<RawPlatform> {
  const fake = await startWhatsApp({ token: 'EAA-very-secret' })
  const inner = whatsappOn(fake)
  let hook = ''
  return {
    platform: {
      ...inner,
      ready: async (url) => {
        hook = url
        await inner.ready(url)
      },
    },
    event: (id, text) => {
      const from = '15550000099'
      const messages = [{ from, id: `wamid.${id}`, timestamp: String(seconds()), type: 'text', text: { body: text } }]
      const metadata = { display_phone_number: '15550001111', phone_number_id: fake.phoneNumberId }
      const contacts = [{ profile: { name: 'Eve' }, wa_id: from }]
      const change = { field: 'messages', value: { messaging_product: 'whatsapp', metadata, contacts, messages } }
      return { object: 'whatsapp_business_account', entry: [{ id: '1', changes: [change] }] }
    },
    deliver: async (body) => await post(hook, body, { 'x-hub-signature-256': fake.sign(Buffer.from(body)) }),
  }
}

async function post(url: string, body: string, headers: object): Promise<number> {
  const json = { 'content-type': 'application/json', ...headers }
  const response = await fetch(url, { method: 'POST', headers: json, body: Buffer.from(body) })
  await response.arrayBuffer()
  return response.status
}

/** Telegram's server sends JSON alone. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}
