import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, type PermissionAsk, pendingAsks, ReplyError, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterEach, describe, expect, test } from 'vitest'
import { codex } from '../../src/codex.ts'
import { type CollectedReplies, collectReplies } from '../collect-replies.ts'
import { type CutListener, cutListener } from './cut-listener.ts'
import { promptAndWait } from './desk-scene.ts'
import { type Listener, startListener, listenerToken as token } from './listener.ts'
import { connectRawDesk } from './raw-desk.ts'

let listener: Listener | undefined
let network: CutListener | undefined
const clients: Client[] = []

interface Stage {
  readonly listener: Listener
  readonly network: CutListener
  /** Connected directly. */
  readonly desk: Client
  /** Connected through the network. */
  readonly chat: Client
  /** What the chat has of the folder. */
  readonly shown: CollectedReplies
  /** What was reported of the chat's connection. */
  readonly errors: readonly string[]
  /** Resolves once the chat is connected again, or has lost the connection. */
  is(connection: 'live' | 'lost'): Promise<void>
}

async function connected(
  url: string,
  options: Parameters<typeof connectSource>[1] = {},
  errors: string[] = [],
): Promise<Client> {
  const onError = (error: ReplyError) => void errors.push(error.message)
  const client = connectSource(codex({ url, token, onError }), { backOff: { minMs: 20, maxMs: 100 }, ...options })
  clients.push(client)
  await client.ready
  return client
}

async function stage(version: string): Promise<Stage> {
  listener = await startListener(version)
  network = await cutListener(listener.url)
  const states: string[] = []
  const errors: string[] = []
  const desk = await connected(listener.url)
  const chat = await connected(network.url, { onConnection: (state) => void states.push(state) }, errors)
  const shown = collectReplies(chat, listener.directory)
  const is = async (state: string): Promise<void> => await expect.poll(() => states.at(-1)).toBe(state)
  return { listener, network, desk, chat, shown, errors, is }
}

/** The asks that a client gets, as they arrive. */
function asksOf(client: Client): PermissionAsk[] {
  const asks: PermissionAsk[] = []
  client.on('permissionAsked', ({ ask }) => void asks.push(ask))
  return asks
}

const whole = 'I run it.\n\nIt is made.'

