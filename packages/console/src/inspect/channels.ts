import type { Clock } from '@reply/core'
import type { Chat, MessageRef, Policy } from '@reply/sink'
import type { ChannelPort, Render } from '@reply/sink/channel'

/** A channel on a platform that takes every call and does nothing. */
export interface InspectedChannel {
  readonly name: string
  /** For people. */
  readonly title: string
  /** Creates the real port of one chat. */
  open(chat: OpenChat): OpenedChat
}

/** One chat to open. */
export interface OpenChat {
  /** Counts the chats, from 1. */
  readonly number: number
  readonly clock: Clock
  /** Called for each call to the platform, with its name. */
  readonly onCall: (name: string) => void
}

/** A chat with what the channel's own sink passes to `createSink`. */
export interface OpenedChat {
  readonly port: ChannelPort
  readonly render: Render
  readonly chat: Chat
  readonly replyTo?: MessageRef | undefined
  readonly policy?: Partial<Policy> | undefined
}

/** Loads the channels whose packages are installed. */
export async function loadChannels(): Promise<readonly InspectedChannel[]> {
  const loaded = await Promise.all([telegram, slack, discord, whatsapp].map(ifInstalled))
  return loaded.flat()
}

async function ifInstalled(load: () => Promise<readonly InspectedChannel[]>): Promise<readonly InspectedChannel[]> {
  try {
    return await load()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return []
    throw error
  }
}

async function telegram(): Promise<readonly InspectedChannel[]> {
  const { createTelegramPort, renderFor } = await import('@reply/telegram/internal')
  const channel = (name: string, title: string, sign: 1 | -1): InspectedChannel => ({
    name,
    title,
    open: ({ number, clock, onCall }) => {
      let messages = 0
      const called = async (method: string): Promise<true> => {
        onCall(method)
        return true
      }
      const posted = async (method: string): Promise<{ message_id: number; date: number }> => {
        onCall(method)
        messages += 1
        return { message_id: messages, date: Math.floor(clock.now() / 1000) }
      }
      const api = {
        sendMessage: () => posted('sendMessage'),
        sendRichMessage: () => posted('sendRichMessage'),
        sendDocument: () => posted('sendDocument'),
        sendPhoto: () => posted('sendPhoto'),
        sendMediaGroup: async () => [await posted('sendMediaGroup')],
        editMessageText: () => called('editMessageText'),
        deleteMessage: () => called('deleteMessage'),
        sendChatAction: () => called('sendChatAction'),
        setMessageReaction: () => called('setMessageReaction'),
        sendMessageDraft: () => called('sendMessageDraft'),
        sendRichMessageDraft: () => called('sendRichMessageDraft'),
      }
      const chatId = sign * number
      return {
        port: createTelegramPort({ api, chatId, clock, inputFile: (_, filename) => ({ filename }) }),
        render: renderFor(api),
        chat: { id: String(chatId), kind: sign === 1 ? 'private' : 'shared' },
      }
    },
  })
  return [channel('telegram', 'Telegram', 1), channel('telegram-group', 'Telegram, group', -1)]
}

async function slack(): Promise<readonly InspectedChannel[]> {
  const { createSlackPort, renderSlack } = await import('@reply/slack/internal')
  const open = ({ number, clock, onCall }: OpenChat): OpenedChat => {
    let messages = 0
    const threadTs = `${Math.floor(clock.now() / 1000)}.000000`
    const channelId = `C${number}`
    const api = {
      apiCall: async (method: string) => {
        onCall(method)
        messages += 1
        return { ok: true, ts: `${Math.floor(clock.now() / 1000)}.${String(messages).padStart(6, '0')}` }
      },
    }
    const recipient = { userId: 'U1', teamId: 'T1' }
    return {
      port: createSlackPort({ api, channelId, threadTs, recipient, startsThreads: false, clock }),
      render: renderSlack,
      chat: { id: channelId, kind: 'shared', thread: threadTs },
      replyTo: { id: threadTs },
      policy: { delivery: 'native' },
    }
  }
  return [{ name: 'slack', title: 'Slack, thread', open }]
}

async function discord(): Promise<readonly InspectedChannel[]> {
  const { createDiscordPort, discordPolicy, renderDiscord } = await import('@reply/discord/internal')
  const open = ({ number, clock, onCall }: OpenChat): OpenedChat => {
    let messages = 0
    const called = (method: string) => async (route: string) => {
      messages += 1
      onCall(`${method} ${route.replaceAll(/\d{15,}/g, '…')}`)
      // Ids have the time in their upper bits. https://discord.com/developers/docs/reference#snowflakes
      return { id: String((BigInt(Math.max(0, clock.now() - 1_420_070_400_000)) << 22n) + BigInt(messages)) }
    }
    const rest = {
      post: called('POST'),
      put: called('PUT'),
      patch: called('PATCH'),
      delete: called('DELETE'),
      on: () => undefined,
    }
    const channelId = String(100_000_000_000_000_000n + BigInt(number))
    return {
      port: createDiscordPort({ rest, channelId, clock }),
      render: renderDiscord,
      chat: { id: channelId },
      policy: discordPolicy,
    }
  }
  return [{ name: 'discord', title: 'Discord', open }]
}

async function whatsapp(): Promise<readonly InspectedChannel[]> {
  const { cloudPolicy, createCloudPort, renderWhatsApp } = await import('@reply/whatsapp/internal')
  const open = ({ number, clock, onCall }: OpenChat): OpenedChat => {
    let messages = 0
    const to = String(number)
    const client = {
      phoneNumberId: '1',
      messages: async (message: Readonly<Record<string, unknown>>) => {
        onCall(`messages (${String(message.type ?? message.status)})`)
        messages += 1
        return { id: `wamid.${messages}`, at: clock.now() }
      },
      media: async () => {
        onCall('media')
        return 'media'
      },
    }
    return {
      port: createCloudPort({ client, to, replyTo: 'wamid.prompt', clock }),
      render: renderWhatsApp,
      chat: { id: to, kind: 'private' },
      policy: cloudPolicy,
    }
  }
  return [{ name: 'whatsapp', title: 'WhatsApp', open }]
}
