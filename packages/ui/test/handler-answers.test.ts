import type { Ask } from '@reply/core'
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { describe, expect, test } from 'vitest'
import type { UIDataParts, UIMetadata } from '../src/index.ts'
import { type Chunk, chunksOf, createStage, get, post, prompt } from './handler-stage.ts'

type Message = UIMessage<UIMetadata, UIDataParts>
type Part = Message['parts'][number]

/** The message that a page has after these chunks. */
async function messageOf(chunks: readonly Chunk[]): Promise<Message> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk as UIMessageChunk)
      controller.close()
    },
  })
  let last: Message | undefined
  for await (const message of readUIMessageStream<Message>({ stream })) last = message
  if (!last) throw new Error('There is no message.')
  return last
}

/** The message after a person pressed a button at each permission. */
function approve(message: Message, approved: boolean, reason?: string): Message {
  const parts = message.parts.map((part): Part => {
    if (part.type !== 'dynamic-tool' || part.state !== 'approval-requested') return part
    const approval = { id: part.approval.id, approved, ...(reason !== undefined && { reason }) }
    return { ...part, state: 'approval-responded', approval }
  })
  return { ...message, parts }
}

/** The body of a POST that `useChat` sends after an answer. */
function answer(message: Message, more: object = {}, id = 'mine') {
  const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'permission' }] }
  return { id, messages: [user, message], trigger: 'submit-message', messageId: message.id, ...more }
}

/** The data of the ask in a message. */
function askIn(message: Message): { readonly id: string } {
  const part = message.parts.find(({ type }) => type === 'data-ask')
  if (part?.type !== 'data-ask') throw new Error('Nothing is asked.')
  return part.data
}

/** A stage whose agent waits for an answer to the prompt's ask, and the message that shows it. */
async function asked(text: string, options: Parameters<typeof createStage>[0] = {}) {
  const stage = createStage(options)
  const message = await messageOf(await chunksOf(await stage.handle(post(prompt(text)))))
  return { ...stage, message }
}

async function refusal(response: Response): Promise<readonly [number, string]> {
  return [response.status, await response.text()]
}

describe('an answer', () => {
  test.each([
    ['once', true, undefined, 'ls: once'],
    ['always', true, 'always', 'ls: always'],
    ['a rejection with a reason', false, 'Use the other one.', 'ls: rejected Use the other one.'],
  ] as const)('to a permission is sent: %s', async (_, approved, reason, sent) => {
    const { handle, answers, message, client } = await asked('run ls')
    const chunks = await chunksOf(await handle(post(answer(approve(message, approved, reason)))))
    expect(answers).toEqual([sent])
    expect(chunks[0]).toMatchObject({ type: 'start', messageId: message.id })
    expect(chunks.filter(({ type }) => type === 'text-start')).toEqual([])
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { outcome: 'completed' } })
    expect(client.watches.open).toBe(0)
  })

  test('to a question is sent', async () => {
    const { handle, answers, message } = await asked('question')
    const parts = message.parts.map(
      (part): Part =>
        part.type === 'dynamic-tool' && part.state === 'input-available'
          ? { ...part, state: 'output-available', output: [['Blue']] }
          : part,
    )
    await chunksOf(await handle(post(answer({ ...message, parts }))))
    expect(answers).toEqual(['[["Blue"]]'])
  })

  test('to a sub-agent is sent in the body', async () => {
    const { handle, answers, message } = await asked('delegate')
    const body = answer(message, { answers: [{ id: askIn(message).id, answer: 'once' }] })
    const chunks = await chunksOf(await handle(post(body)))
    expect(answers).toEqual(['ls: once'])
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { outcome: 'completed' } })
  })

  test('of a second page, which has only read the reply, is sent', async () => {
    const { handle, answers } = await asked('run ls')
    const message = await messageOf(await chunksOf(await handle(get())))
    await chunksOf(await handle(post(answer(approve(message, true)))))
    expect(answers).toEqual(['ls: once'])
  })
})

