import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect, observerOf, pendingAsks, type Reply, textOf } from '../../src/index.ts'

const [sessionID, directory] = ['ses_1', '/project']
const head = { sessionID, role: 'user', agent: 'build', model: { providerID: 'p', modelID: 'm' } }
const step = { ...head, role: 'assistant', providerID: 'p', modelID: 'm', path: { cwd: directory, root: directory } }
const usage = { cost: 0, tokens: { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } } }
const prompt = { ...head, id: 'msg_a', time: { created: 1000 } }
const answer = { ...step, ...usage, id: 'msg_a1', parentID: 'msg_a', time: { created: 1001 } }
const queued = { ...head, id: 'msg_b', time: { created: 1002 } }
const ended = { ...answer, finish: 'tool-calls', time: { created: 1001, completed: 1003 } }
const next = { ...step, ...usage, id: 'msg_b1', parentID: 'msg_b', time: { created: 1004 } }
const ask = {
  ...{ id: 'per_1', sessionID, permission: 'bash', patterns: ['touch a'], always: [], metadata: {} },
  tool: { messageID: 'msg_a1', callID: 'call_1' },
}
const updated = (info: object) => ({ type: 'message.updated', properties: { sessionID, info } })
const answered = { type: 'permission.replied', properties: { sessionID, requestID: 'per_1', reply: 'once' } }

const call = {
  ...{ id: 'prt_1', sessionID, messageID: 'msg_a1', type: 'tool', callID: 'call_1', tool: 'bash' },
  state: { status: 'running', input: { command: 'touch a' }, time: { start: 1001 } },
}
const text = { id: 'prt_2', sessionID, messageID: 'msg_a', type: 'text', text: 'Do it.' }

type Info = { readonly id: string }

interface Window {
  readonly what: string
  /** The messages when the sessions are listed, and once they are read. */
  readonly listed: readonly Info[]
  readonly read?: readonly Info[]
  /** What comes in between. */
  readonly events: readonly object[]
  readonly prompts: readonly string[]
  readonly steps?: readonly string[]
  readonly asks?: readonly string[]
}

const atWork = [prompt, answer, queued]
const windows: readonly Window[] = [
  { what: 'nothing', listed: atWork, events: [], prompts: ['msg_a'] },
  {
    what: 'a prompt that is queued now',
    listed: [prompt, answer],
    read: atWork,
    events: [updated({ ...queued, time: { created: 5000 } })],
    prompts: ['msg_a', 'msg_b'],
  },
  {
    what: 'an update of the prompt that is queued',
    listed: atWork,
    events: [updated(queued)],
    prompts: ['msg_a', 'msg_b'],
  },
  { what: 'an update of the prompt that is answered', listed: atWork, events: [updated(prompt)], prompts: ['msg_a'] },
  {
    what: 'the step for the next prompt',
    listed: atWork,
    read: [prompt, ended, queued, next],
    events: [answered, updated(ended), updated(next)],
    prompts: ['msg_a', 'msg_b'],
    steps: ['msg_a1', 'msg_b1'],
    asks: [],
  },
]

test.each(windows.flatMap((window) => (['own', 'all'] as const).map((follow) => ({ ...window, follow }))))(
  'a new watch that follows $follow shows a run whole if $what comes before it has read the run',
  async ({ follow, listed, read = listed, events, prompts, steps = ['msg_a1'], asks = ['per_1'] }) => {
    const clock = createHandClock()
    const stream = new TransformStream<string, string>()
    const writer = stream.writable.getWriter()
    const push = (payload: object): void => void writer.write(`data: ${JSON.stringify({ directory, payload })}\n\n`)
    let isWatching = false
    let messages = listed
    const info = { id: sessionID, directory, title: 'Work', time: { created: 900, updated: 1002 } }
    const answers: Readonly<Record<string, () => unknown>> = {
      '/global/health': () => ({ healthy: true, version: '1.18.33' }),
      '/session/status': () => {
        if (isWatching && messages === listed) {
          messages = read
          for (const event of events) push(event)
        }
        return { [sessionID]: { type: 'busy' } }
      },
      '/session': () => [info],
      [`/session/${sessionID}`]: () => info,
      [`/session/${sessionID}/message`]: () =>
        messages.map((each) => ({ info: each, parts: [call, text].filter((part) => part.messageID === each.id) })),
      '/permission': () => (asks.length > 0 ? [ask] : []),
      '/path': () => ({ directory, worktree: directory }),
    }
    const opencode = connect({
      ...{
        url: 'http://made',
        directory,
        clock,
        follow,
        random: () => 0,
        onError: (error) => expect.fail(error.message),
      },
      fetch: async (input) => {
        const { pathname } = new URL(input instanceof Request ? input.url : input)
        if (pathname !== '/global/event') {
          await new Promise((resolve) => setImmediate(resolve))
          return Response.json(answers[pathname]?.() ?? [])
        }
        push({ type: 'server.connected', properties: {} })
        const body = stream.readable.pipeThrough(new TextEncoderStream())
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      },
    })
    await opencode.ready
    let reply: Reply | undefined
    isWatching = true
    opencode.watch({ directory }, { observe: () => [observerOf((observation) => (reply = observation.reply))] })
    const shown = () =>
      reply && {
        prompts: reply.promptIDs,
        steps: reply.messages.map(({ id }) => id),
        asks: pendingAsks(reply).map(({ requestID }) => requestID),
      }
    await expect.poll(() => shown()?.steps).toEqual(steps)
    // Observers hear of a prompt with the next change.
    const part = { id: 'prt_9', sessionID, messageID: steps.at(-1), type: 'text', text: 'Done.' }
    push({ type: 'message.part.updated', properties: { sessionID, part, time: 1005 } })
    await expect.poll(() => reply && textOf(reply)).toBe('Done.')
    expect(shown()).toEqual({ prompts, steps, asks })
    await opencode.close()
  },
)

