import { startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { readEntities } from '../entities.ts'
import { people } from '../people.ts'
import { readRich } from '../rich.ts'
import type { MessageView } from '../view.ts'
import { type Chat, type ChatOptions, createMemory } from './chat.ts'

const group = -100_777
const token = '42:demo'
/** The name of the fake's bot. In a group, it only gets messages that mention it. */
const bot = '@fake_bot'

/** Starts a fake Telegram with a group that the bot and both people are in. Each message and command there names the bot. */
export async function telegramChat({ now }: ChatOptions): Promise<Chat> {
  const telegram = await startTelegram({ token, chats: [{ id: group, type: 'supergroup', title: 'Shop team' }] })
  const memory = createMemory(now)
  const fromOf = ({ name, number }: { readonly name: string; readonly number: number }) => ({
    from: { id: number, name },
  })
  const say: Chat['say'] = (person, text) => {
    const isCommand = /^\/\w+/.test(text)
    const message = isCommand ? text.replace(/^\/\w+/, (name) => `${name}${bot}`) : `${bot} ${text}`
    memory.wrote(String(telegram.say(group, message, fromOf(person))), person)
  }
  return {
    name: 'telegram',
    channel: { type: 'telegram', token: { env: 'TELEGRAM' }, apiRoot: telegram.url, updates: 'polling' },
    secrets: { TELEGRAM: token },
    load: async () => (await import('@reply/telegram/bridge')).bridgeChannel,
    accountOf: ({ number }) => String(number),
    members: people,
    look: () => ({
      platform: 'telegram',
      title: 'Shop team',
      messages: telegram.screen(group).map(viewOf),
      status: telegram.typing(group) ? 'reply is typing …' : '',
      threads: [],
      dialogs: [],
    }),
    say,
    press: async (person, messageId, label) => {
      const { text } = await telegram.press(group, Number(messageId), label, fromOf(person)).settled
      return text === '' ? undefined : text
    },
    submit: async () => {},
    stop: async (person) => say(person, '/stop'),
    observe: (listener) => telegram.observe(listener),
    connected: async () => {},
    close: telegram.close,
  }

  /** Returns a message as the page shows it. A draft has an id of its own, because its message later has the same number. */
  function viewOf(message: TelegramMessage): MessageView {
    const { messageId, from, text, entities, mode, rich, buttons, document, isDraft, editedTimes, isSilent } = message
    const id = isDraft ? `draft-${messageId}` : String(messageId)
    const isBot = from === 'bot'
    return {
      id,
      author: isBot ? 'reply' : memory.authorOf(id),
      isBot,
      at: memory.atOf(id),
      body: mode === 'rich' ? readRich(rich) : readEntities(text, entities),
      tasks: [],
      rows: buttons.map((row) => row.map((button) => ({ label: button.text, style: 'plain', options: [] }))),
      file: document && { name: document.name, bytes: document.bytes.length },
      reactions: message.reactions,
      notes: [...(editedTimes > 0 ? ['edited'] : []), ...(isBot && isSilent && !isDraft ? ['silent'] : [])],
      isLive: isDraft,
    }
  }
}
