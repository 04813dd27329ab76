// A Discord bot: a message that names it is a prompt and gets a thread; questions are answered by buttons, dialogs or words, /stop aborts.
//   DISCORD_TOKEN=… DISCORD_USERS=123,456 OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/discord.ts
import { connect } from '@reply/core'
import { answerWith, discordChannel, discordRestOptions, type Inbound, type Running } from '@reply/discord'
import { Client, GatewayIntentBits } from 'discord.js'

const { DISCORD_TOKEN: token, DISCORD_USERS = '' } = process.env
if (!token) throw new Error("Set DISCORD_TOKEN to the token under Bot on the application's page.")

// These people can run commands on your computer; all others are ignored.
const users = new Set(DISCORD_USERS.split(','))
const opencode = connect({ onError: ({ message }) => console.error(message) })
const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits
const client = new Client({
  intents: [Guilds, GuildMessages, DirectMessages, MessageContent],
  rest: discordRestOptions,
})
const sessions = new Map<string, string>()
const running = new Map<string, Running>()
const answer = answerWith({
  opencode,
  running: ({ chat }) => [...running].flatMap(([id, one]) => (id === chat.id ? [one] : [])),
})

const channel = discordChannel({
  rest: client.rest,
  client,
  updates: 'gateway',
  onError: ({ message }) => console.error(message),
  onInbound: async (inbound) => {
    const { chat, actor } = inbound
    const mention = `<@${client.user?.id}>`
    // In its own threads and in direct messages every message counts, in a channel only a mention.
    const isOurs = sessions.has(chat.id) || running.has(chat.id) || chat.kind === 'private' || inbound.type !== 'text'
    if (!isOurs && !inbound.text.includes(mention)) return
    if (!users.has(actor.id)) return console.error(`${actor.id} (${actor.name}) is not in DISCORD_USERS.`)
    if (inbound.type === 'text' && inbound.text === '/stop') {
      const target = running.get(chat.id)?.stream ?? sessions.get(chat.id)
      if (target) await opencode.abort(target)
      return await inbound.answer(target ? 'Stopped.' : 'Nothing is running.')
    }
    if ((await answer(inbound)) || inbound.type !== 'text') return
    if (running.has(chat.id)) return await inbound.answer('Still working: wait, or send /stop.')
    await prompt(inbound, inbound.text.replaceAll(mention, '').trim(), isOurs)
  },
})

async function prompt(inbound: Extract<Inbound, { type: 'text' }>, text: string, isOurs: boolean) {
  const { chat, messageRef } = inbound
  // A thread has the id of its parent message.
  const thread = !isOurs && (await takesThreads(chat.id)) ? text.slice(0, 80) || 'OpenCode' : false
  const place = thread === false ? chat.id : messageRef.id
  // Only the person who prompted may answer the agent's questions.
  const sink = channel.sinkFor(inbound, { thread })
  const stream = opencode.prompt({ sessionID: sessions.get(place), text }, { observe: () => [sink] })
  running.set(place, { sink, stream })
  const { sessionID } = await stream.result
  running.delete(place)
  sessions.set(place, sessionID)
  const { undelivered } = await sink.settled()
  for (const { key, reason } of undelivered) console.error(`Not shown: ${key} (${reason})`)
}

/** In a direct message or an existing thread, replies in the same place. */
async function takesThreads(channelId: string): Promise<boolean> {
  const found = await client.channels.fetch(channelId)
  return found?.isDMBased() === false && !found.isThread()
}

channel.start()
await client.login(token)
console.error('Listening. Press Control-C to stop.')
process.once('SIGINT', async () => {
  await channel.stop()
  await client.destroy()
  await opencode.close()
})
