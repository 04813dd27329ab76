import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
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
import { type FakeSlack, type SlackMessage, startSlack } from '@reply/testing/slack'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type SlackChannel, type SlackSinkOptions, slackChannel } from '../src/index.ts'
import { renderSlack } from '../src/internal.ts'
import { clientOf, signingSecret, token } from './app.ts'

const paragraph = (count: number): string =>
  `Paragraph ${count} is **long** enough to be read, with \`code ${count}\` in it.\n\n- one of ${count}\n- two of ${count}\n\n`
const long = Array.from({ length: 225 }, (_, index) => paragraph(index + 1)).join('')

const colour = {
  header: 'Colour',
  question: 'Which colour?',
  options: [
    { label: 'Red', description: 'Warm' },
    { label: 'Blue', description: 'Cool' },
  ],
}
const toppings = {
  header: 'Toppings',
  question: 'What goes on top?',
  multiple: true,
  options: ['Cheese', 'Onions', 'Olives'].map((label) => ({ label, description: '' })),
}
const task = { description: 'Touch', prompt: `Do it. ${scenarioToken('child')}`, subagent_type: 'general' }
const scripts: Scripts = {
  questions: {
    steps: [
      [sayText('Let me ask.'), callTool('question', { questions: [colour, toppings] })],
      [sayText('As you like.')],
    ],
  },
  delegate: { steps: [[sayText('I delegate it.'), callTool('task', task)], [sayText('Done so.')]] },
  child: {
    steps: [[callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })], [sayText('I touched it.')]],
  },
  forever: { steps: [[sayText('This never ends, and goes on. '), holdAnswer('forever'), sayText('never.')]] },
  loud: { steps: [[sayText('Hey <!channel> and <@U1>, also @here: [all](!channel) `<!here>`.')]] },
  long: { steps: [[sayText(long, 150)]] },
}

let model: ScriptedModel
let server: OpencodeServer
let opencode: Client
let slack: FakeSlack
let channel: SlackChannel
let http: Server
let answer: (inbound: Inbound) => Promise<boolean>
const running = new Map<string, { readonly sink: Sink; readonly stream: ReplyStream }>()
const errors: Error[] = []
/** The options of one channel. */
const wishes: Readonly<Record<string, Partial<SlackSinkOptions>>> = { C6: { policy: { delivery: 'edit' } } }

beforeAll(async () => {
  model = await startModel({ scripts, fallback: 'long' })
  const permission = { bash: { '*': 'allow', 'touch *': 'ask' } } as const
  // No test reverts changes, and the server's snapshots of the files are a third of its work.
  server = await launchOpencode({ model, config: { permission, extra: { snapshot: false } } })
  opencode = connect({ url: server.url, directory: server.directory, onError: (error) => errors.push(error) })
  slack = await startSlack({ token, signingSecret })
  answer = answerWith({
    client: opencode,
    running: ({ chat }) => [...running].flatMap(([id, one]) => (id === chat.id ? [one] : [])),
  })
  const onError = (error: Error): unknown => errors.push(error)
  channel = slackChannel({ api: clientOf(slack), events: 'http', signingSecret, onInbound, onError })
  http = createServer(channel.listener)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const address = http.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  slack.sendTo(`http://127.0.0.1:${address.port}/`)
})
afterAll(async () => {
  await channel.stop()
  await slack.close()
  http.close()
  http.closeAllConnections()
  await opencode.close()
  await server.stop()
  await model.close()
})

/** The host: each text is an answer or a prompt. */
async function onInbound(inbound: Inbound): Promise<void> {
  if (inbound.type === 'text' && inbound.text === '/stop') {
    await running.get(inbound.chat.id)?.stream.abort()
    return
  }
  if ((await answer(inbound)) || inbound.type !== 'text') return
  const sink = channel.sinkFor(inbound, wishes[inbound.chat.id])
  const stream = opencode.prompt({ text: inbound.text }, { observe: () => [sink] })
  running.set(inbound.chat.id, { sink, stream })
}

const ours = (id: string): readonly SlackMessage[] => slack.screen(id).filter(({ from }) => from === 'bot')

/** Waits until the channel's screen meets the condition. */
function seen<T>(id: string, find: (screen: readonly SlackMessage[]) => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found = find(ours(id))
      if (found === undefined) return
      stop()
      resolve(found)
    }
    const stop = slack.observe((changed) => changed === id && queueMicrotask(look))
    look()
  })
}

const asking = (screen: readonly SlackMessage[]) => screen.find(({ controls }) => controls.length > 0)

/** Waits for the reply and its delivery, and checks that no text is missing. */
async function end(id: string) {
  const one = await vi.waitFor(() => running.get(id) ?? expect.fail(), 60_000)
  const reply = await one.stream.result
  const delivery = await one.sink.settled()
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0, rateLimited: 0 })
  return { reply, delivery, screen: ours(id) }
}

const letters = (words: string): string => words.replace(/[^\p{L}\p{N}]/gu, '')
const readable = ({ text: words }: SlackMessage): string => letters(renderSlack(words).plain)

