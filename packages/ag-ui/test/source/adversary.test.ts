import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type Ask, askDetails, askTitle } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { expect, onTestFinished, test } from 'vitest'
import { agUi } from '../../src/index.ts'
import { patched } from '../../src/source/decode/patch.ts'
import { call, result, say } from './fake-agent.ts'
import { asks, inTurn, partsOf, pendingOf, sends, stage } from './stage.ts'

const responseSchema = { type: 'string', enum: ['approve', 'reject'] }

/** What a person sees of a permission. Undefined if it can't be allowed. */
function seen(ask: Ask | undefined): string | undefined {
  if (ask?.type !== 'permission') return undefined
  const details = askDetails(ask)
  return details && [askTitle(ask), ...details.map(({ text }) => text)].join('\n')
}

/** Starts a server. Resolves with its address and the requests that it got. */
async function listen(answer: RequestListener) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { requests, port: typeof address === 'object' && address !== null ? address.port : 0 }
}

/** The message of the error that a prompt to this address ends with. */
async function errorAt(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const client = connectSource(agUi({ url, headers }))
  const { error } = await client.prompt({ text: 'Hi' }).result
  await client.close()
  return JSON.stringify(error)
}

test('all lines of what an interrupt says are shown before it can be allowed', async () => {
  const message = 'Deploy?\nThis also deletes the old database.'
  const interrupt = { id: 'i', reason: 'tool_call', toolCallId: 'c1', message, responseSchema }
  await using agent = await stage(inTurn(asks(call('c1', 'deploy', { to: 'prod' }), interrupt), sends()))
  const [ask] = await pendingOf(agent.client.prompt({ text: 'Go' }))
  expect(seen(ask)).toContain('This also deletes the old database.')
})

test('what the schema of an answer says is shown before it can be allowed', async () => {
  const schema = {
    description: 'Approving also emails all customers.',
    properties: {
      decision: {
        oneOf: [
          { const: 'approve', title: 'Delete for good' },
          { const: 'reject', title: 'No' },
        ],
      },
      reason: { type: 'string', description: 'Why not' },
    },
  }
  const interrupt = { id: 'i', reason: 'tool_call', toolCallId: 'c1', responseSchema: schema }
  await using agent = await stage(inTurn(asks(call('c1', 'clean', { deep: true }), interrupt), sends()))
  const [ask] = await pendingOf(agent.client.prompt({ text: 'Go' }))
  expect(seen(ask)).toContain('Approving also emails all customers.')
  expect(seen(ask)).toContain('Delete for good')
  expect(seen(ask)).not.toContain('Why not')
})

test('a call that was never shown can only be rejected', async () => {
  const interrupt = { id: 'i', reason: 'tool_call', toolCallId: 'unseen', message: 'Allow?', responseSchema }
  await using agent = await stage(inTurn(asks([], interrupt), sends(...say('m1', 'Then not.'))))
  const stream = agent.client.prompt({ text: 'Go' })
  const [ask] = await pendingOf(stream)
  if (ask?.type !== 'permission') throw new Error('Nothing is asked.')
  expect(askDetails(ask)).toBeUndefined()
  await agent.client.reject(ask)
  expect(partsOf(await stream.result)).toEqual([['text', 'Then not.']])
})

test('a call that has ended is shown again with its input, if it is asked about', async () => {
  const interrupt = { id: 'i', reason: 'tool_call', toolCallId: 'c1', message: 'Again?', responseSchema }
  const events = [...call('c1', 'remove', { path: '/data' }), result('c1', 'Not yet.')]
  await using agent = await stage(inTurn(asks(events, interrupt), sends()))
  const [ask] = await pendingOf(agent.client.prompt({ text: 'Go' }))
  expect(seen(ask)).toContain('/data')
  expect(seen(ask)).toContain('remove')
})

test('a call that is told again has the name and the input that were told last, in the chat and for the agent', async () => {
  const events = [...call('c1', 'list', { path: '.' }), ...call('c1', 'remove', { path: '/' }), result('c1', 'Done.')]
  await using agent = await stage(inTurn(sends(...events), sends()))
  const first = await agent.client.prompt({ text: 'Go' }).result
  expect(partsOf(first)).toEqual([['remove', 'completed', { path: '/' }, 'Done.']])
  await agent.client.prompt({ sessionID: first.sessionID, text: 'And?' }).result
  expect(JSON.stringify(agent.agent.inputs[1]?.messages)).toContain(
    JSON.stringify({ name: 'remove', arguments: '{"path":"/"}' }),
  )
})

const deep = `${'{"oneOf":['.repeat(50_000)}{}${']}'.repeat(50_000)}`

test.each([
  ['schema', `{"id":"i","responseSchema":${deep}}`],
  ['metadata', `{"id":"i","reason":"approval","message":"Go on?","metadata":{"x":${deep}}}`],
])('an interrupt with %s nested 100,000 levels deep ends the run, and crashes nothing', async (_, interrupt) => {
  await using agent = await stage(({ write }) => {
    write(`data: {"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[${interrupt}]}}\n\n`)
    return undefined
  })
  expect((await agent.client.prompt({ text: 'Go' }).result).outcome).toBe('lost')
  expect(agent.errors[0]?.message).toContain('nested too deeply')
})

test('an interrupt of an agent in your process that can not be read ends the run, and crashes nothing', async () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const interrupt = { id: 'i', reason: 'approval', message: 'Go on?', metadata: { circle } }
  const run = async function* () {
    yield { type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts: [interrupt] } }
  }
  const client = connectSource(agUi({ agent: { run } }))
  const { outcome, error } = await client.prompt({ text: 'Go' }).result
  expect([outcome, error?.name]).toEqual(['lost', 'malformed'])
  await client.close()
})

