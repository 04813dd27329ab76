import { REST } from '@discordjs/rest'
import { Client } from 'discord.js'
import { expect, test } from 'vitest'
import { type DiscordClient, type DiscordRest, discordRestOptions } from '../src/index.ts'

test("discord.js's clients are assignable to our types", () => {
  const client = new Client({ intents: [], rest: discordRestOptions })
  const hears: DiscordClient = client
  const writes: readonly DiscordRest[] = [new REST(discordRestOptions), client.rest]
  expect(hears.on).toBeTypeOf('function')
  expect(writes.map(({ post }) => typeof post)).toEqual(['function', 'function'])
})
