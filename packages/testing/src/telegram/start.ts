import { realClock, type TestClock } from '../clock.ts'
import { createCallLog } from '../platform/calls.ts'
import { createObservers, type FakeHttpPlatform } from '../platform/fake.ts'
import { createFakeServer } from '../platform/server.ts'
import type { TelegramChat } from './chat.ts'
import { matchesTelegram, type TelegramFault } from './fault.ts'
import type { TelegramCommand } from './file.ts'
import { createPeople, existingChat, type TelegramPeople } from './person.ts'
import { screenOf, type TelegramMessage } from './screen.ts'
import { createBotApi, type TelegramCall } from './server.ts'
import { createState, type TelegramFeatures } from './state.ts'

/** The bot, its chats, and the faults to start with. */
export interface TelegramOptions {
  /** The bot's token, for example "1234:abc". The number is the bot's id. */
  readonly token: string
  /** The clock for budgets, lifetimes, delays and long polls. Default: the system's. */
  readonly clock?: TestClock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly TelegramFault[]
  /** The existing chats. Default: any id is a chat. */
  readonly chats?: readonly TelegramChat[]
  /** The features that an older server lacks. */
  readonly features?: TelegramFeatures
}

/** A Bot API server, and the people that the bot talks to. */
export interface FakeTelegram
  extends TelegramPeople,
    FakeHttpPlatform<number, TelegramCall, TelegramFault, TelegramMessage> {
  /** The `apiRoot` for grammY. */
  readonly url: string
  /** The bot's token, as given. */
  readonly token: string
  /** The messages that a person in the chat, or in one of its topics, sees now, oldest first, and live drafts last. */
  screen(chatId: number, threadId?: number): readonly TelegramMessage[]
  /** The commands in the bot's menu. */
  readonly commands: readonly TelegramCommand[]
  /** Whether a poll of the bot waits for updates. */
  readonly isPolled: boolean
  /** Whether "typing…" shows there now, or in that topic. */
  typing(chatId: number, threadId?: number): boolean
}

/** Starts a fake Telegram on loopback. You can start several. */
export async function startTelegram(options: TelegramOptions): Promise<FakeTelegram> {
  const { token, clock = realClock, faults = [] } = options
  const log = createCallLog<TelegramCall, TelegramFault>(clock, faults, matchesTelegram)
  const { observe, changed } = createObservers<number>()
  const state = createState(options, clock, changed)
  const server = createFakeServer('telegram', createBotApi(state, token, log))
  await server.listen()
  return {
    ...createPeople(state),
    url: server.origin,
    token,
    calls: log.calls,
    count: (method) => log.calls.filter((call) => call.method === method).length,
    screen: (chatId, threadId) => screenOf(existingChat(state, chatId), threadId, clock.now()),
    notifications: (chatId) => existingChat(state, chatId).notifications,
    get commands() {
      return state.commands
    },
    get isPolled() {
      return state.updates.isPolled
    },
    typing: (chatId, threadId) => (existingChat(state, chatId).typingUntil.get(threadId) ?? 0) > clock.now(),
    inject: log.inject,
    observe,
    close: () => {
      state.updates.close()
      state.webhook.close()
      state.presses.close()
      log.close()
      return server.close()
    },
  }
}
