import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, connect, type ReplyStream, textOf } from '@reply/core'
import type { Sink } from '@reply/sink'
import { answerWith, type Inbound } from '@reply/sink'
import {
  callTool,
  holdAnswer,
  launchOpencode,
  type OpencodeServer,
  type ScriptedModel,
  type Scripts,
  sayText,
  scenarioToken,
  startModel,
} from '@reply/testing'
import { type DiscordMessage, type FakeDiscord, startDiscord } from '@reply/testing/discord'
import { Client as DiscordClient, GatewayIntentBits } from 'discord.js'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type DiscordChannel, type DiscordSinkOptions, discordChannel, discordRestOptions } from '../src/index.ts'
import { token } from './bot.ts'

const paragraph = (count: number): string =>
  `Paragraph ${count} is **long** enough to be read, with \`code_${count}\` in it, @everyone.\n\n- one of ${count}\n- two of ${count}\n\n`
const long = Array.from({ length: 225 }, (_, index) => paragraph(index + 1)).join('')

const option = (label: string) => ({ label, description: `It is ${label}` })
const questions = [
  { header: 'Colour', question: 'Which colour?', options: [option('Red'), option('Blue')] },
  {
    header: 'Toppings',
    question: 'What goes on top?',
    multiple: true,
    options: ['Cheese', 'Onions', 'Olives'].map(option),
  },
]
const scripts: Scripts = {
  questions: { steps: [[sayText('Let me ask.'), callTool('question', { questions })], [sayText('As you like.')]] },
  agent: {
    steps: [
      [
        sayText('I delegate this.'),
        callTool('task', {
          description: 'Touch it',
          prompt: `Do it. ${scenarioToken('agent/child')}`,
          subagent_type: 'general',
        }),
      ],
      [sayText('It was done.')],
    ],
  },
  'agent/child': {
    steps: [[callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })], [sayText('Touched.')]],
  },
  denied: {
    steps: [
      [sayText('I touch it.'), callTool('bash', { command: 'touch never.txt', description: 'Touch' })],
      [sayText('Not so.')],
    ],
  },
  forever: { steps: [[sayText('This never ends, and goes on. '), holdAnswer('forever'), sayText('never.')]] },
  long: { steps: [[sayText(long, 150)]] },
}

const channels = [1, 2, 3, 4, 5, 6].map((count) => ({ id: `10000000000000000${count}` }))
const ids = channels.map(({ id }) => id)
const person = { id: '800000000000000005', name: 'Ada' }
let model: ScriptedModel
let server: OpencodeServer
let opencode: Client
let discord: FakeDiscord
let client: DiscordClient
let channel: DiscordChannel
let answer: (inbound: Inbound) => Promise<boolean>
const running = new Map<string, { readonly sink: Sink; readonly stream: ReplyStream }>()
const errors: Error[] = []
/** On a busy machine every reply takes long and would otherwise end with a message about its duration. */
const policy = { notifyAfterMs: 86_400_000 }
const inThread: Partial<DiscordSinkOptions> = {
  thread: 'Asked on Discord',
  policy: { ...policy, verbosity: 'verbose' },
}

beforeAll(async () => {
  model = await startModel({ scripts, fallback: 'long' })
  server = await launchOpencode({ model, config: { permission: { bash: { '*': 'allow', 'touch *': 'ask' } } } })
  opencode = connect({ url: server.url, directory: server.directory, onError: (error) => errors.push(error) })
  discord = await startDiscord({ token, channels })
  answer = answerWith({
    client: opencode,
    running: ({ chat }) => [...running].flatMap(([id, one]) => (id === chat.id ? [one] : [])),
  })
  const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits
  const intents = [Guilds, GuildMessages, MessageContent]
  client = new DiscordClient({ intents, rest: { ...discordRestOptions, api: discord.url } })
  channel = discordChannel({
    rest: client.rest,
    client,
    updates: 'gateway',
    onInbound,
    policy,
    onError: (error) => errors.push(error),
  })
  channel.start()
  await client.login(token)
})
afterAll(async () => {
  await channel.stop()
  await client.destroy()
  await discord.close()
  await opencode.close()
  await server.stop()
  await model.close()
})

