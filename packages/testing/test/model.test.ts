import { afterEach, expect, test } from 'vitest'
import {
  callTool,
  cutConnection,
  holdAnswer,
  httpError,
  reportUsage,
  type ScriptedModel,
  type ScriptedModelOptions,
  type Scripts,
  sayText,
  scenarioToken,
  startModel,
  think,
} from '../src/index.ts'

const models: ScriptedModel[] = []
const start = async (scripts: Scripts, more: Partial<ScriptedModelOptions> = {}): Promise<ScriptedModel> => {
  const model = await startModel({ scripts, ...more })
  models.push(model)
  return model
}
afterEach(async () => {
  await Promise.all(models.splice(0).map((model) => model.close()))
})

const says = (role: string, content: string, more: object = {}) => ({ role, content, ...more })
const called = (...names: readonly string[]) => ({
  tool_calls: names.map((name) => ({ id: name, function: { name } })),
})
const tools = [{ type: 'function', function: { name: 'bash' } }]

const ask = (model: ScriptedModel, messages: readonly unknown[], more: object = { tools }, signal?: AbortSignal) =>
  fetch(`${model.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm1', stream: true, messages, ...more }),
    ...(signal === undefined ? {} : { signal }),
  })

interface Chunk {
  readonly choices: readonly {
    readonly delta: Readonly<Record<string, unknown>>
    readonly finish_reason: string | null
  }[]
  readonly usage?: unknown
}

const chunksOf = async (response: Response): Promise<readonly Chunk[]> => {
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
  expect(frames.at(-1)).toBe('data: [DONE]')
  return frames.slice(0, -1).map((frame) => JSON.parse(frame.replace(/^data: /, '')) as Chunk)
}
const deltasOf = (chunks: readonly Chunk[]) => chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta))
const textOf = (chunks: readonly Chunk[]) =>
  deltasOf(chunks)
    .map((delta) => delta.content ?? '')
    .join('')
const answer = async (model: ScriptedModel, ...messages: readonly unknown[]) =>
  textOf(await chunksOf(await ask(model, messages)))

const one = scenarioToken('one')

test('text is streamed in chunks, then the finish reason, then the usage', async () => {
  const model = await start({ one: { steps: [[sayText('Hello, you there', 5), reportUsage(7, 3)]] } })
  const response = await ask(model, [says('user', one)])
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const chunks = await chunksOf(response)
  expect(deltasOf(chunks).flatMap((delta) => (delta.content ? [delta.content] : []))).toEqual([
    'Hello',
    ', you',
    ' ther',
    'e',
  ])
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  })
})

test('reasoning and tool calls have their own deltas', async () => {
  const model = await start({
    one: { steps: [[think('Hm.'), callTool('bash', { command: 'ls' }), callTool('read', {})]] },
  })
  const chunks = await chunksOf(await ask(model, [says('user', one)]))
  const deltas = deltasOf(chunks)
  expect(deltas).toContainEqual({ reasoning_content: 'Hm.' })
  const opening = { index: 0, id: 'call_0001', type: 'function', function: { name: 'bash', arguments: '' } }
  expect(deltas).toContainEqual({ tool_calls: [opening] })
  expect(deltas).toContainEqual({ tool_calls: [{ index: 0, function: { arguments: '{"command":"ls"}' } }] })
  expect(deltas).toContainEqual({ tool_calls: [{ index: 1, function: { arguments: '{}' } }] })
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls')
})

test('a chunk never splits a code point', async () => {
  const model = await start({ one: { steps: [[sayText('👍🏽👨‍👩‍👧', 1)]] } })
  const parts = deltasOf(await chunksOf(await ask(model, [says('user', one)]))).flatMap((delta) => delta.content || [])
  expect(parts).toEqual(Array.from('👍🏽👨‍👩‍👧'))
})

test.each([0, -1, Number.NaN])('refuses a chunk of %s code points, in its options and in a script', async (chunk) => {
  await expect(startModel({ scripts: {}, chunk })).rejects.toMatchObject({
    type: 'model',
    message: `A chunk of ${chunk} code points never ends a text: pass a \`chunk\` of at least 1.`,
  })
  const model = await start({ small: { steps: [[sayText('Hello', chunk)]] } })
  const response = await ask(model, [says('user', scenarioToken('small'))])
  expect(response.status).toBe(400)
  expect(await response.text()).toContain(`A chunk of ${chunk} code points never ends a text`)
})

test('the tool rounds since the naming message pick the step', async () => {
  const steps = [[sayText('zero')], [sayText('one')], [sayText('two')]]
  const model = await start({ one: { steps }, other: { steps } })
  const before = [says('user', scenarioToken('other')), says('assistant', '', called('a')), says('tool', 'x')]
  expect(await answer(model, ...before, says('user', one))).toBe('zero')
  const parallel = [says('assistant', '', called('a', 'b')), says('tool', 'x'), says('tool', 'y')]
  expect(await answer(model, says('user', one), ...parallel)).toBe('one')
  expect(await answer(model, says('user', one), ...parallel, ...parallel)).toBe('two')
  expect(await answer(model, says('user', one), ...parallel, ...parallel, ...parallel)).toBe(
    'The script one has no step 3.',
  )
})

