import { openCode2Version } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { type Client, type Reply, textOf } from '../../src/index.ts'
import { keepingPromptID, type Stage, type StageOptions, setStage } from './stage.ts'

const all = 10_000
const idleMs = 30_000

/** A client that only follows its own sessions, after its first connection. */
async function setOwnStage(options: StageOptions): Promise<Stage & { readonly requests: readonly string[] }> {
  const requests: string[] = []
  const stage = setStage({
    ...options,
    // It sends no heartbeats.
    connect: { follow: 'own', silenceMs: 10_000_000, ...options.connect },
    between: async (request, answer) => {
      requests.push(`${request.method} ${new URL(request.url).pathname}`)
      return await (options.between ? options.between(request, answer) : answer(request))
    },
  })
  await stage.rest()
  return { ...stage, requests }
}

const sessionIDs = async (opencode: Client): Promise<readonly string[]> =>
  (await opencode.sessions()).map(({ sessionID }) => sessionID).toSorted()

/** The newest state of each reply that the watch reports. */
function watchReplies(opencode: Client, target: Parameters<Client['watch']>[0]) {
  const replies = new Map<string, Reply>()
  const stop = opencode.watch(target, {
    observe: ({ sessionID, startedAt }) => {
      const keep = ({ reply }: { readonly reply: Reply }): void => void replies.set(`${sessionID} ${startedAt}`, reply)
      return [{ replyStarted: keep, partAdded: keep, partChanged: keep, replySettled: keep }]
    },
  })
  return { replies: () => [...replies.values()], stop }
}

const versions = [['1.18.33'], [openCode2Version]] as const