/** The host: each text is an answer or a prompt. Ignores everyone but Ada. */
async function onInbound(inbound: Inbound): Promise<void> {
  if (inbound.actor.id !== person.id) return
  if (inbound.type === 'text' && inbound.text === '/stop') {
    await running.get(inbound.chat.id)?.stream.abort()
    return
  }
  if ((await answer(inbound)) || inbound.type !== 'text') return
  const isThread = inbound.chat.id === ids[2]
  const sink = channel.sinkFor(inbound, isThread ? inThread : {})
  const stream = opencode.prompt({ text: inbound.text }, { observe: () => [sink] })
  running.set(isThread ? inbound.messageRef.id : inbound.chat.id, { sink, stream })
}

const ours = (id: string): readonly DiscordMessage[] => discord.screen(id).filter(({ from }) => from === 'bot')

/** Waits until the channel's screen meets the condition. */
function seen<T>(id: string, find: (screen: readonly DiscordMessage[]) => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found =
        discord.threads(ids[2] ?? '').some((one) => one.id === id) || ids.includes(id) ? find(ours(id)) : undefined
      if (found === undefined) return
      stop()
      resolve(found)
    }
    const stop = discord.observe(() => queueMicrotask(look))
    look()
  })
}

const asking = (screen: readonly DiscordMessage[]): DiscordMessage | undefined =>
  screen.find(({ rows }) => rows.length > 0)

/** Waits for the reply and its delivery, and checks that no text is missing. */
async function end(id: string) {
  const one = await vi.waitFor(() => running.get(id) ?? expect.fail(), 60_000)
  const reply = await one.stream.result
  const delivery = await one.sink.settled()
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0, rateLimited: 0 })
  return { reply, screen: ours(id) }
}

/** Without the line about changed files: the server also counts what the runs beside this one write in the same folder. */
const withoutChanges = (text: string): string => text.replace(/\n*^\d+ files?(?: · .*)?$/mu, '')

const letters = (words: string): string => withoutChanges(words).replace(/[^\p{L}\p{N}]/gu, '')

// Concurrent, each in its own channel: most of the time is waiting for Discord's rate limits.
test.concurrent('two questions, one with several answers, are answered in one dialog', async () => {
  const id = ids[0] ?? ''
  discord.say(id, `Go. ${scenarioToken('questions')}`, { from: person })
  const ask = await seen(id, asking)
  const stranger = await discord.press(id, ask.messageId, 'Answer …').settled
  expect([stranger.status, stranger.modal]).toEqual(['deferred', undefined])
  const opened = await discord.press(id, ask.messageId, 'Answer …', { from: person }).settled
  expect(opened.modal?.fields.map(({ label, type }) => [label, type])).toEqual([
    ['Colour', 'select'],
    ['✎ Colour', 'text'],
    ['Toppings', 'select'],
    ['✎ Toppings', 'text'],
  ])
  const submitted = await discord.submit(opened, { Colour: 'Blue', Toppings: ['Cheese', 'Olives'] }).settled
  expect(submitted.texts).toEqual([expect.stringContaining('Blue, Cheese, Olives')])
  const { reply, screen } = await end(id)
  expect(reply.asks).toMatchObject([{ status: 'answered', answers: [['Blue'], ['Cheese', 'Olives']] }])
  const late = await discord.submit(opened, { Colour: 'Red', Toppings: ['Onions'] }).settled
  expect(late.texts).toEqual(['This was already resolved: ✅ Blue, Cheese, Olives · Ada'])
  expect(screen.every(({ rows }) => rows.length === 0)).toBe(true)
  expect(withoutChanges(screen.at(-1)?.text ?? '')).toBe('As you like.')
})

