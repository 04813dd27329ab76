import { type DiscordMessage, startDiscord } from '@reply/testing/discord'
import { readDiscordMarkdown } from '../markdown.ts'
import { type Person, people } from '../people.ts'
import type { ControlView, MessageView } from '../view.ts'
import { type Chat, type ChatOptions, createMemory } from './chat.ts'
import { untilTrue } from './until-true.ts'

const channel = '700000000000000001'
const token = 'discord-demo'
/** Discord's numbers of a button's colours. https://discord.com/developers/docs/components/reference#button */
const styles: Readonly<Record<number, ControlView['style']>> = { 1: 'primary', 3: 'primary', 4: 'danger' }

/** Starts a fake Discord with a channel that the bot and both people are in. Each message there mentions the bot. */
export async function discordChat({ now }: ChatOptions): Promise<Chat> {
  const discord = await startDiscord({ token, channels: [{ id: channel, kind: 'text', name: 'shop' }] })
  const memory = createMemory(now)
  const say: Chat['say'] = (person, text) =>
    memory.wrote(discord.say(channel, text, { from: fromOf(person), mention: true }), person)
  return {
    name: 'discord',
    channel: { type: 'discord', token: { env: 'DISCORD' }, apiUrl: discord.url },
    secrets: { DISCORD: token },
    load: async () => (await import('@reply/discord/bridge')).bridgeChannel,
    accountOf: (person) => fromOf(person).id,
    members: people,
    look: () => ({
      platform: 'discord',
      title: '#shop',
      messages: discord.screen(channel).map(viewOf),
      status: discord.typing(channel) ? 'reply is typing …' : '',
      threads: [],
      dialogs: [],
    }),
    say,
    press: async (person, messageId, label) => {
      discord.press(channel, messageId, label, { from: fromOf(person) })
      return undefined
    },
    submit: async () => {},
    stop: async (person) => say(person, '/stop'),
    observe: (listener) => void discord.observe(listener),
    connected: () => untilTrue(() => discord.connected > 0),
    close: discord.close,
  }

  /** Returns a message as the page shows it, with only the first of its files. */
  function viewOf(message: DiscordMessage): MessageView {
    const { messageId: id, from, source, rows, files, editedTimes, isSilent } = message
    const [file] = files
    return {
      id,
      author: from === 'bot' ? 'reply' : memory.authorOf(id),
      isBot: from === 'bot',
      at: memory.atOf(id),
      body: readDiscordMarkdown(named(source)),
      tasks: [],
      rows: rows.map((row) => row.map(controlOf)),
      file: file && { name: file.name, bytes: file.bytes.length },
      reactions: message.reactions,
      notes: [...(editedTimes > 0 ? ['edited'] : []), ...(from === 'bot' && isSilent ? ['silent'] : [])],
      isLive: false,
    }
  }
}

/** Returns a button or select as the page shows it. A link has the plain style. */
function controlOf(component: DiscordMessage['rows'][number][number]): ControlView {
  if (component.type === 'select')
    return { label: 'Choose', style: 'plain', options: component.options.map(({ label }) => label) }
  const style = component.type === 'button' ? (styles[component.style] ?? 'plain') : 'plain'
  return { label: component.label, style, options: [] }
}

/** Returns a text with names in place of mentions' ids. Every unknown id is the bot's. */
function named(text: string): string {
  return text.replaceAll(/<@(\d+)>/g, (_, id) => `@${people.find((one) => fromOf(one).id === id)?.name ?? 'reply'}`)
}

/** Returns the account of a person. */
function fromOf({ name, number }: Person) {
  return { id: `80000000000000000${number}`, name }
}