describe('refused, and nothing is sent:', () => {
  test('an answer of anyone, unless the host says who may answer', async () => {
    const { handle, answers, message } = await asked('run ls', { mayAnswer: undefined })
    expect((await refusal(await handle(post(answer(approve(message, true))))))[0]).toBe(403)
    expect((await refusal(await handle(post(answer(approve(message, false))))))[0]).toBe(403)
    expect(answers).toEqual([])
  })

  test('an answer of someone who may not answer. The host sees the ask as it is now', async () => {
    const seen: Ask[] = []
    const mayAnswer = (_: Request, { ask }: { readonly ask: Ask }): boolean => {
      seen.push(ask)
      return false
    }
    const { handle, answers, message } = await asked('run ls', { mayAnswer })
    const forged = approve(message, true)
    const parts = forged.parts.map((part) =>
      part.type === 'dynamic-tool' ? { ...part, input: { command: 'pwd' } } : part,
    )
    expect((await refusal(await handle(post(answer({ ...forged, parts })))))[0]).toBe(403)
    expect(seen).toMatchObject([{ type: 'permission', call: { input: { command: 'ls' } } }])
    expect(answers).toEqual([])
  })

  test.each([
    ['an id that was never given', 'per_9.AAAAAAAAAAAAAAAA'],
    ['an id without its digest', 'per_1'],
    ['an id with another digest', 'per_1.AAAAAAAAAAAAAAAA'],
    ['an empty id', ''],
  ])('%s', async (_, id) => {
    const { handle, answers, message } = await asked('run ls')
    const forged = approve(message, true)
    const parts = forged.parts.map(
      (part): Part =>
        part.type === 'dynamic-tool' && part.state === 'approval-responded'
          ? { ...part, approval: { id, approved: true } }
          : part,
    )
    const body = answer({ ...forged, parts })
    expect((await refusal(await handle(post(body))))[0]).toBe(409)
    const named = answer(message, { answers: [{ id, answer: 'once' }] })
    expect((await refusal(await handle(post(named))))[0]).toBe(409)
    expect(answers).toEqual([])
  })

  test('an answer to a command that has changed since it was shown. The next read shows the new one', async () => {
    const { message: shownBefore } = await asked('run ls')
    const { handle, answers } = await asked('run rm -rf .')
    const [status, sentence] = await refusal(await handle(post(answer(approve(shownBefore, true)))))
    expect([status, sentence]).toEqual([409, expect.stringContaining('changed')])
    expect(answers).toEqual([])
    const shown = await messageOf(await chunksOf(await handle(get())))
    expect(JSON.stringify(shown)).toContain('rm -rf .')
    await chunksOf(await handle(post(answer(approve(shown, true)))))
    expect(answers).toEqual(['rm -rf .: once'])
  })

  test('the same answer once more', async () => {
    const { handle, answers, message } = await asked('question')
    const body = answer(message, { answers: [{ id: askIn(message).id, answer: [['Red']] }] })
    await chunksOf(await handle(post(body)))
    expect((await refusal(await handle(post(body))))[0]).toBe(409)
    expect(answers).toEqual(['[["Red"]]'])
  })

  test('an answer after the run was stopped', async () => {
    const { handle, answers, message } = await asked('run ls')
    expect((await handle(new Request('https://app.example/api/chat/mine', { method: 'DELETE' }))).status).toBe(204)
    const [status, sentence] = await refusal(await handle(post(answer(approve(message, true)))))
    expect([status, sentence]).toEqual([409, expect.stringContaining('has ended')])
    expect(answers).toEqual(['ls: canceled'])
  })

  test('an answer in the chat of other people, and in another chat of the same person', async () => {
    const { handle, answers, message, created } = await asked('run ls')
    const body = answer(approve(message, true), {}, 'theirs')
    expect((await refusal(await handle(post(body))))[0]).toBe(404)
    await chunksOf(await handle(post(prompt('run ls', 'new'))))
    expect(created.size).toBe(1)
    const other = answer(approve(message, true), {}, 'new')
    expect((await refusal(await handle(post(other))))[0]).toBe(409)
    expect(answers).toEqual([])
  })

  test('a message without an answer', async () => {
    const { handle, answers, message } = await asked('run ls')
    expect((await refusal(await handle(post(answer(message)))))[0]).toBe(409)
    expect(answers).toEqual([])
  })

  test('an answer that the question does not take', async () => {
    const { handle, answers, message } = await asked('question')
    const body = answer(message, { answers: [{ id: askIn(message).id, answer: [['Green']] }] })
    const [status, sentence] = await refusal(await handle(post(body)))
    expect([status, sentence]).toEqual([409, expect.stringContaining('Red')])
    expect(answers).toEqual([])
  })
})

describe('exactly one answer is sent, and the other one is told,', () => {
  test('if two pages answer at once', async () => {
    const { handle, answers, message } = await asked('run ls')
    const responses = await Promise.all([
      handle(post(answer(approve(message, true)))),
      handle(post(answer(approve(message, false, 'No.')))),
    ])
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(answers).toHaveLength(1)
    const told = responses.find(({ status }) => status === 409)
    expect(await told?.text()).toContain('answered before')
    await responses.find(({ status }) => status === 200)?.text()
  })

  test('if someone answered elsewhere, which the next read shows', async () => {
    const { handle, answers, message, client } = await asked('delegate')
    const ask = (await client.reply('ses_1'))?.asks[0]
    if (!ask) throw new Error('Nothing is asked.')
    await client.reject(ask)
    const body = answer(message, { answers: [{ id: askIn(message).id, answer: 'once' }] })
    expect((await refusal(await handle(post(body))))[0]).toBe(409)
    expect(answers).toEqual(['ls: rejected'])
  })

  test('if someone answers elsewhere at the same time', async () => {
    const { handle, answers, message, client } = await asked('run ls')
    const ask = (await client.reply('ses_1'))?.asks[0]
    if (!ask) throw new Error('Nothing is asked.')
    const [elsewhere, here] = await Promise.all([
      client.answer(ask, 'once').then(
        () => 200,
        () => 409,
      ),
      handle(post(answer(approve(message, false, 'No.')))),
    ])
    expect([elsewhere, here.status].toSorted()).toEqual([200, 409])
    expect(answers).toHaveLength(1)
    await here.text()
  })
})