test.concurrent("a sub-agent's permission is allowed by a button", async () => {
  const id = ids[1] ?? ''
  discord.say(id, `Go. ${scenarioToken('agent')}`, { from: person })
  const ask = await seen(id, asking)
  expect([ask.text, ask.isSilent]).toEqual([expect.stringContaining('touch asked-for.txt'), false])
  const other = ids[5] ?? ''
  const components = ask.rows.map((row) => ({
    ...{
      type: 1,
      components: row.map((each) => ({ type: 2, style: 2, label: 'Yes', custom_id: each.customId })).slice(0, 1),
    },
  }))
  await client.rest.post(`/channels/${other}/messages`, {
    body: { content: 'Of another channel', components, flags: 4096 },
  })
  const foreign = await discord.press(other, ours(other)[0]?.messageId ?? '', 'Yes', { from: person }).settled
  expect(foreign.texts).toEqual([expect.stringContaining('No request is waiting')])
  const presses = ['Allow once', 'Reject'].map(
    (label) => discord.press(id, ask.messageId, label, { from: person }).settled,
  )
  const texts = (await Promise.all(presses)).map((press) => press.texts)
  expect(texts).toEqual([[expect.stringContaining('once')], [expect.stringMatching(/^This was already resolved/)]])
  const { reply, screen } = await end(id)
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I delegate this.\n\nIt was done.'])
  expect(existsSync(join(server.directory, 'asked-for.txt'))).toBe(true)
  expect(letters(screen.map((one) => one.text).join(''))).toMatch(/^Idelegatethis.*once.*Itwasdone$/)
})

test.concurrent('in a thread, a permission rejected by a text is struck through', async () => {
  const messageId = discord.say(ids[2] ?? '', `Go. ${scenarioToken('denied')}`, { from: person })
  const ask = await seen(messageId, asking)
  // A message can be answered once the sink knows that it was posted; this test is faster than any person.
  const refusal = { text: 'no, not that', replyTo: { id: ask.messageId }, chat: { id: messageId } }
  await vi.waitFor(async () => {
    const taken = await running.get(messageId)?.sink.readAnswer(refusal, person)
    taken?.undo()
    expect(taken?.type).toBe('reject')
  }, 60_000)
  discord.say(messageId, 'no, not that', { from: person, replyTo: ask.messageId })
  const { screen } = await end(messageId)
  expect(screen.map(({ source }) => source).join('\n')).toContain('~~bash: Touch~~ rejected: not that')
  expect(screen.some(({ text: shown }) => withoutChanges(shown) === 'Not so.')).toBe(true)
  expect(discord.threads(ids[2] ?? '')).toEqual([{ id: messageId, name: 'Asked on Discord' }])
  expect(ours(ids[2] ?? '')).toEqual([])
})

test.concurrent('the status is small text below the answer, and a command aborts', async () => {
  const id = ids[3] ?? ''
  discord.say(id, `Go. ${scenarioToken('forever')}`, { from: person })
  const growing = await seen(id, (screen) => screen.find(({ source }) => /goes on[\s\S]*\n-# /.test(source)))
  expect(growing.isSilent).toBe(true)
  discord.say(id, '/stop', { from: person })
  const { reply, screen } = await end(id)
  expect(reply.outcome).toBe('aborted')
  expect(letters(screen.map((one) => one.text).join(''))).toBe('Thisneverendsandgoeson')
})

test.concurrent('an answer of 20,000 letters is shown completely and once, and mentions no one', async () => {
  const id = ids[4] ?? ''
  discord.say(id, `Go. ${scenarioToken('long')}`, { from: person })
  const { reply, screen } = await end(id)
  expect(textOf(reply).length).toBeGreaterThan(20_000)
  expect(letters(screen.map((one) => one.text).join(''))).toBe(letters(textOf(reply)))
  expect([screen.length >= 11, discord.mentions(id)]).toEqual([true, []])
  expect(discord.notifications(id)).toBeLessThanOrEqual(1)
})

test('no errors and no rate limits occurred', () => {
  expect(errors).toEqual([])
  expect(discord.calls.filter(({ status = 0 }) => status >= 400)).toEqual([])
})
