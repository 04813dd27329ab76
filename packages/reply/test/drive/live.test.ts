import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Ask,
  askDetails,
  type PermissionAsk,
  type Reply,
  type ReplyStream,
  reasoningOf,
  textOf,
} from '../../src/index.ts'
import { testQueries } from '../source/live-queries.ts'
import { tellSession } from './live-truth.ts'
import { testPlacesOn } from './matrix/place.ts'
import { openStage, type Stage } from './server.ts'

let stage: Stage

beforeAll(async () => {
  stage = await openStage()
})
afterAll(async () => await stage.close())

const prompt = (name: string, more: object = {}): ReplyStream =>
  stage.opencode.prompt({ text: `Go. [scenario:${name}]`, ...more })

async function firstAsk(stream: ReplyStream): Promise<Ask> {
  for await (const change of stream.filter(['questionAsked', 'permissionAsked'])) return change.ask
  throw new Error('The reply settled without an ask.')
}

/** The permission once it is known what it would run. */
async function seenPermission(stream: ReplyStream): Promise<PermissionAsk> {
  for await (const { ask } of stream.filter(['permissionAsked', 'askChanged'])) {
    if (ask.type === 'permission' && ask.call) return ask
  }
  throw new Error('The reply settled before that.')
}

/** Waits until the text has come this far. */
async function until(stream: ReplyStream, isThere: (reply: Reply) => boolean): Promise<void> {
  for await (const _ of stream) if (stream.reply && isThere(stream.reply)) return
  throw new Error('The reply settled before that.')
}

