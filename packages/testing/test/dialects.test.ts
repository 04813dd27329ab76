import { afterEach, describe, expect, test } from 'vitest'
import {
  callTool,
  cutConnection,
  holdAnswer,
  httpError,
  reportUsage,
  type ScriptedModel,
  type Scripts,
  sayText,
  scenarioToken,
  startModel,
  think,
} from '../src/index.ts'

const models: ScriptedModel[] = []
const start = async (scripts: Scripts): Promise<ScriptedModel> => {
  const model = await startModel({ scripts })
  models.push(model)
  return model
}
afterEach(async () => {
  await Promise.all(models.splice(0).map((model) => model.close()))
})

const one = scenarioToken('one')

/** How each vendor asks: first with a prompt, then with the answer to a call. */
const vendors = {
  messages: {
    path: '/v1/messages',
    prompt: { tools: [{ name: 'Bash' }], messages: [{ role: 'user', content: [{ type: 'text', text: one }] }] },
    answered: {
      tools: [{ name: 'Bash' }],
      system: [{ type: 'text', text: 'You help.' }],
      messages: [
        { role: 'user', content: one },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0001', name: 'Bash', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0001', content: 'made' }] },
      ],
    },
  },
  responses: {
    path: '/v1/responses',
    prompt: { tools: [{ name: 'shell' }], input: [{ type: 'message', role: 'user', content: [{ text: one }] }] },
    answered: {
      tools: [{ name: 'shell' }],
      instructions: 'You help.',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: one }] },
        { type: 'reasoning', summary: [] },
        { type: 'function_call', call_id: 'call_0001', name: 'shell', arguments: '{}' },
        { type: 'function_call', call_id: 'call_0002', name: 'shell', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_0001', output: 'made' },
        { type: 'function_call_output', call_id: 'call_0002', output: 'more' },
      ],
    },
  },
  gemini: {
    path: '/v1beta/models/m2:streamGenerateContent?alt=sse',
    prompt: {
      tools: [{ functionDeclarations: [{ name: 'run' }] }],
      contents: [{ role: 'user', parts: [{ text: one }] }],
    },
    answered: {
      tools: [{ functionDeclarations: [{ name: 'run' }] }],
      systemInstruction: { parts: [{ text: 'You help.' }] },
      contents: [
        { role: 'user', parts: [{ text: one }] },
        { role: 'model', parts: [{ functionCall: { name: 'run', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'run', response: { output: 'made' } } }] },
      ],
    },
  },
} as const

type Vendor = keyof typeof vendors
const names = ['messages', 'responses', 'gemini'] as const

