import { createServer } from 'node:net'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { wasNeverSent } from '../../src/drive/never-sent.ts'
import { ReplyError, textOf } from '../../src/index.ts'
import { connectSource } from '../../src/source.ts'
import { busy, ended, idle, text, user } from '../make.ts'
import { createMemorySource } from '../source/memory-source.ts'

const sessionID = 'ses_1'

/** As Node says it, in an error of the driver. */
const failed = (fields: object): ReplyError =>
  new ReplyError('unreachable', 'No OpenCode server.', {
    cause: new TypeError('fetch failed', { cause: Object.assign(new Error('It failed.'), fields) }),
  })
const refused = failed({ code: 'ECONNREFUSED', syscall: 'connect' })
const tooLate = failed({ code: 'UND_ERR_CONNECT_TIMEOUT' })
const brokeOff = failed({ code: 'UND_ERR_SOCKET' })

/** An agent whose posts fail as `fail` says, by their number. */
async function stage(fail: (post: number) => ReplyError | undefined, { canRead = false, isBusy = false } = {}) {
  let posts = 0
  const memory = createMemorySource(
    { canRead, ...(isBusy && { takesPromptsWhileBusy: true, nextMessageID: () => 'msg_2' }) },
    {
      prompt: async () => {
        const error = fail(++posts)
        if (error) throw error
      },
    },
  )
  const clock = createHandClock()
  const opencode = connectSource(memory.source, { clock, random: () => 0 })
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const advance = (ms: number) => clock.advance(ms, rest)
  return { memory, opencode, rest, advance, posts: () => posts }
}

test('a post that got no connection is tried again, and its run is followed', async () => {
  // Each try may take undici's ten seconds, in all more than the half minute that a prompt is looked for.
  const { memory, opencode, rest, advance, posts } = await stage((post) =>
    post < 9 ? [refused, tooLate][post % 2] : undefined,
  )
  const stream = opencode.prompt({ text: 'Hello.' })
  await advance(55_000)
  expect([posts(), stream.reply?.phase]).toEqual([9, 'waiting'])
  memory.send(user('m1.u', { sessionID }), busy(sessionID))
  memory.send(ended('m1', { sessionID }), text('m1', 'Hi.', { sessionID, status: 'sealed' }), idle(sessionID))
  await rest()
  expect(textOf(await stream.result)).toBe('Hi.')
  await opencode.close()
})

test('a post that never gets a connection fails after a minute with the reason', async () => {
  const { opencode, advance, posts } = await stage(() => refused)
  const stream = opencode.prompt({ text: 'Hello.' })
  await advance(70_000)
  const { outcome, error } = await stream.result
  expect([outcome, error?.name, error?.message]).toEqual(['failed', 'unreachable', refused.message])
  const after = posts()
  await advance(120_000)
  expect(posts()).toBe(after)
  await opencode.close()
})

test('a prompt that is stopped while its post has no connection is never posted', async () => {
  const { opencode, rest, advance, posts } = await stage(() => refused)
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  void stream.abort()
  await advance(120_000)
  expect([(await stream.result).outcome, posts()]).toEqual(['aborted', 1])
  await opencode.close()
})

test('a post into a busy session is tried again, too', async () => {
  const { memory, opencode, rest, advance, posts } = await stage((post) => (post === 2 ? refused : undefined), {
    isBusy: true,
  })
  const first = opencode.prompt({ text: 'One.' })
  await rest()
  memory.send(user('msg_1', { sessionID }), busy(sessionID))
  await rest()
  const second = opencode.prompt({ text: 'Two.', sessionID })
  await advance(1000)
  expect(posts()).toBe(3)
  memory.send(user('msg_2', { sessionID }), ended('m1', { sessionID }))
  memory.send(text('m1', 'Both.', { sessionID, status: 'sealed' }), idle(sessionID))
  await rest()
  expect([textOf(await first.result), textOf(await second.result)]).toEqual(['Both.', 'Both.'])
  await opencode.close()
})

