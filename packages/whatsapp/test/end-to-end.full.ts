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
  startModel,
} from '@reply/testing'
import { createFastClock } from '@reply/testing/internal'
import {
  createFakeBaileys,
  type FakeBaileys,
  type FakeWhatsApp,
  startWhatsApp,
  type WhatsAppMessage,
} from '@reply/testing/whatsapp'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  type BaileysChannel,
  baileysChannel,
  createCloudClient,
  type WhatsAppChannel,
  whatsappChannel,
} from '../src/index.ts'
import { token } from './cloud.ts'

/** WhatsApp's clock runs faster than the server's and the model's. */
const clock = createFastClock(8)

const paragraph = (count: number): string =>
  `Paragraph ${count} is **long** enough to be read, with \`code ${count}\` in it.\n\n- one of ${count}\n- two of ${count}\n\n`
const long = Array.from({ length: 225 }, (_, index) => paragraph(index + 1)).join('')
const code = Array.from({ length: 120 }, (_, index) => `export const line_${index} = '*${index}*'`).join('\n')

const option = (label: string): object => ({ label, description: '' })
const questions = [
  { header: 'Colour', question: 'Which colour?', options: ['Red', 'Blue'].map(option) },
  { header: 'Sizes', question: 'Which sizes?', options: ['S', 'M', 'L'].map(option), multiple: true },
]
const scripts: Scripts = {
  questions: { steps: [[sayText('Let me ask.'), callTool('question', { questions })], [sayText('As you like.')]] },
  parent: {
    steps: [
      [callTool('task', { description: 'Touch it', prompt: '[scenario:child]', subagent_type: 'general' })],
      [sayText('It was allowed to.')],
    ],
  },
  child: {
    steps: [[callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })], [sayText('Done so.')]],
  },
  forever: { steps: [[sayText('This never ends, and goes on. '), holdAnswer('forever'), sayText('never.')]] },
  code: { steps: [[sayText(`Here it is:\n\n\`\`\`ts\n${code}\n\`\`\`\n\nThat is all of it.`, 400)]] },
  long: { steps: [[sayText(long, 150)]] },
}

let model: ScriptedModel
let server: OpencodeServer
let opencode: Client
let whatsapp: FakeWhatsApp
let baileys: FakeBaileys
let cloud: WhatsAppChannel
let linked: BaileysChannel
let hook: Server
let answer: (inbound: Inbound) => Promise<boolean>
const running = new Map<string, { readonly sink: Sink; readonly stream: ReplyStream }>()
const errors: Error[] = []

beforeAll(async () => {
  model = await startModel({ scripts, fallback: 'long' })
  const permission = { bash: { '*': 'allow', 'touch *': 'ask' } } as const
  // No test reverts changes, and the server's snapshots of the files are a third of its work.
  server = await launchOpencode({ model, config: { permission, extra: { snapshot: false } } })
  opencode = connect({ url: server.url, directory: server.directory, onError: (error) => errors.push(error) })
  answer = answerWith({
    client: opencode,
    running: ({ chat }) => [...running].flatMap(([id, one]) => (id === chat.id ? [one] : [])),
  })
  whatsapp = await startWhatsApp({ token, clock })
  const { url: apiUrl, phoneNumberId, appSecret } = whatsapp
  // The server's clock differs, so the status would say that nothing has come for hours.
  const policy = { heartbeatMs: 86_400_000, notifyAfterMs: 86_400_000 }
  const options = { clock, policy, onError: (error: Error) => void errors.push(error) }
  const client = createCloudClient({ token, phoneNumberId, apiUrl })
  const secrets = { appSecret, verifyToken: 'a-verify-token' }
  cloud = whatsappChannel({ ...options, ...secrets, client, onInbound: (inbound) => take(inbound, cloud) })
  hook = createServer(cloud.listener)
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
  const address = hook.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  await whatsapp.setWebhook(`http://127.0.0.1:${address.port}/`, 'a-verify-token')
  baileys = createFakeBaileys({ clock })
  linked = baileysChannel({ ...options, onInbound: (inbound) => take(inbound, linked) })
  link()
})
afterAll(async () => {
  await linked.stop()
  hook.close()
  hook.closeAllConnections()
  await whatsapp.close()
  await opencode.close()
  await server.stop()
  await model.close()
})