test.each(['own', 'all'] as const)(
  'a run that began and ended while a new watch read, before the connection was lost, is reported to a client that follows %s',
  async (follow) => {
    const clock = createHandClock()
    const errors: string[] = []
    const sessions = ['ses_1', 'ses_2'].map((id) => {
      return { id, directory, title: 'Work', time: { created: 900, updated: 1002 } }
    })
    const messages: Record<string, object[]> = { ses_2: [{ info: { ...prompt, sessionID: 'ses_2' }, parts: [] }] }
    let writer: WritableStreamDefaultWriter<string> | undefined
    /** Answers what the watch reads. */
    const answersToWatch: (() => void)[] = []
    let isWatching = false
    const push = (type: string, properties: object): void =>
      void writer?.write(`data: ${JSON.stringify({ directory, payload: { type, properties } })}\n\n`)
    const answers: Readonly<Record<string, (query: URLSearchParams) => unknown>> = {
      '/global/health': () => ({ healthy: true, version: '1.18.33' }),
      '/session/status': () => ({ ses_2: { type: 'busy' } }),
      '/session': (query) => sessions.filter(({ time }) => time.updated >= Number(query.get('start') ?? 0)),
      '/path': () => ({ directory, worktree: directory }),
    }
    const opencode = connect({
      ...{ url: 'http://made', directory, clock, follow, random: () => 0 },
      onError: (error) => void errors.push(error.message),
      fetch: async (input) => {
        const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
        const [, , id = '', what] = pathname.split('/')
        await new Promise((resolve) => setImmediate(resolve))
        if (pathname === '/global/event') {
          const stream = new TransformStream<string, string>()
          writer = stream.writable.getWriter()
          push('server.connected', {})
          const body = stream.readable.pipeThrough(new TextEncoderStream())
          return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
        }
        if (pathname === '/session/status' && isWatching)
          await new Promise<void>((resolve) => void answersToWatch.push(resolve))
        if (what === 'message') return Response.json(messages[id] ?? [])
        return Response.json(answers[pathname]?.(searchParams) ?? sessions.find((one) => one.id === id) ?? [])
      },
    })
    const replies = new Map<string, Reply>()
    const watch = (): void =>
      void opencode.watch(
        { directory },
        { observe: () => [observerOf(({ reply }) => void replies.set(reply.sessionID, reply))] },
      )
    watch()
    await opencode.ready
    await expect.poll(() => replies.has('ses_2')).toBe(true)
    isWatching = true
    watch()
    await expect.poll(() => answersToWatch.length).toBeGreaterThan(0)
    const own = { ...prompt, time: { created: 5000 } }
    const done = { ...answer, finish: 'stop', time: { created: 5001, completed: 5002 } }
    push('message.updated', { sessionID, info: own })
    push('session.status', { sessionID, status: { type: 'busy' } })
    push('message.updated', { sessionID, info: done })
    push('session.idle', { sessionID })
    messages.ses_1 = [
      { info: own, parts: [text] },
      { info: done, parts: [{ ...text, id: 'prt_3', messageID: 'msg_a1', text: 'Done.' }] },
    ]
    for (const { id, time } of sessions) if (id === sessionID) time.updated = 5002
    push('message.updated', { sessionID: 'ses_2', info: { ...answer, sessionID: 'ses_2', time: { created: 6000 } } })
    await expect.poll(() => replies.get('ses_2')?.messages.length).toBe(1)
    expect(replies.has(sessionID)).toBe(false)
    isWatching = false
    await writer?.close()
    await expect.poll(() => errors.some((error) => error.includes('ended'))).toBe(true)
    for (const answerNow of answersToWatch) answerNow()
    await expect
      .poll(async () => {
        await clock.advance(100)
        return replies.get(sessionID)?.outcome
      })
      .toBe('completed')
    await opencode.close()
  },
)