describe('a prompt', () => {
  test('gives the settled reply, and its stream the same text', async () => {
    const stream = prompt('plain')
    let text = ''
    for await (const change of stream) {
      if (change.type === 'partChanged' && change.part.type === 'text') text += change.delta ?? ''
    }
    const reply = await stream.result
    expect(reply).toMatchObject({ outcome: 'completed', phase: 'settled', prompt: { text: 'Go. [scenario:plain]' } })
    expect([textOf(reply), reasoningOf(reply), text]).toEqual(['Hello there.', 'Hm.', 'Hello there.'])
    expect(reply.usage).toMatchObject({ steps: 1 })
    // A busy server lists its models after so short a run.
    const newest = async () => (await stage.opencode.reply(reply.sessionID))?.usage
    await expect.poll(newest, { timeout: 10_000 }).toMatchObject({ steps: 1, contextLimit: 200_000 })
  })

  test('goes on in the same session, as a new reply', async () => {
    const { sessionID } = await prompt('plain').result
    const second = await prompt('plain', { sessionID }).result
    expect(second).toMatchObject({ sessionID, outcome: 'completed' })
    expect([second.promptIDs.length, second.messages.length]).toEqual([1, 1])
  })

  test('on a busy session joins the running reply', async () => {
    const one = prompt('pause')
    await until(one, (reply) => textOf(reply).startsWith('One'))
    const two = prompt('plain', { sessionID: one.reply?.sessionID })
    await until(two, (reply) => reply.promptIDs.length === 2)
    stage.model.release('pause')
    expect([await one.result, two.joined]).toEqual([await two.result, true])
    expect(textOf(await two.result)).toBe('One two.\n\nHello there.')
  })

  test('sent at the same moment as another to one idle session is answered as well', async () => {
    const { sessionID } = await prompt('plain').result
    const both = [
      prompt('plain', { sessionID }),
      stage.opencode.prompt({ sessionID, text: '[scenario:plain] Me too.' }),
    ]
    const replies = await Promise.all(both.map((stream) => stream.result))
    expect(replies.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
    const { messages } = await tellSession(stage.server, sessionID)
    for (const [index, words] of ['Go. [scenario:plain]', '[scenario:plain] Me too.'].entries()) {
      const mine = messages.findLast(({ parts }) => parts.some((part) => part.type === 'text' && part.text === words))
      expect(replies[index]?.promptIDs).toContain(mine?.info.id)
    }
  })

  test('with noReply settles at once', async () => {
    const reply = await prompt('plain', { noReply: true }).result
    expect([reply.outcome, reply.messages.length]).toEqual(['completed', 0])
  })

  test("to a model that does not exist fails with the server's words", async () => {
    const reply = await prompt('plain', { model: { providerID: 'fake', modelID: 'none' } }).result
    expect(reply).toMatchObject({ outcome: 'failed' })
    expect(reply.error?.message).toMatch(/model/i)
  })

  test('to a session that does not exist fails and says so', async () => {
    const reply = await prompt('plain', { sessionID: 'ses_none' }).result
    expect(reply).toMatchObject({ outcome: 'failed', sessionID: 'ses_none' })
  })

  test('several at once keep apart', async () => {
    const replies = await Promise.all([1, 2, 3].map(() => prompt('plain').result))
    expect(new Set(replies.map((reply) => reply.sessionID)).size).toBe(3)
    expect(replies.map(textOf)).toEqual(['Hello there.', 'Hello there.', 'Hello there.'])
  })
})

describe('an ask', () => {
  test('is answered by its label', async () => {
    const stream = prompt('question')
    const ask = await firstAsk(stream)
    await expect(stage.opencode.answer(ask, [['Green', 'Red']])).rejects.toMatchObject({ type: 'invalid' })
    await stage.opencode.answer(ask, [['Blue']])
    const reply = await stream.result
    expect(reply.asks).toMatchObject([{ status: 'answered', answers: [['Blue']] }])
    await expect(stage.opencode.answer(ask, [['Red']])).rejects.toMatchObject({ type: 'already-resolved' })
  })

  test('of a sub-agent reaches the root, and a late approval after the abort changes nothing', async () => {
    const stream = prompt('child')
    const ask = await firstAsk(stream)
    expect(ask).toMatchObject({
      type: 'permission',
      permission: 'bash',
      path: [stream.reply?.sessionID, ask.sessionID],
    })
    const reply = await stream.abort()
    expect([reply.outcome, reply.asks.map((each) => each.status)]).toEqual(['aborted', ['rejected']])
    await expect(stage.opencode.answer(ask, 'once')).rejects.toMatchObject({ type: 'already-resolved' })
    expect(existsSync(join(stage.server.directory, 'asked-for.txt'))).toBe(false)
  })

  test('shows the whole command; the patterns tell only a harmless part', async () => {
    const stream = prompt('hidden')
    const ask = await seenPermission(stream)
    expect(ask.patterns).toEqual(['ls'])
    expect(askDetails(ask)?.[0]).toEqual({
      label: '',
      format: 'code',
      language: 'bash',
      text: "[[ -v 'a[$(touch hidden.txt)]' ]]; ls",
    })
    await stage.opencode.reject(ask)
    await stream.result
    expect(existsSync(join(stage.server.directory, 'hidden.txt'))).toBe(false)
  })

  test('that is allowed lets the sub-agent go on', async () => {
    const stream = prompt('child')
    await stage.opencode.answer(await firstAsk(stream), 'once')
    const reply = await stream.result
    expect([textOf(reply), reply.children.map((child) => textOf(child.reply))]).toEqual([
      'The child is done.',
      ['Done so.'],
    ])
    expect(reply.children[0]).toMatchObject({ agent: 'general', title: 'Touch a file', background: false })
  })

  test('that is rejected stops the reply', async () => {
    const stream = prompt('permission')
    await stage.opencode.reject(await firstAsk(stream))
    expect((await stream.result).outcome).toBe('stopped')
  })
})

describe('an abort', () => {
  test('in mid-text keeps the text', async () => {
    const stream = prompt('forever')
    await until(stream, (reply) => textOf(reply).includes('ends,'))
    const reply = await stream.abort()
    expect([reply.outcome, textOf(reply)]).toEqual(['aborted', 'This never ends, '])
  })

  test('by a signal ends a running tool', async () => {
    const abort = new AbortController()
    const stream = stage.opencode.prompt({ text: '[scenario:tool]' }, { signal: abort.signal })
    await until(stream, (reply) =>
      reply.messages.some((message) =>
        message.parts.some((part) => part.type === 'tool' && part.state.status === 'running'),
      ),
    )
    abort.abort()
    expect((await stream.result).outcome).toBe('aborted')
  })

  test('before the prompt was posted posts nothing', async () => {
    const before = stage.model.requests.length
    const reply = await stage.opencode.prompt({ text: 'Never.' }, { signal: AbortSignal.abort() }).result
    expect([reply.outcome, stage.model.requests.length]).toEqual(['aborted', before])
  })
})

describe('watching', () => {
  test('sees what another client starts, and running replies', async () => {
    const mine = prompt('watched')
    await until(mine, (reply) => textOf(reply).startsWith('One'))
    const other = stage.open()
    let [started, begin] = [0, () => {}]
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const settled = new Promise<Reply>((resolve) => {
      const replyStarted = (): void => {
        started += 1
        begin()
      }
      other.watch(
        { sessionID: mine.reply?.sessionID },
        { observe: () => [{ replyStarted, replySettled: ({ reply }) => resolve(reply) }] },
      )
    })
    // A run that was over before it was read is not news.
    await begun
    stage.model.release('watched')
    const seen = await settled
    expect([textOf(seen), started]).toEqual([textOf(await mine.result), 1])
    await other.close()
  })
})

test('nothing went wrong on the way', () => {
  expect(stage.errors.map((error) => error.message)).toEqual([])
})

testQueries(() => stage)

describe('a client of another directory', () => {
  testPlacesOn(() => stage, { version: '1.18.33', spellings: ['link/'] })
})
