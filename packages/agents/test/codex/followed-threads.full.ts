import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, observerOf, type Reply, type ReplyObserver, textOf, type WatchTarget } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { createHandClock, type HandClock } from '@reply/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { codex } from '../../src/codex.ts'
import { codexVersions } from './codex-stage.ts'
import { type Listener, listenerToken, startListener } from './listener.ts'
import { connectRawDesk, type RawDesk } from './raw-desk.ts'

let listener: Listener | undefined
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  await listener?.close()
  listener = undefined
})

/** A message between a client and the listener. */
interface Passed {
  readonly method: string | undefined
  readonly threadId: string | undefined
  readonly from: 'client' | 'listener'
}

/** Connects to the listener through a proxy, which notes all messages, and the methods that the listener has answered. */
async function passingThrough(target: string) {
  const passed: Passed[] = []
  const asked = new Map<number, string>()
  const answered: string[] = []
  const server: Server = createServer()
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (client) => {
    const upstream = new WebSocket(target, { headers: { authorization: `Bearer ${listenerToken}` } })
    const waiting: string[] = []
    const note = (text: string, from: Passed['from']): void => {
      const { id, method, params } = JSON.parse(text)
      passed.push({ method, threadId: params?.threadId, from })
      if (from === 'client' && method !== undefined) asked.set(id, method)
      if (from === 'listener' && method === undefined) answered.push(asked.get(id) ?? '')
    }
    client.on('message', (data) => {
      note(String(data), 'client')
      if (upstream.readyState === WebSocket.OPEN) upstream.send(String(data))
      else waiting.push(String(data))
    })
    upstream.on('open', () => {
      for (const text of waiting) upstream.send(text)
    })
    upstream.on('message', (data) => {
      note(String(data), 'listener')
      client.send(String(data))
    })
    client.on('close', () => upstream.close())
    upstream.on('close', () => client.close())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => void server.close())
  const { port } = server.address() as AddressInfo
  const of = (threadId: string): readonly string[] =>
    passed.flatMap((one) => (one.threadId === threadId ? [`${one.from}: ${one.method}`] : []))
  return { url: `ws://127.0.0.1:${port}`, of, answered, open: () => sockets.clients.size }
}

/** Starts a listener, a client of its own threads, and the desk, where other threads run. */
async function started(version: string, clock?: HandClock, keepSettled?: number) {
  listener = await startListener(version)
  const { url, directory } = listener
  const wire = await passingThrough(url)
  const errors: string[] = []
  const onError = (error: Error): void => void errors.push(error.message)
  const source = codex({ url: wire.url, token: listenerToken, onError })
  const bridge = connectSource(source, { follow: 'own', directory, onError, clock, keepSettled })
  closing.push(() => bridge.close())
  const desk = await connectRawDesk(url)
  closing.push(() => desk.close())
  return { bridge, wire, desk, directory, errors, model: listener.model }
}

/** Begins a turn at the desk, in a new thread unless one is passed. */
async function runAtDesk(desk: RawDesk, directory: string, scenario: string, threadId?: string): Promise<string> {
  const id = threadId ?? (await desk.request('thread/start', { cwd: directory })).result?.thread?.id ?? ''
  await desk.request('turn/start', { threadId: id, input: [{ type: 'text', text: `[scenario:${scenario}] Go.` }] })
  return id
}

/** Watches a target. `shown` has the text and prompt of each reply that has settled there. */
function watched(client: Client, target: WatchTarget, observer: ReplyObserver = {}) {
  const shown: (readonly [text: string, prompt: string | undefined])[] = []
  let begun = 0
  const collect = observerOf(({ type, reply }: { readonly type: string; readonly reply: Reply }) => {
    if (type === 'replyStarted') begun++
    if (type === 'replySettled') shown.push([textOf(reply), reply.prompt?.text])
  })
  return { stop: client.watch(target, { observe: () => [collect, observer] }), shown, begun: () => begun }
}

const statusChanged = 'listener: thread/status/changed'