const post = (model: ScriptedModel, vendor: Vendor, body: object, signal?: AbortSignal) =>
  fetch(`${model.origin}${vendors[vendor].path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })

const framesOf = async (response: Response): Promise<readonly unknown[]> =>
  (await response.text())
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => JSON.parse(frame.replace(/^(?:event: .*\n)?data: /, '')))

/** What a client of each vendor puts together. */
const readings: Readonly<Record<Vendor, (frames: readonly unknown[]) => unknown>> = {
  messages: (frames) => ({
    texts: joined(frames, 'delta', 'text'),
    thoughts: joined(frames, 'delta', 'thinking'),
    inputs: joined(frames, 'delta', 'partial_json'),
    tools: pick(frames, 'content_block', 'name'),
    end: [...pick(frames, 'delta', 'stop_reason'), ...pick(frames, 'usage', 'output_tokens')],
  }),
  responses: (frames) => ({
    texts: joined(ofType(frames, 'response.output_text.delta'), undefined, 'delta'),
    thoughts: joined(ofType(frames, 'response.reasoning_summary_text.delta'), undefined, 'delta'),
    inputs: joined(ofType(frames, 'response.function_call_arguments.delta'), undefined, 'delta'),
    tools: pick(ofType(frames, 'response.output_item.done'), 'item', 'name'),
    end: ofType(frames, 'response.completed').flatMap((frame) => {
      const { response } = frame as { response: { status: string; usage: { output_tokens: number } } }
      return [response.status, response.usage.output_tokens]
    }),
  }),
  gemini: (frames) => {
    const candidates = frames.flatMap((frame) => (frame as { candidates: readonly Candidate[] }).candidates)
    const parts = candidates.flatMap(({ content }) => content.parts)
    return {
      texts: parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join(''),
      thoughts: parts.map((part) => (part.thought ? part.text : '')).join(''),
      inputs: JSON.stringify(parts.find(({ functionCall }) => functionCall)?.functionCall?.args ?? '').replace(
        '""',
        '',
      ),
      tools: parts.flatMap(({ functionCall }) => functionCall?.name ?? []),
      end: [
        ...candidates.flatMap(({ finishReason }) => finishReason ?? []),
        ...pick(frames, 'usageMetadata', 'candidatesTokenCount'),
      ],
    }
  },
}

interface Candidate {
  readonly content: {
    readonly parts: readonly {
      readonly text?: string
      readonly thought?: boolean
      readonly functionCall?: { readonly name: string; readonly args: unknown }
    }[]
  }
  readonly finishReason?: string
}

const ofType = (frames: readonly unknown[], type: string) =>
  frames.filter((frame) => (frame as { type?: string }).type === type)

const pick = (frames: readonly unknown[], field: string | undefined, name: string): readonly unknown[] =>
  frames.flatMap((frame) => {
    const holder = (field === undefined ? frame : (frame as Record<string, unknown>)[field]) as
      | Record<string, unknown>
      | undefined
    return holder?.[name] ?? []
  })

const joined = (frames: readonly unknown[], field: string | undefined, name: string) =>
  pick(frames, field, name).join('')

describe.each(names)('the dialect %s', (vendor) => {
  const { prompt, answered } = vendors[vendor]
  const ends = { messages: ['end_turn', 3], responses: ['completed', 3], gemini: ['STOP', 3] }[vendor]

  test('streams thinking, text and the usage', async () => {
    const model = await start({
      one: { steps: [[think('Let me think about it.'), sayText('Hello, you there', 5), reportUsage(7, 3)]] },
    })
    const frames = await framesOf(await post(model, vendor, prompt))
    const expected = { texts: 'Hello, you there', thoughts: 'Let me think about it.', inputs: '', tools: [], end: ends }
    expect(readings[vendor](frames)).toEqual(expected)
  })

  test('streams a call with its input, and the next step after its result', async () => {
    const input = { command: `echo ${'long '.repeat(20)}` }
    const model = await start({ one: { steps: [[callTool('run', input)], [sayText('Done.')]] } })
    const called = readings[vendor](await framesOf(await post(model, vendor, prompt)))
    expect(called).toMatchObject({ tools: ['run'], inputs: JSON.stringify(input) })
    const after = readings[vendor](await framesOf(await post(model, vendor, answered)))
    expect(after).toMatchObject({ texts: 'Done.' })
    expect(model.requests.map(({ step, scenario }) => [step, scenario])).toEqual([
      [0, 'one'],
      [1, 'one'],
    ])
    expect(model.requests[1]?.results).toMatch(/^made/)
  })

  test("refuses in the vendor's shape, then answers the repetition", async () => {
    const model = await start({ one: { steps: [{ attempts: [[httpError(429, 'Too fast.')], [sayText('Now.')]] }] } })
    const refused = await post(model, vendor, prompt)
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { message: 'Too fast.' } })
    expect(readings[vendor](await framesOf(await post(model, vendor, prompt)))).toMatchObject({ texts: 'Now.' })
  })

  test('breaks off in mid-answer', async () => {
    const model = await start({ one: { steps: [[sayText('Begun'), cutConnection]] } })
    await expect((await post(model, vendor, prompt)).text()).rejects.toThrow()
  })

  test('waits until it is released', async () => {
    const model = await start({ one: { steps: [[holdAnswer('gate'), sayText('After.')]] } })
    const answer = post(model, vendor, prompt)
    await model.held('gate')
    model.release('gate')
    expect(readings[vendor](await framesOf(await answer))).toMatchObject({ texts: 'After.' })
  })
})

test('Gemini also answers as a whole', async () => {
  const model = await start({ one: { steps: [[think('Hm.'), sayText('Hello, you there', 5), reportUsage(7, 3)]] } })
  const response = await fetch(`${model.origin}/v1beta/models/m2:generateContent`, {
    method: 'POST',
    body: JSON.stringify(vendors.gemini.prompt),
  })
  expect(readings.gemini([await response.json()])).toEqual({
    texts: 'Hello, you there',
    thoughts: 'Hm.',
    inputs: '',
    tools: [],
    end: ['STOP', 3],
  })
})

test('Gemini gets an empty object where it asks for JSON', async () => {
  const model = await start({ one: { steps: [[sayText('Hello.')]] } })
  const response = await fetch(`${model.origin}/v1beta/models/m2:generateContent`, {
    method: 'POST',
    body: JSON.stringify({ ...vendors.gemini.prompt, generationConfig: { responseMimeType: 'application/json' } }),
  })
  expect(readings.gemini([await response.json()])).toMatchObject({ texts: '{}' })
})
