import { startDiscord } from '@reply/testing/discord'
import { startSlack } from '@reply/testing/slack'
import { startTelegram } from '@reply/testing/telegram'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { startLinkedAccount } from './linked-account.ts'
import { linkedDeviceOn } from './linked-device.ts'
import { discordOn, type Platform, type PlatformName, slackOn, telegramOn, whatsappOn } from './platforms.ts'

/** What happens to a request. `taken 5xx`: it fails, and what was asked for is done. */
export const faults = ['wait', '5xx', 'taken 5xx', 'cut before', 'cut after', 'slow'] as const
type Fault = (typeof faults)[number]

/** A message as a person sees it. */
export interface Seen {
  readonly id: string
  readonly text: string
  readonly files: readonly Uint8Array[]
  /** The labels of its buttons, which stay on WhatsApp. */
  readonly buttons: readonly string[]
}

/** Which requests of a chat fail, and how. */
interface Failure {
  readonly fault: Fault
  /** Only those with files, or all that people see. */
  readonly only: 'files' | 'all'
  /** The first one that fails, from 1. */
  readonly nth: number
  /** How many fail. */
  readonly times: number
}

/** The failures that all platforms have. Undefined for those with an error of the platform's own. */
function connectionFault(fault: Fault) {
  if (fault === 'cut before') return { type: 'refuse' } as const
  if (fault === 'cut after') return { type: 'accept-then-drop' } as const
  return fault === 'slow' ? ({ type: 'delay', delayMs: 3000 } as const) : undefined
}

/** A chat with a person who is alone with the bot. */
export interface Chat {
  readonly platform: PlatformName
  /** How the platform calls it. */
  readonly id: string
  /** Writes to the bot, on Slack in the thread that the first message began. */
  say(text: string): void
  /** Presses a button of a message. Throws if the message has none with that label. */
  press(id: string, label: string): void
  /** The bot's messages, oldest first. */
  seen(): readonly Seen[]
  /** Lets requests fail from now on. */
  fail(failure: Failure): void
}

/** A fake platform with its chats. */
export interface Town {
  /** Its name in the config. Default: that of the platform. */
  readonly name?: string
  readonly platform: Platform
  readonly chats: readonly Chat[]
  /** The people of its chats. */
  readonly people: readonly string[]
  /** Calls the observer after each change of what people see. Returns a function that stops it. */
  observe(observer: () => void): () => void
  /** Grows with each request that changes what people see. */
  requests(): number
  /** How many requests failed so far. */
  failed(): number
}

const indexesOf = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

async function telegramTown(count: number): Promise<Town> {
  const ids = indexesOf(count).map((index) => 1000 + index)
  const chats = ids.map((id) => ({ id, type: 'private', title: 'Ann' }) as const)
  const fake = await startTelegram({ token: '42:secret', chats })
  return {
    platform: telegramOn(fake),
    people: ids.map(String),
    observe: fake.observe,
    requests: () => fake.calls.filter(({ method }) => /^(send(?!Chat)|edit|delete)/.test(method)).length,
    failed: () => fake.calls.filter(({ fault }) => fault !== undefined).length,
    chats: ids.map((id) => ({
      platform: 'telegram',
      id: String(id),
      say: (text) => void fake.say(id, text),
      seen: () =>
        fake
          .screen(id)
          .filter(({ from, isDraft }) => from === 'bot' && !isDraft)
          .map(({ messageId, text, photo, document, buttons }) => ({
            id: String(messageId),
            text,
            files: [photo, document].flatMap((one) => one?.bytes ?? []),
            buttons: buttons.flat().map((button) => button.text),
          })),
      press: (message, label) => void fake.press(id, Number(message), label),
      fail: ({ fault, only, nth, times }) => {
        const method = only === 'files' ? /^send(?:Photo|Document|MediaGroup)$/ : /^(?:send(?!Chat)|edit|delete)/
        const own =
          fault === 'wait'
            ? ({ type: 'rate-limited', retryAfterS: 2 } as const)
            : ({ type: 'status', code: 502, isTaken: fault === 'taken 5xx' } as const)
        fake.inject({ chatId: id, method, nth, times, ...(connectionFault(fault) ?? own) })
      },
    })),
  }
}

async function slackTown(count: number): Promise<Town> {
  const fake = await startSlack()
  return {
    platform: slackOn(fake),
    people: ['U1'],
    observe: fake.observe,
    requests: () => fake.calls.filter(({ method }) => /^(chat\.|files\.)/.test(method)).length,
    failed: () => fake.calls.filter(({ fault }) => fault !== undefined).length,
    chats: indexesOf(count).map((index) => {
      const id = `D${index + 1}`
      let root = ''
      return {
        platform: 'slack',
        id,
        say: (text) => {
          const ts = fake.say(id, text, root ? { threadTs: root } : {})
          root ||= ts
        },
        seen: () =>
          fake
            .screen(id)
            .filter(({ from }) => from === 'bot')
            .map(({ ts, text, files, controls }) => ({
              id: ts,
              text,
              files: files.map(({ bytes }) => bytes),
              buttons: controls.flat().map(({ label }) => label),
            })),
        press: (message, label) => void fake.press(id, message, label),
        fail: ({ fault, only, nth, times }) => {
          const to = only === 'files' ? { method: 'files.completeUploadExternal' } : { method: /^(?:chat|files)\./ }
          const own =
            fault === 'wait'
              ? ({ type: 'rate-limited', retryAfterS: 2 } as const)
              : ({ type: 'status', code: 502, isTaken: fault === 'taken 5xx' } as const)
          // The other calls for files don't name a channel.
          fake.inject({
            ...(only === 'files' && { channel: id }),
            ...to,
            nth,
            times,
            ...(connectionFault(fault) ?? own),
          })
        },
      }
    }),
  }
}