/** Loses the connection to a Codex of this version in each way. */
export function testLostConnection(version: string): void {
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()))
    network?.close()
    await listener?.close()
    listener = undefined
  })

  describe(`the connection to Codex ${version}`, () => {
    test('is lost in mid-turn: the same reply goes on, and has what it missed once', async () => {
      const { network, listener, chat, is } = await stage(version)
      const first = await chat.prompt({ text: '[scenario:plain] Go.' }).result
      const stream = chat.prompt({ text: '[scenario:slow] Go.', sessionID: first.sessionID })
      await listener.model.held('slow')
      network.cut()
      await is('lost')
      listener.model.release('slow')
      network.mend()
      const reply = await stream.result
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I begin.'])
    })

    test.each([
      ['a whole copy', false],
      ['an empty copy', true],
    ])(
      'is lost in mid-turn of %s of a session, and the turn ends: its reply has what it missed',
      async (_, isEmpty) => {
        const { network, listener, desk, chat, is } = await stage(version)
        const first = await chat.prompt({ text: '[scenario:plain] Go.' }).result
        const { sessionID } = await chat.fork(first.sessionID, isEmpty ? first.promptIDs[0] : undefined)
        const atDesk = collectReplies(desk, listener.directory)
        const stream = chat.prompt({ text: '[scenario:slow] Go.', sessionID })
        await expect.poll(() => stream.reply && textOf(stream.reply)).toBe('I begin.')
        await atDesk.begun(1)
        network.cut()
        await is('lost')
        listener.model.release('slow')
        await atDesk.settled((replies) => replies.length === 1)
        network.mend()
        const reply = await stream.result
        expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I begin.'])
        const next = await chat.prompt({ text: '[scenario:meanwhile] Go.', sessionID }).result
        expect([next.outcome, textOf(next)]).toEqual(['completed', 'The second answer.'])
      },
    )

    test('is lost while the session of a running reply is archived: that fails, and the reason is reported', async () => {
      const { network, listener, chat, errors, is } = await stage(version)
      const { sessionID } = await chat.prompt({ text: '[scenario:plain] Go.' }).result
      const stream = chat.prompt({ text: '[scenario:slow] Go.', sessionID })
      await expect.poll(() => stream.reply && textOf(stream.reply)).toBe('I begin.')
      network.cut()
      await is('lost')
      const desk = await connectRawDesk(listener.url)
      expect((await desk.request('thread/archive', { threadId: sessionID })).error).toBeUndefined()
      desk.close()
      network.mend()
      const reply = await stream.result
      expect([reply.outcome, reply.error?.message]).toEqual(['failed', expect.stringContaining('does not go on')])
      expect(errors).toEqual([
        expect.stringContaining(`Session ${sessionID} can't be opened again after the lost connection`),
      ])
    })

    test('is lost while a request waits: it stays pending under its id, and is answered once', async () => {
      const { network, listener, desk, chat, shown, is } = await stage(version)
      const asked = asksOf(chat)
      const { requestID } = await promptAndWait(desk)
      await shown.seen(({ asks }) => asks.length > 0)
      network.cut()
      await is('lost')
      network.mend()
      await is('live')
      const [ask] = asked
      if (!ask) throw new Error('The chat has no request.')
      expect(existsSync(join(listener.directory, 'made.txt'))).toBe(false)
      await chat.answer(ask, 'once')
      const [reply] = await shown.settled((replies) => replies.length === 1)
      expect([reply?.outcome, reply && textOf(reply), asked.map((one) => one.requestID)]).toEqual([
        'completed',
        whole,
        [requestID],
      ])
      expect(reply?.asks).toMatchObject([{ requestID, status: 'answered' }])
    })

    test('is lost twice and the client started again: the request keeps its id, and its command is shown', async () => {
      const { network, listener, desk, chat, shown, is } = await stage(version)
      const { requestID } = await promptAndWait(desk)
      await shown.seen(({ asks }) => asks.length > 0)
      for (const _ of [1, 2]) {
        network.cut()
        await is('lost')
        network.mend()
        await is('live')
      }
      await chat.close()
      const next = await connected(network.url)
      const again = asksOf(next)
      const after = collectReplies(next, listener.directory)
      await expect.poll(() => again.map((one) => one.requestID)).toEqual([requestID])
      const [ask] = again
      expect(ask?.call?.input?.command).toContain('touch made.txt')
      if (ask) await next.answer(ask, 'once')
      const [reply] = await after.settled((replies) => replies.length === 1)
      expect([reply?.outcome, reply?.asks.map(({ status }) => status)]).toEqual(['completed', ['answered']])
    })

    test.each(['once', 'reject'] as const)(
      'is lost while the desk answers a request (%s): it is withdrawn, and the rest is shown',
      async (how) => {
        const { network, listener, desk, shown, is } = await stage(version)
        const ask = await promptAndWait(desk)
        await shown.seen(({ asks }) => asks.length > 0)
        network.cut()
        await is('lost')
        if (how === 'once') await desk.answer(ask, 'once')
        else await desk.reject(ask)
        network.mend()
        const [reply] = await shown.settled((replies) => replies.length === 1)
        expect([reply?.outcome, reply && textOf(reply), reply?.asks.map(({ status }) => status)]).toEqual([
          'completed',
          whole,
          ['withdrawn'],
        ])
        // The history of the older version has no commands.
        if (how === 'reject' || version === '0.169.0')
          expect(reply && toolsOf(reply).map(({ state }) => state.status)).toEqual([
            how === 'once' ? 'completed' : 'error',
          ])
        expect(existsSync(join(listener.directory, 'made.txt'))).toBe(how === 'once')
      },
    )

    test('takes an answer with it: that fails, and the request can be answered again', async () => {
      const { network, desk, chat, shown, is } = await stage(version)
      const asked = asksOf(chat)
      await promptAndWait(desk)
      await shown.seen(({ asks }) => asks.length > 0)
      const [ask] = asked
      if (!ask) throw new Error('The chat has no request.')
      network.deafen()
      const answer = chat.answer(ask, 'once').catch((error: unknown) => error)
      network.cut()
      const failure = await answer
      expect(failure instanceof ReplyError && failure.type).toBe('unreachable')
      await is('lost')
      network.mend()
      await is('live')
      await chat.answer(ask, 'once')
      const [reply] = await shown.settled((replies) => replies.length === 1)
      expect([reply?.outcome, reply?.asks.map(({ status }) => status)]).toEqual(['completed', ['answered']])
    })

    test.each(['deafen', 'cut'] as const)('takes a prompt with it (%s): that runs once', async (how) => {
      const { network, chat, shown, is } = await stage(version)
      const { sessionID } = await chat.prompt({ text: '[scenario:plain] Go.' }).result
      if (how === 'deafen') network.deafen()
      const stream = chat.prompt(
        { text: '[scenario:meanwhile] Go.', sessionID },
        { onPosting: () => void setImmediate(network.cut) },
      )
      await is('lost')
      network.mend()
      const reply = await stream.result
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'The second answer.'])
      const replies = await shown.settled((all) => all.length >= 2)
      expect(replies.map(textOf)).toEqual(['Hello there, nice to meet you.', 'The second answer.'])
    })

    test('is lost while the desk begins and ends a run in the session: the chat has that, too', async () => {
      const { network, desk, chat, shown, is } = await stage(version)
      const { sessionID } = await chat.prompt({ text: '[scenario:plain] Go.' }).result
      network.cut()
      await is('lost')
      await desk.prompt({ text: '[scenario:meanwhile] Theirs.', sessionID }).result
      network.mend()
      const replies = await shown.settled((all) => all.length >= 2)
      expect(replies.map((reply) => [reply.prompt?.text, textOf(reply)])).toEqual([
        ['[scenario:plain] Go.', 'Hello there, nice to meet you.'],
        ['[scenario:meanwhile] Theirs.', 'The second answer.'],
      ])
    })

    test("is lost while a sub-agent's request waits: it is answered under its id, also after a restart of the client", async () => {
      const { network, listener, desk, chat, shown, is } = await stage(version)
      const asked = asksOf(chat)
      desk.prompt({ text: '[scenario:delegate] Go.' })
      await shown.seen((reply) => pendingAsks(reply).length > 0)
      network.cut()
      await is('lost')
      network.mend()
      await is('live')
      expect(asked).toHaveLength(1)
      await chat.close()
      const next = await connected(network.url)
      const again = asksOf(next)
      const after = collectReplies(next, listener.directory)
      await expect.poll(() => again.map((one) => one.requestID)).toEqual(asked.map((one) => one.requestID))
      const [ask] = again
      if (ask) await next.answer(ask, 'once')
      const [reply] = await after.settled((replies) => replies.length === 1)
      expect([reply?.outcome, reply && textOf(reply), reply?.asks.map(({ status }) => status)]).toEqual([
        'completed',
        'The agent is done.',
        ['answered'],
      ])
      expect(reply?.children.map((child) => textOf(child.reply))).toEqual(['The child works.\n\nThe child is done.'])
    })

    test('ends with the process in mid-turn: the reply ends once that runs again, and its request is gone', async () => {
      const { listener: before, desk, chat, shown, is } = await stage(version)
      const { sessionID } = await promptAndWait(desk)
      await shown.seen(({ asks }) => asks.length > 0)
      await before.kill()
      await is('lost')
      listener = await startListener(version, before)
      const [reply] = await shown.settled((replies) => replies.length === 1)
      expect([reply?.outcome, reply?.error?.message, reply?.asks.map(({ status }) => status)]).toEqual([
        'failed',
        'Codex was ended in the middle of this turn, which does not go on. Send another prompt to continue.',
        ['withdrawn'],
      ])
      const next = await chat.prompt({ text: '[scenario:meanwhile] Go.', sessionID }).result
      expect([next.outcome, textOf(next)]).toEqual(['completed', 'The second answer.'])
    })
  })
}
