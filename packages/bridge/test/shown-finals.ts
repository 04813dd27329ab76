import type { FakeTelegram } from '@reply/testing/telegram'

/** What became of one final on the screen of a chat. */
export interface ShownFinal {
  /** Whether a message shows it now. */
  readonly isShown: boolean
  /** How many messages showed it at any time, beyond the first. */
  readonly copies: number
  /** How many messages show it now, beyond the first. */
  readonly copiesNow: number
  /** How many messages showed it, and show an older text now. */
  readonly overwritten: number
  /** How many messages showed an older text between it and now. */
  readonly reverted: number
}

/** All that the bot's messages in some chats have shown. */
export interface ShownFinals {
  /** Returns the texts of the messages in a chat now. */
  now(chat: number): readonly string[]
  /** Whether a message in a chat shows this ending now. */
  has(chat: number, ending: string): boolean
  /** Returns what became of the final with this ending. */
  of(chat: number, ending: string): ShownFinal
}

/** Records every text of every message of the bot. */
export function createShownFinals(
  telegram: Pick<FakeTelegram, 'observe' | 'screen'>,
  chats: readonly number[],
): ShownFinals {
  /** By chat and message: its texts, oldest first. */
  const histories = new Map(chats.map((chat) => [chat, new Map<number, string[]>()]))
  const messages = (chat: number) => telegram.screen(chat).filter(({ from, isDraft }) => from === 'bot' && !isDraft)
  const now = (chat: number): readonly string[] => messages(chat).map(({ text }) => text)
  telegram.observe((chat) => {
    const history = histories.get(chat)
    for (const { messageId, text } of messages(chat)) {
      const earlier = history?.get(messageId) ?? []
      if (earlier.at(-1) !== text) history?.set(messageId, [...earlier, text])
    }
  })
  return {
    now,
    has: (chat, ending) => now(chat).some((one) => one.includes(ending)),
    of: (chat, ending) => {
      const ofMessages = [...(histories.get(chat)?.values() ?? [])].map((shown) =>
        shown.map((one) => one.includes(ending)),
      )
      const final = ofMessages.filter((one) => one.includes(true)).map((one) => one.slice(one.indexOf(true)))
      const showing = now(chat).filter((one) => one.includes(ending)).length
      return {
        isShown: showing > 0,
        copiesNow: Math.max(0, showing - 1),
        copies: Math.max(0, final.length - 1),
        overwritten: final.filter((one) => one.at(-1) === false).length,
        reverted: final.filter((one) => one.includes(false)).length,
      }
    },
  }
}