describe.each(codexVersions)('a client of Codex %s that follows its own sessions', (version) => {
  test('gets two messages for a turn of another one, and asks nothing', async () => {
    const { bridge, wire, desk, directory, errors } = await started(version)
    const own = await bridge.prompt({ text: '[scenario:plain] Go.' }).result
    const other = await runAtDesk(desk, directory, 'plain')
    await expect.poll(() => wire.of(other).length, { timeout: 20_000 }).toBe(2)
    await runAtDesk(desk, directory, 'meanwhile', other)
    await expect.poll(() => wire.of(other), { timeout: 20_000 }).toEqual(Array(4).fill(statusChanged))
    expect([own.outcome, textOf(own), errors]).toEqual(['completed', expect.stringMatching(/./), []])
  })

  test('sees a run whole that goes on at the desk when it watches the session, and answers it', async () => {
    const { bridge, wire, desk, directory } = await started(version)
    await bridge.ready
    const sessionID = await runAtDesk(desk, directory, 'permission')
    await expect.poll(() => wire.of(sessionID).length, { timeout: 20_000 }).toBeGreaterThan(1)
    expect(new Set(wire.of(sessionID))).toEqual(new Set([statusChanged]))
    const permissionAsked: ReplyObserver['permissionAsked'] = ({ ask }) => void bridge.answer(ask, 'once')
    const { shown } = watched(bridge, { sessionID }, { permissionAsked })
    const first = ['I run it.\n\nIt is made.', '[scenario:permission] Go.']
    await expect.poll(() => shown, { timeout: 20_000 }).toEqual([first])
    await runAtDesk(desk, directory, 'meanwhile', sessionID)
    const next = ['The second answer.', '[scenario:meanwhile] Go.']
    await expect.poll(() => shown, { timeout: 20_000 }).toEqual([first, next])
  })

  test('disconnects 30 s after its last run, and the next prompt knows what came meanwhile', async () => {
    const clock = createHandClock()
    const { bridge, wire, desk, directory, errors } = await started(version, clock)
    const { sessionID } = await bridge.prompt({ text: '[scenario:plain] Go.' }).result
    const openLater = async (): Promise<number> => {
      await clock.advance(1000)
      return wire.open()
    }
    await expect.poll(openLater).toBe(0)
    await runAtDesk(desk, directory, 'meanwhile', sessionID)
    await expect.poll(async () => await bridge.sessions({ directory })).toHaveLength(1)
    const reply = await bridge.prompt({ text: '[scenario:plain] Go.', sessionID }).result
    expect([reply.outcome, textOf(reply), errors]).toEqual(['completed', 'Hello there, nice to meet you.', []])
    expect(wire.open()).toBe(1)
  })

  test('leaves a session once it is released and others work in it, and can work in it again', async () => {
    const { bridge, wire, desk, directory, model } = await started(version, createHandClock(), 1)
    const { sessionID } = await bridge.prompt({ text: '[scenario:plain] Go.' }).result
    await bridge.prompt({ text: '[scenario:plain] Go.' }).result
    // Codex closes a thread that all clients have left.
    await desk.request('thread/resume', { threadId: sessionID })
    await runAtDesk(desk, directory, 'slow', sessionID)
    // Codex sends the end of the turn too, unless it has left the thread by then.
    await expect.poll(() => wire.answered).toContain('thread/unsubscribe')
    model.release('slow')
    await expect.poll(() => wire.of(sessionID).at(-1)).toBe(statusChanged)
    const left = wire.of(sessionID).length
    await runAtDesk(desk, directory, 'plain', sessionID)
    await expect.poll(() => wire.of(sessionID).slice(left)).toEqual([statusChanged, statusChanged])
    const reply = await bridge.prompt({ text: '[scenario:meanwhile] Go.', sessionID }).result
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'The second answer.'])
  })

  test('sees all runs while it watches the directory, also one that went on before, and none after that', async () => {
    const { bridge, wire, desk, directory, model } = await started(version)
    await bridge.ready
    await runAtDesk(desk, directory, 'slow')
    await model.held('slow')
    const { shown, begun, stop } = watched(bridge, { directory })
    await expect.poll(begun, { timeout: 20_000 }).toBe(1)
    model.release('slow')
    const replies = [['I begin.', '[scenario:slow] Go.']]
    await expect.poll(() => shown, { timeout: 20_000 }).toEqual(replies)
    await runAtDesk(desk, directory, 'meanwhile')
    replies.push(['The second answer.', '[scenario:meanwhile] Go.'])
    await expect.poll(() => shown).toEqual(replies)
    stop()
    const last = await runAtDesk(desk, directory, 'plain')
    await expect.poll(() => wire.of(last)).toEqual([statusChanged, statusChanged])
  })
})
