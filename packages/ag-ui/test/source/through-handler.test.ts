import { textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { expect, test } from 'vitest'
import { createScripted } from '../../../reply/test/source/local-agent.ts'
import { agUi, createAgUiHandler } from '../../src/index.ts'
import { partsOf, pendingOf } from './stage.ts'

/** A scripted agent, behind our own handler, in front of our own source. */
async function stage() {
  const agent = createScripted()
  const behind = connectSource(agent.source)
  const sessions = new Map<string, string>()
  const handle = createAgUiHandler(behind, {
    sessionOf: (_, threadId) => ({
      sessionID: sessions.get(threadId),
      onCreated: (sessionID) => sessions.set(threadId, sessionID),
    }),
    mayAnswer: () => true,
  })
  const errors: string[] = []
  const url = 'http://127.0.0.1/agent'
  const source = agUi({
    url,
    fetch: async (input, init) => await handle(new Request(input, init)),
    onError: ({ message }) => errors.push(message),
  })
  const client = connectSource(source)
  return {
    agent,
    client,
    errors,
    [Symbol.asyncDispose]: async () => {
      await client.close()
      handle.close()
      await behind.close()
    },
  }
}

test('a permission passes through both, allowed once, always and rejected', async () => {
  await using through = await stage()
  for (const answer of ['once', 'reject', 'always'] as const) {
    const stream = through.client.prompt({ text: 'permission' })
    const [ask] = await pendingOf(stream)
    if (ask?.type !== 'permission') throw new Error('It is no permission.')
    expect(ask).toMatchObject({ call: { tool: 'bash', input: { command: 'permission' } }, always: ['permission'] })
    if (answer === 'reject') await through.client.reject(ask, 'Not now.')
    else await through.client.answer(ask, answer)
    const reply = await stream.result
    const [call] = partsOf(reply)
    expect([reply.outcome, call?.slice(0, 2)]).toEqual([
      'completed',
      ['bash', answer === 'reject' ? 'error' : 'completed'],
    ])
    if (answer === 'reject') expect(call?.[3]).toBe('Not now.')
  }
  expect((await through.client.prompt({ text: 'permission' }).result).asks).toEqual([])
  expect(through.errors).toEqual([])
})

test('a question and a permission of a sub-agent pass through both', async () => {
  await using through = await stage()
  const asked = through.client.prompt({ text: 'question' })
  const [question] = await pendingOf(asked)
  if (question?.type !== 'question') throw new Error('It is no question.')
  expect(question.questions).toMatchObject([{ header: 'Color', question: 'Which?', options: [{ label: 'Red' }] }])
  await through.client.answer(question, [['Red']])
  expect(textOf(await asked.result)).toBe('Red')
  const delegated = through.client.prompt({ text: 'delegate' })
  const [permission] = await pendingOf(delegated)
  if (permission) await through.client.answer(permission, 'once')
  const reply = await delegated.result
  expect(reply.children.map((child) => partsOf(child.reply)[0]?.slice(0, 2))).toEqual([['bash', 'completed']])
  expect(through.errors).toEqual([])
})

test('several prompts of a session pass through both, and an abort rejects what waits', async () => {
  await using through = await stage()
  const first = await through.client.prompt({ text: 'Hello.' }).result
  const { sessionID } = first
  const second = await through.client.prompt({ text: 'Hello again.', sessionID }).result
  expect([textOf(first), textOf(second)]).toEqual(['An answer.', 'An answer.'])
  const blocked = through.client.prompt({ text: 'permission', sessionID })
  await pendingOf(blocked)
  expect((await blocked.abort()).outcome).toBe('aborted')
  expect(textOf(await through.client.prompt({ text: 'And now?', sessionID }).result)).toBe('An answer.')
  expect(through.errors).toEqual([])
})
