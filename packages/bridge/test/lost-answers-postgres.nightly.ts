import { systemClock } from '@reply/core'
import { postgresStore } from '@reply/postgres'
import {
  hasPostgres,
  needsPostgres,
  type PostgresProxy,
  sharedPostgres,
  startPostgresProxy,
} from '@reply/testing/internal'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { telegramOn } from './platforms.ts'
import { keyOfChat, telegramChat } from './shard-rows.ts'
import { type Job, survivingAgent } from './surviving-agent.ts'

/** By what a commit does: its write, the beginning of its key, and what its value says. */
const kinds: Readonly<Record<string, readonly [type: string, prefix: string, value?: RegExp]>> = {
  'takes a message': ['enqueue', 'inbox/telegram/'],
  'queues a prompt': ['enqueue', 'prompts/telegram/'],
  'takes a prompt from its queue': ['dequeue', 'prompts/telegram/'],
  'is made before the post': ['put', 'execution/telegram/', /phase\\":\\"posting/],
  'is made after the run': ['put', 'execution/telegram/', /phase\\":\\"delivering/],
  'is made at the end': ['put', 'execution/telegram/', /phase\\":\\"done/],
  'writes a ledger before a post': ['put', 'ledger/telegram/', /state\\":\\"intent/],
  'writes a ledger after a post': ['put', 'ledger/telegram/', /state\\":\\"shown/],
  'notes that a message is an answer': ['replace', 'inbox/telegram/', /isAnswer/],
  'stores what is about to be allowed': ['put', 'allowed/home/', /isConfirmed\\":false/],
  'stores what was allowed': ['put', 'allowed/home/', /isConfirmed\\":true/],
}

/**
 * Whether the bytes of a query have such a write of a chat. A query may have the commits of several chats. Keys are sent in
 * hexadecimal, and those of grants don't name the chat.
 */
function hasWrite(bytes: Buffer, [type, prefix, value = /^/]: (typeof kinds)[string], chat: number): boolean {
  const isGrant = prefix.startsWith('allowed/')
  const key = isGrant ? prefix : keyOfChat(telegramChat(chat), `${prefix}${chat}/`)
  const writes = bytes.toString('latin1').split('{"n":')
  return writes.some(
    (write) =>
      write.includes(`"t":"${type}"`) &&
      write.includes(`x${Buffer.from(key).toString('hex')}`) &&
      value.test(write) &&
      (!isGrant || write.includes(`touch ${chat}\\"`)),
  )
}

const losses = { 'on its way': 'loseNextQuery', 'with its answer': 'loseNextAnswer' } as const
/** Each in a chat of its own, so that they don't wait for each other's messages. */
const all = Object.keys(kinds)
  .flatMap((kind) => (['on its way', 'with its answer'] as const).map((where) => [kind, where] as const))
  .map(([kind, where], index) => [kind, where, index + 1] as const)
const chatIDs = all.map(([, , chat]) => chat)

const says = (text: string): string => `You said: ${text}.`
const colour = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }

describe.skipIf(!hasPostgres())(`a bridge on PostgreSQL (${needsPostgres})`, () => {
  let telegram: FakeTelegram
  let proxy: PostgresProxy
  let chats: Chats
  let agent: ReturnType<typeof survivingAgent>
  /** What the agent was answered, by the prompt that asked. */
  const answers: [string, unknown][] = []
  const ends: string[] = []

  function act(job: Job): void {
    const { text } = job
    const taken = (given: unknown): void => {
      answers.push([text, given])
      setImmediate(end)
    }
    if (text.startsWith('ask')) job.ask({ type: 'question', requestID: `que_${text}`, questions: [colour] }, taken)
    else if (text.startsWith('touch')) {
      const callID = `call_${text}`
      const always = [text]
      job.write({ type: 'tool', callID, tool: 'bash', state: { status: 'running', input: { command: text } } })
      const permission = { permission: 'bash', patterns: always, always, title: text, metadata: {} }
      job.ask({ type: 'permission', requestID: `per_${text}`, callID, ...permission }, taken)
    } else end()

    function end(): void {
      job.write({ type: 'text', delta: says(text) })
      job.end()
    }
  }

  beforeAll(async () => {
    proxy = await startPostgresProxy({ target: await (await sharedPostgres()).createDatabase() })
    const store = await postgresStore({ url: proxy.url })
    telegram = await startTelegram({
      token: '42:secret',
      chats: chatIDs.map((id) => ({ id, type: 'private', title: `Ann ${id}` })),
    })
    agent = survivingAgent(act, systemClock)
    const connectTo = () => agent.connectTo(async () => {})
    chats = await startChats({ platforms: [telegramOn(telegram)], connectTo })
    const people = { ann: { ids: chatIDs.map((id) => `telegram:${id}`), may: ['prompt', 'approve', 'admin'] } }
    await chats.start({ people, storeOf: () => store, onEnd: () => ends.push('ended') })
  })
  afterAll(async () => {
    await chats?.close()
    await proxy?.close()
  })

  const said = (chat: number): readonly string[] =>
    telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
  const countIn = (chat: number, text: string): number => said(chat).filter((one) => one.includes(text)).length

  test.concurrent.for(all)(
    'makes a commit that %s once, also if it is lost %s',
    async ([kind, where, chat], { expect }) => {
      const wanted = kinds[kind] ?? expect.unreachable()
      const isAsk = kind.includes('is an answer')
      const isGrant = kind.includes('allowed')
      const prompt = `${isAsk ? 'ask' : isGrant ? 'touch' : 'say'} ${chat}`
      const lost = proxy[losses[where]]((bytes) => hasWrite(bytes, wanted, chat))
      telegram.say(chat, prompt)
      if (isAsk) {
        await expect.poll(() => said(chat).at(-1)).toContain('Which colour?')
        telegram.say(chat, 'Blue')
      }
      if (isGrant) {
        const asking = () => telegram.screen(chat).findLast(({ buttons }) => buttons.flat().length > 0)
        const labels = () =>
          asking()
            ?.buttons.flat()
            .map(({ text }) => text)
        await expect.poll(labels).toContain('Always')
        telegram.press(chat, asking()?.messageId ?? 0, 'Always')
      }
      await expect.poll(() => countIn(chat, says(prompt))).toBe(1)
      await lost
      telegram.say(chat, `after ${prompt}`)
      await expect.poll(() => countIn(chat, says(`after ${prompt}`))).toBe(1)
      expect(countIn(chat, says(prompt))).toBe(1)
      expect(agent.heard.filter((text) => text.endsWith(prompt))).toEqual([prompt, `after ${prompt}`])
      expect(answers.filter(([asked]) => asked === prompt)).toHaveLength(isAsk || isGrant ? 1 : 0)
      expect(ends).toEqual([])
      if (!isGrant) return
      telegram.say(chat, '/allowed')
      const listed = new RegExp(`${prompt} · bash · Ann ${chat} · [^·]* UTC$`, 'm')
      await expect.poll(() => said(chat).some((one) => listed.test(one))).toBe(true)
    },
  )
})
