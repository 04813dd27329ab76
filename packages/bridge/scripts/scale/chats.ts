import type { FakeSlack } from '@reply/testing/slack'
import type { FakeTelegram } from '@reply/testing/telegram'
import type { Delivery } from './balancer.ts'

/** A message of the bot as its chat shows it. */
export interface ShownMessage {
  /** Unique among all chats of its platform. */
  readonly id: string
  readonly text: string
  readonly labels: readonly string[]
}

/** A chat between one person and the bot, the same for each platform. */
export interface Chat {
  readonly channel: 'tg' | 'slack'
  /** The person's id in a config: `tg:1`. */
  readonly person: string
  /** The chat's id with its channel: `slack:D000010`. */
  readonly key: string
  /** Whether its messages go to the real server. */
  readonly isReal: boolean
  /** Writes to the bot. */
  say(text: string): void
  /** Presses a button. Resolves with the notice for the person, empty without one, once the bot has answered or can't. */
  press(messageId: string, label: string): Promise<string>
  /** The bot's messages, oldest first, without drafts. */
  shown(): readonly ShownMessage[]
  /** Calls the observer after each change of the screen. */
  observe(observer: () => void): void
  /** Whether the platform sent a press on that message with this request. */
  isPress(delivery: Pick<Delivery, 'body'>, messageId: string): boolean
  /** Whether the platform sent such a message of the person with this request. */
  isMessage(delivery: Pick<Delivery, 'body'>, text: string): boolean
}

/** The part of all chats that is on Slack: its limit for posts of an app is 200 a minute, an eighth of Telegram's. */
const slackShare = 0.1

/** Returns that many chats. The first `real` ones, which are on Telegram, use the real server. */
export function createChats(
  platforms: { readonly telegram: FakeTelegram; readonly slack: FakeSlack },
  counts: { readonly all: number; readonly real: number },
): readonly Chat[] {
  const observers = new Map<string, () => void>()
  platforms.telegram.observe((chat) => observers.get(`tg:${chat}`)?.())
  platforms.slack.observe((channel) => observers.get(`slack:${channel.replace('D', 'U')}`)?.())
  return Array.from({ length: counts.all }, (_, index) => {
    const isReal = index < counts.real
    const isSlack = !isReal && index % Math.round(1 / slackShare) === 0
    const chat = isSlack ? slackChat(platforms.slack, index) : telegramChat(platforms.telegram, index + 1)
    return { ...chat, isReal, observe: (observer) => void observers.set(chat.person, observer) }
  })
}

type PlatformChat = Omit<Chat, 'isReal' | 'observe'>

function telegramChat(telegram: FakeTelegram, chat: number): PlatformChat {
  return {
    ...{ channel: 'tg', person: `tg:${chat}`, key: `tg:${chat}` },
    say: (text) => void telegram.say(chat, text),
    press: async (messageId, label) => (await telegram.press(chat, Number(messageId), label).settled).text ?? '',
    shown: () =>
      telegram.screen(chat).flatMap(({ from, isDraft, messageId, text, buttons }) => {
        if (from !== 'bot' || isDraft) return []
        return [{ id: String(messageId), text, labels: buttons.flat().map((button) => button.text) }]
      }),
    isPress: ({ body }, messageId) => body.includes('"callback_query"') && body.includes(`"message_id":${messageId},`),
    isMessage: ({ body }, text) =>
      body.includes('"message":') && body.includes(`"chat":{"id":${chat},`) && body.includes(`"text":"${text}"`),
  }
}

/** A direct message, where everything is in the thread of the first message. */
function slackChat(slack: FakeSlack, index: number): PlatformChat {
  const name = String(index).padStart(6, '0')
  const [channel, user] = [`D${name}`, `U${name}`]
  const from = { id: user, name: user }
  let threadTs: string | undefined
  return {
    ...{ channel: 'slack', person: `slack:${user}`, key: `slack:${channel}` },
    say: (text) => {
      const ts = slack.say(channel, text, { from, ...(threadTs !== undefined && { threadTs }) })
      threadTs ??= ts
    },
    press: async (messageId, label) => {
      const before = slack.whispers.length
      await slack.press(channel, messageId, label, { from })
      return slack.whispers.slice(before).find((whisper) => whisper.user === user)?.text ?? ''
    },
    shown: () =>
      slack.screen(channel).flatMap(({ from: author, ts, text, controls }) => {
        if (author !== 'bot') return []
        return [{ id: ts, text, labels: controls.flat().map((control) => control.label) }]
      }),
    isPress: ({ body }, messageId) => body.startsWith('payload=') && body.includes(messageId),
    isMessage: ({ body }, text) => body.includes(`"channel":"${channel}"`) && body.includes(`"text":"${text}"`),
  }
}