test('a post whose connection broke is not repeated, and fails if nothing runs for it', async () => {
  const { opencode, advance, posts } = await stage(() => brokeOff)
  const stream = opencode.prompt({ text: 'Hello.' })
  await advance(40_000)
  expect(await stream.result).toMatchObject({ outcome: 'failed', error: { name: 'NeverStarted' } })
  expect(posts()).toBe(1)
  await opencode.close()
})

test('a post whose connection broke ends as lost if the server answers nothing any more', async () => {
  // Its stream stays open, so that the connection is not lost.
  const { opencode, advance } = await stage(() => brokeOff, { canRead: true })
  const stream = opencode.prompt({ text: 'Hello.' })
  await advance(600_000)
  expect(await stream.result).toMatchObject({ outcome: 'lost', lostReason: 'unreachable' })
  await opencode.close()
})

/** An agent that knows one session, whose reads fail as `fail` says, by their number. */
async function readStage(fail: (read: number) => ReplyError | undefined) {
  let reads = 0
  const session = async () => {
    const error = fail(++reads)
    if (error) throw error
    return { sessionID }
  }
  const memory = createMemorySource({}, { session })
  const clock = createHandClock()
  const opencode = connectSource(memory.source, { clock, random: () => 0 })
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { memory, opencode, rest, advance: (ms: number) => clock.advance(ms, rest), reads: () => reads }
}

test('a prompt whose session is read while the server restarts is posted once it answers', async () => {
  const { memory, opencode, rest, advance, reads } = await readStage((read) => [brokeOff, refused, brokeOff][read - 1])
  const stream = opencode.prompt({ text: 'Hello.', sessionID })
  await advance(5000)
  expect([reads(), memory.prompts]).toEqual([4, ['Hello.']])
  memory.send(user('m1.u', { sessionID }), busy(sessionID))
  memory.send(ended('m1', { sessionID }), text('m1', 'Hi.', { sessionID, status: 'sealed' }), idle(sessionID))
  await rest()
  expect(textOf(await stream.result)).toBe('Hi.')
  await opencode.close()
})

test('a prompt whose session can’t be read for a minute fails, and one that is stopped meanwhile ends', async () => {
  const { memory, opencode, rest, advance, reads } = await readStage(() => brokeOff)
  const stopped = opencode.prompt({ text: 'Hello.', sessionID })
  await rest()
  void stopped.abort()
  await advance(1000)
  expect((await stopped.result).outcome).toBe('aborted')
  const before = reads()
  const stream = opencode.prompt({ text: 'Hello.', sessionID })
  await advance(80_000)
  expect(await stream.result).toMatchObject({ outcome: 'failed', error: { name: 'unreachable' } })
  expect([memory.prompts, reads() - before < 20]).toEqual([[], true])
  await opencode.close()
})

test('only a failure before the connection says that nothing was sent', async () => {
  const server = createServer((socket) => socket.destroy())
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(Reflect.get(server.address() ?? {}, 'port'))),
  )
  const failure = async (url: string): Promise<unknown> =>
    await fetch(url, { method: 'POST', body: 'x' }).catch((error: unknown) => error)
  const hungUp = await failure(`http://127.0.0.1:${port}`)
  await new Promise((resolve) => server.close(resolve))
  const noServer = await failure(`http://127.0.0.1:${port}`)
  const noName = await failure(`http://nowhere.invalid:${port}`)
  // Both addresses of a name, each refused.
  const both = new TypeError('fetch failed', { cause: new AggregateError([refused.cause, tooLate.cause]) })
  const noWay = failed({ code: 'EHOSTUNREACH', syscall: 'connect' })
  const unsent = [noServer, noName, both, refused, tooLate, noWay]
  expect(unsent.map(wasNeverSent)).toEqual(unsent.map(() => true))
  const readTimeOut = failed({ code: 'ETIMEDOUT', syscall: 'read' })
  // The way to the server may be lost after it got the request.
  const wayLost = failed({ code: 'EHOSTUNREACH', syscall: 'read' })
  const unknown = [hungUp, brokeOff, readTimeOut, wayLost, undefined]
  expect(unknown.map(wasNeverSent)).toEqual(unknown.map(() => false))
})
