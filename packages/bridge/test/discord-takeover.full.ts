import { type FakeDiscord, startDiscord } from '@reply/testing/discord'
import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { afterEach, describe, expect, test } from 'vitest'
import { endingOf, messageOf, tokenOf } from '../scripts/scale/task.ts'
import { type BridgeProcess, startTwoProcesses, type TwoProcesses } from './two-processes.ts'

/** Direct messages, in different shards. People write in the first ones, and are asked in the others. */
const chats = Array.from({ length: 12 }, (_, index) => String(100_000_000_000_000_100n + BigInt(index)))
const [talks, asks] = [chats.slice(0, 6), chats.slice(6)]
const ann = { id: '800000000000000001', name: 'Ann' }
/** The longest takeover, in ms. */
const mostMs = 8000

let discord: FakeDiscord
let two: TwoProcesses | undefined
/** The tasks that people wrote in each chat. */
let sent: Map<string, string[]>
afterEach(async () => {
  await two?.close()
  two = undefined
  await discord.close()
})

/** Two bridges. The first one to have the gateway is the `listener`. */
async function startTwo() {
  sent = new Map(chats.map((chat) => [chat, []]))
  discord = await startDiscord({ token: 'MTA.secret', channels: chats.map((id) => ({ id, kind: 'direct' })) })
  two = await startTwoProcesses({
    channels: { dc: { type: 'discord', token: { env: 'TOKEN' }, apiUrl: discord.url } },
    env: { TOKEN: discord.token },
    people: [`dc:${ann.id}`],
  })
  const { bridges, until } = two
  const listens = async (one: BridgeProcess): Promise<boolean> => (await one.status('dc')) === 'receiving'
  await until('one listens', async () => (await Promise.all(bridges.map(listens))).includes(true))
  const [first, second] = bridges
  return {
    ...two,
    ...((await listens(first)) ? { listener: first, other: second } : { listener: second, other: first }),
    listens,
  }
}

/** Writes a task in some chats. */
function write(places: readonly string[], kind: 'answer' | 'ask' = 'answer'): void {
  for (const chat of places) {
    const token = tokenOf([...sent.values()].flat().length + 1)
    sent.get(chat)?.push(token)
    discord.say(chat, messageOf({ token, kind, ms: 0 }), { from: ann })
  }
}

const texts = (chat: string): readonly string[] =>
  discord.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))

/** Whether each task of a chat is answered. */
const isAnswered = (chat: string): boolean =>
  sent.get(chat)?.every((token) => texts(chat).some((text) => text.includes(endingOf(token)))) === true

const request = (chat: string) =>
  discord
    .screen(chat)
    .find(({ rows }) => rows.flat().some((one) => one.type === 'button' && one.label === 'Allow once'))

const press = (chat: string) => discord.press(chat, request(chat)?.messageId ?? '', 'Allow once', { from: ann })

describe.skipIf(!hasPostgres())(`two bridges on Discord's gateway (${needsPostgres})`, () => {
  test.each(['killed', 'stopped', 'frozen'] as const)(
    'if the one that listens is %s, the other one does within 8 s, and each message and each press is handled once',
    async (how) => {
      const { listener, other, server, until, listens } = await startTwo()
      expect([await other.status('dc'), discord.connections]).toEqual(['elsewhere', 1])
      write(talks)
      write(asks, 'ask')
      await until('all are answered or asked', () => talks.every(isAnswered) && asks.every(request))

      const at = performance.now()
      const stopping = how === 'stopped' ? listener.stop() : undefined
      if (how === 'killed') listener.kill()
      if (how === 'frozen') listener.freeze()
      write(talks)
      if (how !== 'stopped') {
        // The gateway has no session for these, or one that hears them too late.
        const inVain = await Promise.all(asks.map(async (chat) => (await press(chat).settled).status))
        expect(new Set(inVain)).toEqual(new Set(['failed']))
        expect(server.answers).toEqual([])
      }
      await until('the other one listens', async () => await listens(other))
      expect(performance.now() - at).toBeLessThan(mostMs)
      write(talks)
      const pressed: { readonly texts: readonly string[] }[] = []
      await until('each request is answered', async () => {
        // A press is refused while its chat is being taken over.
        for (const chat of asks.filter((one) => request(one))) pressed.push(await press(chat).settled)
        return server.answers.length >= asks.length
      })
      await until('all are answered', () => chats.every(isAnswered))

      if (how === 'frozen') {
        listener.wake()
        await until('it listens no more', async () => (await listener.status('dc')) === 'elsewhere')
      }
      expect(await stopping).toBe(how === 'stopped' ? 0 : undefined)
      await until('one is connected', () => discord.connections === 1)
      write(chats)
      await until('all are answered', () => chats.every(isAnswered))
      for (const chat of chats) {
        const tokens = sent.get(chat) ?? []
        const ran = server.tasks.flatMap(({ task }) => (tokens.includes(task.token) ? [task.token] : []))
        expect(ran).toEqual(tokens)
        expect(texts(chat).filter((text) => text.includes('the whole answer'))).toHaveLength(tokens.length)
      }
      // Also one that both bridges received is answered once.
      for (const one of pressed) expect(one.texts.length).toBeLessThanOrEqual(1)
      expect(server.answers.map(({ token }) => token).toSorted()).toEqual(asks.map((chat) => sent.get(chat)?.[0]))
    },
    120_000,
  )
})