test('two questions, one with several answers, are answered in a dialog', async () => {
  const root = slack.say('C1', `Go. ${scenarioToken('questions')}`, { mention: true })
  const ask = await seen('C1', asking)
  expect([ask.text, ask.threadTs]).toEqual([expect.stringContaining('Which colour?'), root])
  await slack.press('C1', ask.ts, 'Answer …')
  await vi.waitFor(() => expect(slack.view()).toBeDefined(), 60_000)
  expect(slack.view()?.fields.map(({ label }) => label)).toEqual([
    'Colour: Which colour?',
    'Or answer in your own words.',
    'Toppings: What goes on top?',
    'Or answer in your own words.',
  ])
  await slack.submit(['Blue', '', ['Cheese', 'Olives'], 'Basil'])
  const { reply, screen } = await end('C1')
  expect(reply.asks).toMatchObject([{ status: 'answered', answers: [['Blue'], ['Cheese', 'Olives', 'Basil']] }])
  expect(screen.map(readable)).toEqual(['Letmeask', expect.stringMatching(/Colour.*Blue/), 'Asyoulike'])
  expect(screen.every(({ controls, threadTs }) => controls.length === 0 && threadTs === root)).toBe(true)
  expect(slack.whispers.at(-1)?.text).toContain('Blue, Cheese, Olives, Basil')
})

test("a sub-agent's permission is allowed by a button, once, and not from another channel", async () => {
  slack.say('C2', `Go. ${scenarioToken('delegate')}`, { mention: true })
  const ask = await seen('C2', asking)
  const [once] = ask.controls.flat()
  const element = {
    type: 'button',
    action_id: once?.actionId,
    value: once?.value,
    text: { type: 'plain_text', text: 'Mine' },
  }
  const blocks = [{ type: 'actions', elements: [element] }]
  const { ts } = {
    ts: '',
    ...(await clientOf(slack).apiCall('chat.postMessage', { channel: 'C9', text: '?', blocks })),
  }
  await slack.press('C9', ts, 'Mine')
  const whispered = (): readonly string[] => slack.whispers.flatMap((one) => (one.channel === 'C9' ? [one.text] : []))
  await vi.waitFor(() => expect(whispered()).toEqual([expect.stringContaining('No request is waiting')]), 60_000)
  expect(existsSync(join(server.directory, 'asked-for.txt'))).toBe(false)
  await Promise.all([slack.press('C2', ask.ts, 'Allow once'), slack.press('C2', ask.ts, 'Reject')])
  const { reply, screen } = await end('C2')
  expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I delegate it.\n\nDone so.'])
  expect(reply.asks).toMatchObject([{ type: 'permission', status: 'answered', reply: 'once' }])
  expect(existsSync(join(server.directory, 'asked-for.txt'))).toBe(true)
  expect(screen.map(({ text: words }) => words).join('\n')).toMatch(/I delegate it\.[\s\S]*once[\s\S]*Done so\./)
  const isTold = (): boolean => slack.whispers.some(({ text: words }) => words.startsWith('This was already resolved'))
  await vi.waitFor(() => expect(isTold()).toBe(true), 60_000)
})

test("Slack's own Stop aborts", async () => {
  const root = slack.say('C3', `Go. ${scenarioToken('forever')}`, { mention: true })
  await seen('C3', (screen) => screen.find(({ text: words, isStreaming }) => isStreaming && words.includes('goes on')))
  await slack.stop('C3', root)
  const { reply, screen } = await end('C3')
  expect([reply.outcome, textOf(reply).trim()]).toEqual(['aborted', 'This never ends, and goes on.'])
  expect(screen.map(readable).join('')).toBe('Thisneverendsandgoeson')
  await vi.waitFor(() => expect([slack.session('C3', root), slack.status('C3', root)]).toEqual(['active', '']), 60_000)
})

test('a text in the thread aborts too, without mentioning the bot', async () => {
  const root = slack.say('C4', `Go. ${scenarioToken('forever')}`, { mention: true })
  await seen('C4', (screen) => screen.find(({ text: words }) => words.includes('goes on')))
  slack.say('C4', '/stop', { threadTs: root })
  const { reply, screen } = await end('C4')
  expect(reply.outcome).toBe('aborted')
  expect(screen.map(readable).join('')).toBe('Thisneverendsandgoeson')
})

test.each([
  ['in streams', 'C5'],
  ['by edits', 'C6'],
] as const)('an answer of 20,000 letters is there, whole and once: %s', async (_, id) => {
  slack.say(id, `Go. ${scenarioToken('long')}`, { mention: true })
  const { reply, screen } = await end(id)
  expect(textOf(reply).length).toBeGreaterThan(20_000)
  expect(screen.map(readable).join('')).toBe(letters(renderSlack(textOf(reply)).plain))
  expect(screen.length).toBeGreaterThanOrEqual(2)
  expect(screen.some(({ isStreaming }) => isStreaming)).toBe(false)
})

test("the model's text mentions no one", async () => {
  slack.say('D7', `Go. ${scenarioToken('loud')}`)
  const { screen } = await end('D7')
  expect(screen.map(({ text: words }) => words.replaceAll('\u2060', ''))).toEqual([
    'Hey <!channel> and <@U1>, also @here: [all](!channel) `<!here>`.',
  ])
  expect(slack.mentions).toEqual([])
})

test('no errors and no rate limits occurred', () => {
  expect(errors).toEqual([])
  expect(slack.calls.filter(({ status }) => status === 429)).toEqual([])
})
