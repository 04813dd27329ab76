import type { Allowance } from '../platform/budget.ts'

/**
 * Telegram's limits. [docs] is in the Bot API's pages or its FAQ. [measured] was measured by others, and Telegram
 * doesn't state it. [chosen] is our own number, because none is known.
 */
export const limits = {
  /** UTF-16 units after parsing. [docs] */
  text: 4096,
  /**
   * Entities of a message. Further ones are dropped. [measured] https://github.com/rubenlagus/TelegramBots/issues/854
   */
  entities: 100,
  /** UTF-16 units after parsing. [docs] */
  caption: 1024,
  /** Code points ("UTF-8 characters") of a rich message. [docs] */
  richText: 32_768,
  /** Blocks of a rich message, nested ones, list items and table rows included. [docs] */
  richBlocks: 500,
  /** Columns of a table in a rich message. [docs] */
  richColumns: 20,
  /** Elements of a rich message in each other. [docs] */
  richDepth: 16,
  /** Bytes. [docs] */
  callbackData: 64,
  /** UTF-16 units of the notice that answers a press. [docs] */
  callbackText: 200,
  /** Bytes. [docs] */
  document: 50 * 1024 * 1024,
  photo: 10 * 1024 * 1024,
  /** Files of an album. [docs] */
  album: 10,
  /** Bytes of a file that a bot downloads. [docs] */
  download: 20_000_000,
  /** Reactions of a bot on one message. [docs] */
  reactions: 1,
  /**
   * Sends, edits and drafts to one chat together. "More than one message per second" brings 429s "eventually" [docs].
   * Short bursts pass [measured].
   */
  chat: { count: 3, perMs: 3000 },
  /** The additional limit in a group: 20 per minute. [docs] */
  group: { count: 20, perMs: 60_000 },
  /** Sends, edits and drafts to all chats together. [docs] */
  bot: { count: 30, perMs: 1000 },
  /** `sendChatAction` to one chat: doesn't count as a message. [chosen] */
  typing: { count: 5, perMs: 5000 },
  /** How long "typing…" shows. [docs] */
  typingMs: 5000,
  /** How long a draft shows after its last change. [docs] */
  draftMs: 30_000,
  /** How long a press can be answered. [measured] */
  pressMs: 15_000,
  /** How old a message may be to be deleted. [docs] */
  deleteMs: 48 * 60 * 60 * 1000,
  /** Updates of one `getUpdates`. [docs] */
  updates: 100,
  /** Requests to a webhook at the same time, unless `max_connections` says another number. [docs] */
  webhookConnections: 40,
  /**
   * How soon after a conflict another one is answered late, and how late. `Client::fail_query_conflict` in
   * https://github.com/tdlib/telegram-bot-api
   */
  conflictMs: 3000,
  /**
   * Delay between two webhook attempts, doubled each time. Telegram tries "a reasonable amount" [docs] of times,
   * [chosen].
   */
  webhook: { firstMs: 1000, longestMs: 60_000, attempts: 10 },
} as const satisfies Record<string, number | Allowance | Readonly<Record<string, number>>>

/** The emoji that a bot may react with. [docs] ✅ is not among them. */
export const reactionEmoji: ReadonlySet<string> = new Set(
  '👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡'.split(
    ' ',
  ),
)