async function discordTown(count: number): Promise<Town> {
  const fake = await startDiscord({ token: 'MTA.very-secret-token' })
  return {
    platform: discordOn(fake),
    people: ['800000000000000001'],
    observe: fake.observe,
    requests: () => fake.calls.filter(({ name }) => /^(post|edit|remove)$/.test(name)).length,
    failed: () => fake.calls.filter(({ fault }) => fault !== undefined).length,
    chats: indexesOf(count).map((index) => {
      const id = `10000000000000000${index + 1}`
      return {
        platform: 'discord',
        id,
        say: (text) => void fake.say(id, text, { mention: true }),
        seen: () =>
          fake
            .screen(id)
            .filter(({ from }) => from === 'bot')
            .map(({ messageId, text, files, rows }) => ({
              id: messageId,
              text,
              files: files.map(({ bytes }) => bytes),
              buttons: rows.flat().flatMap((one) => (one.type === 'button' ? [one.label] : [])),
            })),
        press: (message, label) => void fake.press(id, message, label),
        fail: ({ fault, only, nth, times }) => {
          const own =
            fault === 'wait'
              ? ({ type: 'rate-limited', retryAfterS: 2 } as const)
              : ({ type: 'status', status: 502, isTaken: fault === 'taken 5xx' } as const)
          // A file is a post like a text.
          const to = { channelId: id, ...(only === 'files' && { call: 'post' as const }) }
          fake.inject({ ...to, nth, times, ...(connectionFault(fault) ?? own) })
        },
      }
    }),
  }
}

async function whatsappTown(count: number): Promise<Town> {
  const fake = await startWhatsApp({ token: 'EAA-very-secret' })
  const ids = indexesOf(count).map((index) => `1555000000${index + 1}`)
  return {
    platform: whatsappOn(fake),
    people: ids,
    observe: fake.observe,
    requests: () => fake.calls.filter(({ kind }) => !/^(typing|number)$/.test(kind)).length,
    failed: () => fake.calls.filter(({ fault }) => fault !== undefined).length,
    chats: ids.map((id, index) => ({
      platform: 'whatsapp',
      id,
      say: (text) => void fake.say(id, text),
      seen: () =>
        fake
          .screen(id)
          .filter(({ from }) => from === 'business')
          .map((one) => ({
            id: one.id,
            text: one.text,
            files: one.document ? [one.document.bytes] : [],
            buttons: one.buttons.map(({ label }) => label),
          })),
      press: (message, label) => void fake.press(id, message, label),
      fail: ({ fault, only, nth, times }) => {
        // Meta documents code 2 for an outage: nothing was done. So a request that was taken fails at a gateway, without such a code.
        const failed =
          fault === 'taken 5xx' ? { status: 502, code: 1, isTaken: true } : { status: 500, code: 2, isTaken: false }
        const own = fault === 'wait' ? ({ type: 'rate-limited' } as const) : ({ type: 'refused', ...failed } as const)
        // An upload names no person.
        const to = only === 'files' ? { kind: index % 2 === 0 ? ('image' as const) : ('media' as const) } : { to: id }
        fake.inject({ ...to, nth, times, ...(connectionFault(fault) ?? own) })
      },
    })),
  }
}

/** Starts a linked device of WhatsApp, which is in the bridge's process. Its account is in this one, and outlives that process. */
export async function startDeviceTown(count: number): Promise<Town> {
  const { account, env, close } = await startLinkedAccount()
  const jidOf = (number: string): string => `${number}@s.whatsapp.net`
  const numbers = indexesOf(count).map((index) => `1666000000${index + 1}`)
  const own: Readonly<Record<Fault, Parameters<typeof account.inject>[0]>> = {
    wait: { type: 'refused', statusCode: 429 },
    '5xx': { type: 'silent' },
    'taken 5xx': { type: 'silent', isTaken: true },
    'cut before': { type: 'drop' },
    'cut after': { type: 'accept-then-drop' },
    slow: { type: 'stall' },
  }
  return {
    name: 'device',
    platform: { ...linkedDeviceOn(account), secrets: env, close },
    people: numbers.map(jidOf),
    observe: account.observe,
    requests: () => account.calls.filter(({ kind }) => kind !== 'typing' && kind !== 'read').length,
    failed: () => account.calls.filter(({ fault }) => fault !== undefined).length,
    chats: numbers.map((number, index) => ({
      platform: 'whatsapp',
      id: number,
      say: (text) => void account.say(jidOf(number), text),
      seen: () =>
        account
          .screen(jidOf(number))
          .filter(({ from }) => from === 'me')
          .map(({ id, text, document, picture }) => ({
            ...{ id, text, buttons: [] },
            files: [document, picture].flatMap((one) => one?.bytes ?? []),
          })),
      press: () => {
        throw new Error('A linked device has no buttons.')
      },
      fail: ({ fault, only, nth, times }) => {
        // A fault names no chat.
        const kind = index % 2 === 0 ? ('image' as const) : ('document' as const)
        account.inject({ ...own[fault], ...(only === 'files' && { kind }), nth, times })
      },
    })),
  }
}

/** Starts all platforms whose fakes take requests over the network, each with that many chats. */
export async function startTowns(chats: number): Promise<readonly Town[]> {
  return await Promise.all([telegramTown, slackTown, discordTown, whatsappTown].map((start) => start(chats)))
}
