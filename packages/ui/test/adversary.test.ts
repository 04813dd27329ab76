import type { LocalRun } from '@reply/core/source'
import { expect, test } from 'vitest'
import type { ChatHandlerOptions } from '../src/index.ts'
import { type Chunk, createStage, get, post, prompt, readUntil } from './handler-stage.ts'

/** A stage whose agent waits for a permission, and the body of the page that allows it. */
async function asking(options: Partial<ChatHandlerOptions>) {
  const stage = createStage(options)
  const asked = ({ type }: Chunk): boolean => type === 'tool-approval-request'
  const { chunks, cancel } = await readUntil(await stage.handle(post(prompt('run git status'))), (all) =>
    all.some(asked),
  )
  await cancel()
  const call = chunks.find(asked)
  const approval = { id: call?.approvalId, approved: true }
  const part = { type: 'dynamic-tool', toolName: 'bash', toolCallId: call?.toolCallId, input: {} }
  const parts = [{ ...part, state: 'approval-responded', approval }]
  const body = { id: 'mine', messages: [{ id: 'a1', role: 'assistant', parts }] }
  return { ...stage, allow: async () => await stage.handle(post(body)) }
}

test.each([
  ['a text', 'no'],
  ['an object', { allowed: false }],
  ['a response', new Response('', { status: 403 })],
  ['a number', 1],
  ['a function', () => false],
])('%s of `mayAnswer` is not `true`, so nothing is allowed', async (_, value) => {
  // @ts-expect-error A host's program may have no types.
  const { allow, answers } = await asking({ mayAnswer: async () => value })
  expect((await allow()).status).toBe(403)
  expect(answers).toEqual([])
})

test('an error of an asynchronous `onError` stops nothing', async () => {
  const { handle } = createStage({
    sessionOf: () => {
      throw new Error('No database')
    },
    onError: async () => {
      throw new Error('No log')
    },
  })
  expect((await handle(post(prompt('answer')))).status).toBe(500)
})

test('a call that asks twice gets the answer to the question that the page shows', async () => {
  const { handle, run, answers } = createStage()
  const ask = (of: LocalRun, question: string, requestID: string): void => {
    const options = ['Yes', 'No'].map((label) => ({ label, description: '' }))
    const questions = [{ header: '', question, options, multiple: false, custom: false }]
    of.write({ type: 'tool', callID: 'c', tool: 'ask', state: { status: 'running', input: {} } })
    of.ask({
      type: 'question',
      requestID,
      callID: 'c',
      questions,
      reply: (answer) => {
        answers.push(`${question} ${answer.type === 'answered' ? answer.answers.flat().join() : answer.type}`)
      },
    })
  }
  /** What the page shows once it has the question. */
  const shows = async (response: Response, question: string) => {
    const isAsked = (chunk: Chunk): boolean => JSON.stringify(chunk.input ?? '').includes(question)
    const { chunks, cancel } = await readUntil(response, (all) => all.some(isAsked))
    await cancel()
    return chunks.findLast(isAsked)
  }
  const say = async (shown: Chunk | undefined, label: string): Promise<Response> => {
    const part = { type: 'dynamic-tool', toolName: 'ask', toolCallId: shown?.toolCallId, input: shown?.input }
    const parts = [{ ...part, state: 'output-available', output: [[label]] }]
    return await handle(post({ id: 'mine', messages: [{ id: 'a1', role: 'assistant', parts }] }))
  }
  const response = await handle(post(prompt('endless')))
  ask(run(), 'Keep?', 'que_1')
  const first = await shows(response, 'Keep?')
  await (await say(first, 'Yes')).body?.cancel()
  ask(run(), 'Delete?', 'que_2')
  const second = await shows(await handle(get()), 'Delete?')
  const late = await say(first, 'Yes')
  expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('has changed since it was shown')])
  await (await say(second, 'No')).body?.cancel()
  expect(answers).toEqual(['Keep? Yes', 'Delete? No'])
})

test('the type of a file has nothing but a type', async () => {
  const { handle, heard } = createStage()
  const file = { type: 'file', mediaType: 'image/png\r\nx-admin: 1', url: 'data:;base64,iVBO' }
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'answer' }, file] }
  await (await handle(post({ id: 'mine', messages: [message] }))).text()
  expect(heard[0]?.files?.map(({ mime }) => mime)).toEqual(['image/png'])
})

test.each([
  ['brackets', `{"id":"mine","messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['a part', JSON.stringify(prompt('x')).replace('"x"', `"x","y":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)],
])('a body with %s nested 100,000 levels deep is refused with 400', async (_, body) => {
  const { handle, heard } = createStage()
  expect((await handle(post(body))).status).toBe(400)
  expect(heard).toEqual([])
})