test('an assistant message can name the next script, a tool result cannot', async () => {
  const model = await start({ one: { steps: [[sayText('first')]] }, next: { steps: [[sayText('second')]] } })
  const summary = says('assistant', `In short. ${scenarioToken('next')}`)
  expect(await answer(model, says('user', one), summary, says('user', 'Continue.'))).toBe('second')
  expect(await answer(model, says('user', one), says('tool', scenarioToken('next')))).toBe('first')
})

test('a prompt that names no script gets the fallback, or an error if there is none', async () => {
  const scripts = { one: { steps: [[sayText('first')], [sayText('second')]] } }
  expect(await answer(await start(scripts), says('user', 'hi'))).toBe('No script is named (nothing).')
  const model = await start(scripts, { fallback: 'one' })
  const round = [says('assistant', '', called('a')), says('tool', 'x')]
  expect(await answer(model, says('user', 'hi'), ...round)).toBe('second')
  expect(await answer(model, says('user', 'hi'), ...round, says('user', 'again'))).toBe('first')
})

test("a fallback may be chosen by the prompt's text", async () => {
  const scripts = { tests: { steps: [[sayText('They pass.')]] }, other: { steps: [[sayText('What?')]] } }
  const model = await start(scripts, { fallback: (prompt) => (prompt.includes('test') ? 'tests' : 'other') })
  expect(await answer(model, says('user', 'hi'), says('assistant', 'What?'), says('user', 'Run the tests'))).toBe(
    'They pass.',
  )
  expect(await answer(model, says('user', 'Run the tests'), says('user', 'hi'))).toBe('What?')
  expect(model.requests.map(({ prompt }) => prompt)).toEqual(['Run the tests', 'hi'])
})

test('attempts answer repeated requests, branches depend on the tool results', async () => {
  const model = await start({
    one: { steps: [{ attempts: [[httpError(429, 'Slow down', { 'retry-after': '1' })], [sayText('now')]] }] },
    two: {
      steps: [[], { branches: [{ includes: 'Blue', pieces: [sayText('blue')] }], otherwise: [sayText('other')] }],
    },
  })
  const refused = await ask(model, [says('user', one)])
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.json()).toMatchObject({ error: { message: 'Slow down' } })
  expect(await answer(model, says('user', one))).toBe('now')
  expect(await answer(model, says('user', one))).toBe('now')
  const answered = (words: string) => [
    says('user', scenarioToken('two')),
    says('assistant', '', called('q')),
    says('tool', words),
  ]
  expect(await answer(model, ...answered('="Blue"'))).toBe('blue')
  expect(await answer(model, ...answered('="Red"'))).toBe('other')
})

test('requests without tools get the title or the summary', async () => {
  const model = await start({ one: { steps: [], title: 'A title', summary: [sayText('A summary')] } })
  const title = [says('user', 'Generate a title for this conversation:'), says('user', one)]
  expect(textOf(await chunksOf(await ask(model, title, {})))).toBe('A title')
  expect(textOf(await chunksOf(await ask(model, [says('user', one), says('user', 'Summarise.')], {})))).toBe(
    'A summary',
  )
  expect(model.requests.map((request) => request.kind)).toEqual(['title', 'summary'])
})

test('a cut breaks the connection after the text was sent', async () => {
  const model = await start({ one: { steps: [[sayText('half a'), cutConnection]] } })
  const response = await ask(model, [says('user', one)])
  await expect(response.text()).rejects.toThrow()
})

test('a hold waits until it is released or the client disconnects', async () => {
  const model = await start({ one: { steps: [[sayText('a'), holdAnswer('gate'), sayText('b')]] } })
  const waiting = answer(model, says('user', one))
  await model.held('gate')
  model.release('gate')
  expect(await waiting).toBe('ab')

  const other = await start({ one: { steps: [[holdAnswer('gate')]] } })
  const leave = new AbortController()
  const left = ask(other, [says('user', one)], { tools }, leave.signal).then((response) => response.text())
  await other.held('gate')
  leave.abort()
  await expect(left).rejects.toThrow()
})

test('a request that asks for no answer is rejected with the cure', async () => {
  const model = await start({})
  const wrong = await fetch(`${model.url}/models`)
  expect([wrong.status, await wrong.text()]).toEqual([
    404,
    expect.stringContaining('only answers POST to /v1/chat/completions, /v1/responses'),
  ])
  const garbage = await fetch(`${model.url}/chat/completions`, { method: 'POST', body: 'not json' })
  expect(garbage.status).toBe(400)
})

test('keeps only as many requests as it is told to', async () => {
  const model = await start({ plain: { steps: [[sayText('Fine.')]] } }, { keepRequests: 2 })
  for (const word of ['one', 'two', 'three'])
    await (await ask(model, [says('user', `${word} ${scenarioToken('plain')}`)])).text()
  expect(model.requests.map(({ prompt }) => prompt.split(' ')[0])).toEqual(['two', 'three'])
})
