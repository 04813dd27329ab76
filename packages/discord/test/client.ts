import type { FakeDiscord } from '@reply/testing/discord'
import { Client, GatewayIntentBits } from 'discord.js'
import { afterEach } from 'vitest'
import { discordRestOptions } from '../src/index.ts'
import { token, until } from './bot.ts'

const clients: Client[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.destroy()))
})

const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits

/** The real discord.js. */
export function listening(
  { url: api }: FakeDiscord,
  intents = [Guilds, GuildMessages, DirectMessages, MessageContent],
): Client {
  const client = new Client({ intents, rest: { ...discordRestOptions, api } })
  clients.push(client)
  return client
}

/** The same, logged in. */
export async function logIn(client: Client): Promise<void> {
  await client.login(token)
  await until(() => client.isReady())
}
