import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { type FakeSlack, startSlack } from '@reply/testing/slack'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endingOf, messageOf, type TaskKind, tokenOf } from '../scripts/scale/task.ts'
import { type BridgeProcess, startTwoProcesses, type TwoProcesses } from './two-processes.ts'

/** Direct messages in different shards, each of another person. */
const chats = Array.from({ length: 12 }, (_, index) => `D${index + 1}`)
/** How long an answer takes that another message comes before its end, in ms. */
const slowMs = 1000
/** How long a press may take, in ms. */
const pressMs = 500
/** The longest takeover, in ms. */
const mostMs = 8000

let slack: FakeSlack
let two: TwoProcesses
/** The tasks that people wrote in each chat. */
let sent: Map<string, string[]>
/** By chat: its thread. */
let threads: Map<string, string>

const personIn = (chat: string) => ({ id: chat.replace('D', 'U'), name: 'Ann' })

beforeEach(async () => {
  if (!hasPostgres()) return
  sent = new Map(chats.map((chat) => [chat, []]))
  threads = new Map()
  slack = await startSlack()
  two = await startTwoProcesses({
    channels: {
      slack: { type: 'slack', token: { env: 'TOKEN' }, appToken: { env: 'APP_TOKEN' }, apiUrl: slack.url },
    },
    env: { TOKEN: slack.token, APP_TOKEN: slack.appToken },
    people: chats.map((chat) => `slack:${personIn(chat).id}`),
  })
  await two.until('both are connected', () => slack.sockets === 2)
})
afterEach(async () => {
  if (!hasPostgres()) return
  await two.close()
  await slack.close()
})

/** Writes a task. Slack sends it to the bridge that did not get the event before. */
function write(chat: string, kind: TaskKind = 'answer', ms = 0): string {
  const token = tokenOf([...sent.values()].flat().length + 1)
  sent.get(chat)?.push(token)
  const threadTs = threads.get(chat)
  const ts = slack.say(chat, messageOf({ token, kind, ms }), {
    from: personIn(chat),
    ...(threadTs !== undefined && { threadTs }),
  })
  if (threadTs === undefined) threads.set(chat, ts)
  return token
}

const texts = (chat: string): readonly string[] =>
  slack.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))

const isShown = (chat: string, token: string): boolean => texts(chat).some((text) => text.includes(endingOf(token)))
const isAnswered = (chat: string): boolean => sent.get(chat)?.every((token) => isShown(chat, token)) === true

const request = (chat: string) =>
  slack.screen(chat).find(({ controls }) => controls.flat().some(({ label }) => label === 'Allow once'))

/** Expects that each task was run once, in the order in which they were written, and that each answer is shown once. */
function expectOnce(): void {
  for (const chat of chats) {
    const tokens = sent.get(chat) ?? []
    const ran = two.server.tasks.flatMap(({ task }) => (tokens.includes(task.token) ? [task.token] : []))
    expect(ran).toEqual(tokens)
    for (const token of tokens) expect(texts(chat).join('\n').split(endingOf(token))).toHaveLength(2)
  }
}

/** How often a bridge received something of a kind in a chat. */
const received = ({ said }: BridgeProcess, kind: 'text' | 'press', chat: string): number =>
  [...said().matchAll(new RegExp(`"type":"inbound".*"chat":"${chat}".*"kind":"${kind}"`, 'g'))].length

const ownerOf = (chat: string): BridgeProcess | undefined =>
  two.bridges.find((one) => one.owns({ channel: 'slack', chat: { id: chat } }))

describe.skipIf(!hasPostgres())(`two bridges on Slack's Socket Mode (${needsPostgres})`, () => {
  test('each message runs once, in the order in which they were received, and a press at the other bridge counts at once', async () => {
    const { bridges, server, until } = two
    const receivedIn = (chat: string): number => bridges.reduce((sum, one) => sum + received(one, 'text', chat), 0)
    for (let nth = 1; nth <= 3; nth++) {
      for (const chat of chats) write(chat, 'answer', slowMs)
      await until('all are received', () => chats.every((chat) => receivedIn(chat) === nth))
    }
    for (const one of bridges) expect(chats.some((chat) => received(one, 'text', chat) > 0)).toBe(true)
    await until('all are answered', () => chats.every(isAnswered))

    const tokens = chats.map((chat) => write(chat, 'ask'))
    await until('all are asked', () => chats.every(request))
    const elsewhereMs: number[] = []
    for (const [index, chat] of chats.entries()) {
      const at = Date.now()
      expect(await slack.press(chat, request(chat)?.ts ?? '', 'Allow once', { from: personIn(chat) })).toBe(true)
      const answer = () => server.answers.find(({ token }) => token === tokens[index])
      await until('it is answered', () => answer() !== undefined)
      const other = bridges.find((one) => one !== ownerOf(chat))
      if (other && received(other, 'press', chat) > 0) elsewhereMs.push((answer()?.at ?? 0) - at)
    }
    expect(elsewhereMs).not.toEqual([])
    const middle = elsewhereMs.toSorted((one, next) => one - next)[Math.floor(elsewhereMs.length / 2)]
    // A single one may wait for a busy machine.
    expect(middle).toBeLessThan(pressMs)
    await until('all are answered', () => chats.every(isAnswered))
    expect(server.answers).toHaveLength(chats.length)
    expectOnce()
  }, 120_000)

  test('if one is killed in the middle of its answers, the other one goes on, and gets what that one did not acknowledge', async () => {
    const { bridges, server, until } = two
    const [killed, other] = bridges
    const [live, next] = [chats.slice(0, 6), chats.slice(6)]
    const tokens = live.map((chat) => write(chat, 'answer', 60_000))
    await until('all grow', () => live.every((chat) => texts(chat).some((text) => text.includes('Sentence'))))
    killed.freeze()
    // Slack sends them to both in turn.
    for (const chat of next) write(chat)
    const at = performance.now()
    killed.kill()
    await until('the other one has all chats', () => other.shards() === 64)
    expect(performance.now() - at).toBeLessThan(mostMs)
    for (const token of tokens) server.endAnswer(token)
    await until('all are answered', () => chats.every(isAnswered))
    for (const chat of chats) write(chat)
    await until('all are answered', () => chats.every(isAnswered))
    expect(slack.sockets).toBe(1)
    for (const chat of next) expect([received(killed, 'text', chat), received(other, 'text', chat)]).toEqual([0, 2])
    expectOnce()
  }, 120_000)
})