/** The host opens another socket when one closes. */
function link(): void {
  const socket = baileys.connect()
  socket.ev.on('connection.update', ({ connection }) => {
    if (connection === 'close') clock.after(2000, link)
  })
  linked.setSocket(socket)
}

/** The host: each text is an answer or a prompt. */
async function take(inbound: Inbound, channel: Pick<WhatsAppChannel, 'sinkFor'>): Promise<void> {
  if (inbound.type === 'text' && inbound.text === '/stop') {
    await running.get(inbound.chat.id)?.stream.abort()
    return
  }
  if ((await answer(inbound)) || inbound.type !== 'text') return
  const sink = channel.sinkFor(inbound)
  const stream = opencode.prompt({ text: inbound.text }, { observe: () => [sink] })
  running.set(inbound.chat.id, { sink, stream })
}

const ours = (person: string): readonly WhatsAppMessage[] =>
  whatsapp.screen(person).filter(({ from }) => from === 'business')

/** Waits until a screen meets the condition. */
function seen<T>(find: () => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found = find()
      if (found === undefined) return
      for (const stop of stops) stop()
      resolve(found)
    }
    const stops = [whatsapp, baileys].map((fake) => fake.observe(() => queueMicrotask(look)))
    look()
  })
}

/** Waits for the reply, and checks that no text is missing. */
async function end(chatId: string) {
  const one = await vi.waitFor(() => running.get(chatId) ?? expect.fail(), 60_000)
  const reply = await one.stream.result
  const delivery = await one.sink.settled()
  expect(delivery).toMatchObject({ undelivered: [], doubtful: 0, rateLimited: 0 })
  return reply
}

const letters = (words: string): string => words.replace(/[^\p{L}\p{N}]/gu, '')
const lettersOf = (messages: readonly { readonly text: string }[]): string =>
  letters(messages.map((one) => one.text).join(''))

test("a sub-agent's permission is allowed by a button", async () => {
  const person = '491700000001'
  const asked = whatsapp.say(person, 'Go. [scenario:parent]')
  const ask = await seen(() => ours(person).find(({ buttons }) => buttons.length > 0))
  expect([ask.kind, ask.buttons.map(({ label }) => label)]).toEqual(['buttons', ['Allow once', 'Always', 'Reject']])
  expect(whatsapp.screen(person)[0]?.id).toBe(asked)
  whatsapp.press(person, ask.id, 'Allow once')
  const reply = await end(person)
  expect(reply.asks).toMatchObject([{ status: 'answered', reply: 'once' }])
  expect(existsSync(join(server.directory, 'asked-for.txt'))).toBe(true)
  expect(ours(person).at(-1)?.text).toBe('It was allowed to.')
})

test('two questions are answered, one by a button and one by numbers', async () => {
  const person = '491700000002'
  whatsapp.say(person, 'Go. [scenario:questions]')
  const first = await seen(() => ours(person).find(({ buttons }) => buttons.length > 0))
  // On a busy machine the question may arrive before this text.
  await seen(() => ours(person).find((one) => one.text === 'Let me ask.'))
  whatsapp.press(person, first.id, 'Blue')
  const second = await seen(() => ours(person).find((one) => one.text.includes('Which sizes?')))
  expect([second.buttons, second.text]).toEqual([
    [],
    expect.stringMatching(/1\. S\n2\. M\n3\. L\n\nReply with the numbers/),
  ])
  whatsapp.say(person, '1, 3')
  const reply = await end(person)
  expect(reply.asks).toMatchObject([{ status: 'answered', answers: [['Blue'], ['S', 'L']] }])
  expect(ours(person).at(-1)?.text).toBe('As you like.')
  whatsapp.press(person, first.id, 'Red')
  const late = await seen(() => ours(person).find((one) => one.text.includes('resolved')))
  expect(late.text).toBe('This was already resolved: ✅ Blue, S, L · Ada')
})