test('a redirect takes no header to another host', async () => {
  const other = await listen((_, response) => response.end())
  const location = `http://localhost:${other.port}/`
  const { port } = await listen((_, response) => response.writeHead(307, { location }).end())
  expect(await errorAt(`http://127.0.0.1:${port}/`, { 'x-api-key': 's3cret-key' })).toContain('redirects to')
  expect(other.requests).toEqual([])
})

test('credentials in the url are in no error, however the agent repeats them', async () => {
  const { port } = await listen(({ headers, url }, response) => {
    response.writeHead(500).end(`${headers.authorization} ${url} hunter22`)
  })
  const message = await errorAt(`http://ann:hunter22@127.0.0.1:${port}/?key=abcdefghijk`)
  expect(message).toContain('refused the run (500)')
  expect(message).not.toMatch(/hunter22|abcdefghijk|YW5uOmh1bnRlcjIy/)
})

test.each(['änn:p€ss', 'ann:100%'])('the credentials %s in the url are sent', async (credentials) => {
  const { port, requests } = await listen((_, response) => response.writeHead(500).end())
  await errorAt(`http://${credentials}@127.0.0.1:${port}/`)
  const sent = requests.at(-1)?.headers.authorization
  expect(sent).toBe(`Basic ${Buffer.from(credentials).toString('base64')}`)
})

test('the code of an error has no secrets either', async () => {
  const headers = { authorization: 'Bearer s3cret-token' }
  await using agent = await stage(
    ({ send }) => void send({ type: 'RUN_ERROR', message: 's3cret-token', code: 's3cret-token' }),
    { headers },
  )
  const { outcome, error } = await agent.client.prompt({ text: 'Go' }).result
  expect(outcome).toBe('failed')
  expect(JSON.stringify(error)).not.toContain('s3cret')
})

test('an abort while an answer is being taken ends the run as aborted', async () => {
  const interrupt = { id: 'i', reason: 'tool_call', toolCallId: 'c1', responseSchema }
  let taking = (): void => {}
  const isTaking = new Promise<void>((resolve) => {
    taking = resolve
  })
  await using agent = await stage(async (run) => {
    if (!run.input.resume) return asks(call('c1', 'bash', { command: 'ls' }), interrupt)(run)
    if (run.input.resume[0]?.status === 'cancelled') return sends()(run)
    taking()
    await run.gone
    return undefined
  })
  const stream = agent.client.prompt({ text: 'Go' })
  const [ask] = await pendingOf(stream)
  if (!ask) throw new Error('Nothing is asked.')
  const answered = agent.client.answer(ask, 'once').catch(() => {})
  await isTaking
  await stream.abort()
  expect((await stream.result).outcome).toBe('aborted')
  await answered
})

test('an error of an asynchronous `onEvent` goes to `onError`, and one of that nowhere', async () => {
  const errors: string[] = []
  const run = async function* () {
    yield { type: 'RUN_FINISHED' }
  }
  const onEvent = async (): Promise<void> => {
    throw new Error('boom')
  }
  const onError = async ({ message }: Error): Promise<void> => {
    errors.push(message)
    throw new Error('boom')
  }
  const client = connectSource(agUi({ agent: { run }, onEvent, onError }))
  expect((await client.prompt({ text: 'Go' }).result).outcome).toBe('completed')
  await expect.poll(() => errors).toEqual([expect.stringContaining('`onEvent` threw: Error: boom')])
  await client.close()
})

test('a state that copies made huge is not sent back', async () => {
  const copies = Array.from({ length: 40 }, (_, at) => ({ op: 'copy', from: '', path: `/${at}` }))
  await using agent = await stage(
    inTurn(sends({ type: 'STATE_SNAPSHOT', snapshot: {} }, { type: 'STATE_DELTA', delta: copies }), sends()),
  )
  const { outcome, sessionID } = await agent.client.prompt({ text: 'Go' }).result
  expect(outcome).toBe('completed')
  await agent.client.prompt({ sessionID, text: 'And?' }).result
  expect(agent.agent.inputs[1]?.state).toEqual({})
  expect(agent.errors.map(({ type }) => type)).toEqual(['too-large'])
})

test('a patch changes nothing of the value that it is for, and copies only what leads to the change', () => {
  const value = { list: [{ a: 1 }, { b: 2 }], other: { large: true } }
  const before = structuredClone(value)
  const patch = [
    { op: 'add', path: '/list/1', value: { c: 3 } },
    { op: 'replace', path: '/list/0/a', value: 7 },
    { op: 'move', from: '/list/2', path: '/moved' },
    { op: 'copy', from: '/list/0', path: '/list/-' },
    { op: 'remove', path: '/list/1' },
    { op: 'add', path: '/a~1b', value: null },
  ]
  const next = patched(value, patch)?.value
  expect(next).toEqual({ list: [{ a: 7 }, { a: 7 }], other: { large: true }, moved: { b: 2 }, 'a/b': null })
  expect(value).toEqual(before)
  expect(next).toHaveProperty('other', value.other)
  expect(Reflect.get(Object(next), 'other')).toBe(value.other)
  expect(patched(value, [{ op: 'replace', path: '', value: 1 }])).toEqual({ value: 1 })
  for (const path of ['/none/a', '/list/9', '/list/x', '/__proto__/x', '/list/0/a/b'])
    expect(patched(value, [{ op: 'add', path, value: 1 }]), path).toBeUndefined()
  expect(patched(value, [{ op: 'remove', path: '/none' }])).toBeUndefined()
})