describe.each(versions)('with its own sessions alone, a client of %s', (version) => {
  const stream = version === openCode2Version ? 'GET /api/event' : 'GET /global/event'

  test('closes the stream after half a minute without need, and reports nothing', async () => {
    const told: string[] = []
    const onConnection = (connection: string): number => told.push(connection)
    const stage = await setOwnStage({ scenario: 'plain', version, connect: { onConnection } })
    await stage.opencode.ready
    await stage.advance(idleMs - 1)
    expect(stage.server.hasListener).toBe(true)
    await stage.advance(1)
    expect(stage.server.hasListener).toBe(false)
    await stage.advance(600_000)
    expect([stage.opened.length, told, stage.errors]).toEqual([1, ['live'], []])
    await stage.opencode.close()
  })

  test('opens the stream before it posts a prompt, and follows the reply to its end', async () => {
    const between = keepingPromptID({ scenario: 'plain', version })
    const stage = await setOwnStage({ scenario: 'plain', version, before: 1, between })
    const { opencode, server, requests, rest, advance } = stage
    await advance(idleMs)
    const [sessionID] = await sessionIDs(opencode)
    const before = requests.length
    const reply = opencode.prompt({ sessionID, text: 'Hello.' })
    await rest()
    const post = requests.findIndex((request) => request.startsWith('POST') && /prompt/.test(request))
    expect(requests.indexOf(stream, before)).toBe(before)
    expect(post).toBeGreaterThan(before)
    expect(server.streams).toBe(2)
    server.publish(all)
    await advance(5000)
    expect((await reply.result).outcome).toBe('completed')
    expect(server.hasListener).toBe(true)
    await advance(idleMs)
    expect([server.hasListener, stage.errors]).toEqual([false, []])
    await opencode.close()
  })

  test('keeps the stream while a reply is open, however long that takes', async () => {
    const { opencode, server, advance } = await setOwnStage({ scenario: 'plain', version, before: 1 })
    const [sessionID] = await sessionIDs(opencode)
    const watching = watchReplies(opencode, { sessionID })
    server.publish(server.length - 5)
    await advance(1)
    watching.stop()
    await advance(40_000)
    expect([watching.replies()[0]?.phase === 'settled', server.streams]).toEqual([false, 1])
    server.publish(all)
    await advance(idleMs + 5000)
    expect(server.hasListener).toBe(false)
    await opencode.close()
  })

  test('sees nothing of a session that it does not follow', async () => {
    const { opencode, server, advance } = await setOwnStage({ scenario: 'two-sessions', version, before: 2 })
    const [own, other] = await sessionIDs(opencode)
    const seen = new Set<string>()
    opencode.on('replySettled', ({ reply }) => seen.add(reply.sessionID))
    watchReplies(opencode, { sessionID: own })
    await advance(1)
    server.publish(all)
    await advance(5000)
    expect([other !== undefined, [...seen]]).toEqual([true, [own]])
    await opencode.close()
  })

  test('sees the reply of a watched session that is only created later', async () => {
    const earlier = await setOwnStage({ scenario: 'plain', version, before: 1 })
    const [sessionID] = await sessionIDs(earlier.opencode)
    await earlier.opencode.close()
    const { opencode, server, advance } = await setOwnStage({ scenario: 'plain', version })
    await advance(idleMs)
    const { replies } = watchReplies(opencode, { sessionID })
    await advance(1)
    server.publish(all)
    await advance(5000)
    expect(replies().map(({ outcome }) => outcome)).toEqual(['completed'])
    await opencode.close()
  })

  test.each([
    ['while it listens', 0],
    ['while it rests', idleMs],
  ])('adopts the running reply of a session that it is told to watch %s', async (_, waitMs) => {
    const stage = await setOwnStage({ scenario: 'subagent', version })
    const { opencode, server, advance } = stage
    server.publish(Math.floor(server.length / 2))
    await advance(waitMs)
    const [sessionID] = await sessionIDs(opencode)
    const { replies, stop } = watchReplies(opencode, { sessionID })
    await advance(1)
    expect(replies().map(({ phase }) => phase !== 'settled')).toEqual([true])
    server.publish(all)
    await advance(5000)
    const [reply] = replies()
    expect(replies()).toHaveLength(1)
    expect([reply?.outcome, reply?.children[0]?.reply.outcome]).toEqual(['completed', 'completed'])
    expect(reply && textOf(reply)).toBe(textOf((await opencode.reply(sessionID ?? '')) ?? expect.fail()))
    stop()
    await advance(idleMs)
    expect([server.hasListener, stage.errors]).toEqual([false, []])
    await opencode.close()
  })

  test.each([
    ['while it listens', 0],
    ['while it rests', idleMs],
  ])('reports all replies for a watch of the server that begins %s, but none from before', async (_, waitMs) => {
    const { opencode, server, advance } = await setOwnStage({ scenario: 'two-turns', version })
    const firstEnd = server.types.findIndex((type) => /^session\.(?:idle|execution\.succeeded)$/.test(type)) + 1
    server.publish(firstEnd)
    await advance(waitMs)
    const { replies, stop } = watchReplies(opencode, {})
    await advance(5000)
    expect(replies()).toEqual([])
    server.publish(all)
    await advance(5000)
    expect(replies().map(({ outcome }) => outcome)).toEqual(['completed'])
    stop()
    await advance(idleMs)
    expect(server.hasListener).toBe(false)
    await opencode.close()
  })

  test('reads a reply without the stream', async () => {
    const { opencode, server, advance } = await setOwnStage({ scenario: 'plain', version })
    await advance(idleMs)
    server.publish(all)
    const [sessionID = ''] = await sessionIDs(opencode)
    expect((await opencode.reply(sessionID))?.outcome).toBe('completed')
    expect(server.streams).toBe(1)
    await opencode.close()
  })

  test('fails a prompt if the server has gone meanwhile, and does not go on trying', async () => {
    const stage = await setOwnStage({ scenario: 'plain', version, before: 1 })
    const { opencode, server, advance } = stage
    const [sessionID] = await sessionIDs(opencode)
    await advance(idleMs)
    server.fail(all, 'refused')
    const { result } = opencode.prompt({ sessionID, text: 'Hello.' })
    await advance(idleMs)
    expect((await result).error?.name).toBe('unreachable')
    await advance(idleMs)
    const tries = stage.opened.length
    await advance(600_000)
    expect(stage.opened.length).toBe(tries)
    await opencode.close()
  })

  test('can be closed while it rests', async () => {
    const { opencode, advance } = await setOwnStage({ scenario: 'plain', version })
    await advance(idleMs)
    await opencode.close()
    const reply = await opencode.prompt({ text: 'Hello.' }).result
    expect(reply.outcome).toBe('failed')
  })
})
