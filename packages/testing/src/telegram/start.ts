import type { Server } from 'node:http'
import { type Clock, realClock } from '../clock.ts'
import { TestingError } from '../error.ts'
import type { TelegramChat } from './chat.ts'
import { createFaultPlan, type TelegramFault } from './fault.ts'
import type { TelegramCommand } from './file.ts'
import { chatIn, createPerson, type Person } from './person.ts'
import { screenOf, type TelegramMessage } from './screen.ts'
import { createBotApi, type TelegramCall } from './server.ts'
import { createState, type TelegramFeatures } from './state.ts'

/** The bot, its chats, and what goes wrong. */
export interface TelegramOptions {
  /** The bot's token, such as "1234:abc": the number is the bot's id. */
  readonly token: string
  /** The clock for budgets, lifetimes, delays and long polls. Default: the system's. */
  readonly clock?: Clock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly TelegramFault[]
  /** The existing chats. Default: any id is a chat. */
  readonly chats?: readonly TelegramChat[]
  /** The features that an older server lacks. */
  readonly features?: TelegramFeatures
}

/** A Bot API server, and the people that the bot talks to. */
export interface FakeTelegram extends Person {
  /** The `apiRoot` for grammY. */
  readonly url: string
  /** The bot's token, as given. */
  readonly token: string
  /** Every call with the right token so far, in order of arrival, whatever the response. */
  readonly calls: readonly TelegramCall[]
  /** The number of calls of this method, whatever the response. */
  count(method: string): number
  /** What a person in the chat, or in one of its topics, sees now: messages in order, a live draft last. */
  screen(chatId: number, threadId?: number): readonly TelegramMessage[]
  /** How many of the bot's messages made a sound there. Drafts, edits and silent messages make none. */
  notifications(chatId: number): number
  /** The commands in the bot's menu. */
  readonly commands: readonly TelegramCommand[]
  /** Whether "typing…" shows there now, or in that topic. */
  typing(chatId: number, threadId?: number): boolean
  /** Adds a fault; it counts calls from now on. */
  inject(fault: TelegramFault): void
  /**
   * Calls the observer after each change of a chat, except for what fades by itself. Returns a function that stops it.
   */
  observe(observer: (chatId: number) => void): () => void
  /** Breaks open connections and stops listening. */
  close(): Promise<void>
}

/** Starts a fake Telegram on loopback. Several may run at once. */
export async function startTelegram(options: TelegramOptions): Promise<FakeTelegram> {
  const { token, clock = realClock, faults = [], chats, features } = options
  const calls: TelegramCall[] = []
  const observers = new Set<(chatId: number) => void>()
  const stops = new Set<() => void>()
  const plan = createFaultPlan(faults)
  const onChange = (chatId: number): void => {
    for (const observer of observers) observer(chatId)
  }
  const state = createState({ token, clock, chats, features, onChange })
  const server = createBotApi({ state, token, plan, calls, stops })
  const port = await listen(server)
  return {
    ...createPerson(state),
    url: `http://127.0.0.1:${port}`,
    token,
    calls,
    count: (method) => calls.filter((call) => call.method === method).length,
    screen: (chatId, threadId) => screenOf(chatIn(state, chatId), threadId, clock.now()),
    notifications: (chatId) => chatIn(state, chatId).loud,
    get commands() {
      return state.commands
    },
    typing: (chatId, threadId) => (chatIn(state, chatId).typingUntil.get(threadId) ?? 0) > clock.now(),
    inject: (fault) => plan.add(fault),
    observe: (observer) => {
      observers.add(observer)
      return () => observers.delete(observer)
    },
    close: () => {
      state.updates.close()
      state.webhook.close()
      state.presses.close()
      for (const stop of stops) stop()
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (address !== null && typeof address === 'object') resolve(address.port)
      else reject(new TestingError('telegram', 'The fake Telegram could not get a port on 127.0.0.1.'))
    })
  })
}
