import { startDiscord } from '@reply/testing/discord'
import { expect, test } from 'vitest'
import { startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { discordOn } from './platforms.ts'

test('a thread on Discord is a place with a session of its own', async () => {
  const [channel, thread] = ['100000000000000001', '100000000000000013'] as const
  const discord = await startDiscord({
    token: 'MTA.very-secret-token',
    channels: [
      { id: channel, kind: 'text' },
      { id: thread, kind: 'thread', parentId: channel },
    ],
  })
  const agent = localAgent((run, text) => answer(run, `${text} in ${run.sessionID}`))
  const chats = await startChats({ platforms: [discordOn(discord)], connectTo: agent.connectTo })
  await chats.start()
  const said = (id: string): readonly string[] =>
    discord.screen(id).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
  discord.say(channel, 'one', { mention: true })
  await expect.poll(() => said(channel).at(-1)).toBe('one in ses_1')
  // A thread that the bot is not in yet.
  discord.say(thread, 'not heard')
  discord.say(thread, 'two', { mention: true })
  await expect.poll(() => said(thread).at(-1)).toBe('two in ses_2')
  // In the channel, people talk to each other.
  discord.say(channel, 'not heard')
  // In a thread that the bot answered in, they talk to it.
  discord.say(thread, 'three')
  await expect.poll(() => said(thread).at(-1)).toBe('three in ses_2')
  discord.say(channel, 'four', { mention: true })
  await expect.poll(() => said(channel).at(-1)).toBe('four in ses_1')
  await chats.stop()
  await chats.start()
  discord.say(channel, 'not heard')
  discord.say(thread, 'five')
  await expect.poll(() => said(thread).at(-1)).toMatch(/^five in /)
  expect(agent.heard).toEqual(['one', 'two', 'three', 'four', 'five'])
  expect(chats.errors).toEqual([])
  await chats.close()
})

test('a thread that the bot itself began is heard without a mention from the first mention in it on', async () => {
  const channel = '100000000000000001'
  const token = 'MTA.very-secret-token'
  const discord = await startDiscord({ token, channels: [{ id: channel, kind: 'text' }] })
  const agent = localAgent((run, text) => answer(run, `${text} in ${run.sessionID}`))
  const chats = await startChats({ platforms: [discordOn(discord)], connectTo: agent.connectTo })
  await chats.start()
  discord.say(channel, 'one', { mention: true })
  const ours = () => discord.screen(channel).findLast(({ text }) => text === 'one in ses_1')
  await expect.poll(ours).toBeDefined()
  const thread = ours()?.messageId ?? ''
  const made = await fetch(`${discord.url}/v10/channels/${channel}/messages/${thread}/threads`, {
    method: 'POST',
    headers: { authorization: `Bot ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'More of it' }),
  })
  expect(made.ok).toBe(true)
  const said = (): string | undefined => discord.screen(thread).findLast(({ from }) => from === 'bot')?.text
  discord.say(thread, 'not heard')
  discord.say(thread, 'two', { mention: true })
  await expect.poll(said).toBe('two in ses_2')
  discord.say(thread, 'three')
  await expect.poll(said).toBe('three in ses_2')
  expect(agent.heard).toEqual(['one', 'two', 'three'])
  expect(chats.errors).toEqual([])
  await chats.close()
})