test('/stop aborts', async () => {
  const person = '491700000003'
  whatsapp.say(person, 'Go. [scenario:forever]')
  await vi.waitFor(
    () => expect(model.requests.some(({ body }) => JSON.stringify(body).includes('forever'))).toBe(true),
    10_000,
  )
  await seen(() => (whatsapp.typing(person) ? true : undefined))
  whatsapp.say(person, '/stop')
  const reply = await end(person)
  expect(reply.outcome).toBe('aborted')
  expect(lettersOf(ours(person))).toBe(letters(textOf(reply)))
})

test('an answer of 20,000 letters is shown completely and once', async () => {
  const person = '491700000004'
  whatsapp.say(person, 'Go. [scenario:long]')
  const reply = await end(person)
  expect(textOf(reply).length).toBeGreaterThan(20_000)
  expect(lettersOf(ours(person))).toBe(letters(textOf(reply)))
  expect(ours(person).length).toBeLessThan(8)
})

test('long code becomes a file', async () => {
  const person = '491700000005'
  whatsapp.say(person, 'Go. [scenario:code]')
  await end(person)
  const [announced, file, after] = ours(person)
  expect([announced?.text, after?.text]).toEqual(['Here it is:', 'That is all of it.'])
  expect(file?.document?.name).toBe('code-1.ts')
  expect(new TextDecoder().decode(file?.document?.bytes).trimEnd()).toBe(code)
})

const linkedOurs = (jid: string) => baileys.screen(jid).filter(({ from }) => from === 'me')

test("over a linked device, a sub-agent's permission is allowed by its number", async () => {
  const jid = '120363000000000001@g.us'
  baileys.say(jid, 'Go. [scenario:parent]')
  const ask = await seen(() => linkedOurs(jid).find((one) => one.text.includes('Allow this?')))
  expect(ask.text).toContain('Reply to this message with 1 to allow it once, 2 to allow it always, or 3 to reject it.')
  // A message can be answered once the sink knows that it was posted; this test is faster than any person.
  const refusal = { text: '3', replyTo: { id: ask.id }, chat: { id: jid } }
  const actor = { id: '111111111111111@lid', name: 'Ada' }
  await vi.waitFor(async () => {
    const taken = await running.get(jid)?.sink.readAnswer(refusal, actor)
    taken?.undo()
    expect(taken?.type).toBe('reject')
  }, 60_000)
  baileys.say(jid, '3', { replyTo: ask.id })
  const reply = await end(jid)
  expect(reply.asks).toMatchObject([{ status: 'rejected', reply: 'reject' }])
  expect(baileys.screen(jid).find(({ id }) => id === ask.id)?.text).toContain('🚫 Rejected · Ada')
})

test('over a linked device whose connection breaks, an answer of 20,000 letters is shown completely and once', async () => {
  const jid = '4917000000002@s.whatsapp.net'
  baileys.say(jid, 'Go. [scenario:long]')
  await seen(() => (lettersOf(linkedOurs(jid)).length > 100 ? true : undefined))
  baileys.drop()
  const reply = await end(jid)
  expect(lettersOf(linkedOurs(jid))).toBe(letters(textOf(reply)))
  expect([baileys.lateEdits, baileys.mentioned, new Set(baileys.calls.map(({ socket }) => socket)).size]).toEqual([
    [],
    [],
    2,
  ])
})

test('only the injected errors and no rate limits occurred', () => {
  const isInjected = ({ message }: Error) =>
    /428 Connection Closed|connection closed before WhatsApp acknowledged/.test(message)
  expect(errors.filter((error) => !isInjected(error))).toEqual([])
  expect(whatsapp.calls.filter(({ status = 0 }) => status >= 400)).toEqual([])
})
