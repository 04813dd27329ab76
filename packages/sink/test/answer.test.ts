import { type Ask, type Reply, ReplyError } from '@reply/core'
import { expect, test } from 'vitest'
import type { AskResult } from '../src/asks/answering.ts'
import { type AnswerOptions, answerWith } from '../src/inbound/answer.ts'
import type { Inbound } from '../src/inbound/inbound.ts'

const chat = { id: '7' }
const actor = { id: '5', name: 'Ada' }
const ask = { requestID: 'que_1', type: 'question', status: 'pending' } as unknown as Ask
const reply = { asks: [ask] } as unknown as Reply
const state = { answers: [], picked: [] }
const undone: string[] = []
const rest = { ask, undo: () => void undone.push('undone') }
const given: AskResult = { type: 'answer', answer: [['Blue']], state, ...rest }

function answering(taken: AskResult | undefined, client: Partial<AnswerOptions['client']> = {}) {
  const done: unknown[] = []
  const answer = answerWith({
    client: {
      answer: async (_, answer) => void done.push(answer),
      reject: async (_, message) => void done.push(message),
      abort: async (target) => void done.push(typeof target === 'string' ? target : 'abort'),
      ...client,
    },
    running: () => [
      {
        sink: {
          findAsks: async (input, by) => {
            done.push([input, by])
            return taken ? [{ type: 'meant', ask, take: () => taken }] : []
          },
        },
        stream: {
          abort: async () => {
            done.push('abort')
            return reply
          },
        },
      },
    ],
  })
  const answers: unknown[] = []
  const answer_ = async (text?: string): Promise<void> => void answers.push(text)
  const press: Inbound = { type: 'press', chat, actor, token: 's.0.1', messageRef: { id: '1' }, answer: answer_ }
  const text: Inbound = {
    ...{ type: 'text', chat, actor, text: 'Blue', messageRef: { id: '1' }, isCommand: false },
    answer: answer_,
  }
  return { answer, press, text, done, answers }
}

test('a press is passed on, and the person is told the result', async () => {
  const { answer, press, done, answers } = answering(given)
  expect(await answer(press)).toBe(true)
  expect([done, answers]).toEqual([
    [[{ token: 's.0.1', messageRef: { id: '1' }, chat }, actor], [['Blue']]],
    ['✅ Blue'],
  ])
})

test('an answering text is passed on without a reply: the asking message shows the answer', async () => {
  const { answer, text, done, answers } = answering(given)
  expect(await answer(text)).toBe(true)
  expect([done, answers]).toEqual([
    [[{ text: 'Blue', chat, messageRef: { id: '1' }, isCommand: false }, actor], [['Blue']]],
    [],
  ])
})

test('a rejection is passed on with its reason', async () => {
  const { answer, press, done } = answering({ type: 'reject', message: 'not now', state, ...rest })
  await answer(press)
  expect(done.at(-1)).toBe('not now')
})

test('an answer that the server refuses is reported to the person', async () => {
  const failing = async (error: Error): Promise<readonly unknown[]> => {
    const { answer, text, answers } = answering(given, { answer: () => Promise.reject(error) })
    expect(await answer(text)).toBe(true)
    return answers
  }
  expect(await failing(new ReplyError('unreachable', 'No server answered.'))).toEqual(['No server answered.'])
  const late = new ReplyError('already-resolved', 'The question que_1 is already resolved.')
  expect(await failing(late)).toEqual(['This was already resolved.'])
  expect(undone).toEqual(['undone', 'undone'])
})

test('an invalid answer gets a hint of what would be valid', async () => {
  const { answer, text, answers } = answering({ type: 'error', error: 'Pick one.', ...rest })
  expect(await answer(text)).toBe(true)
  expect(answers).toEqual(['Pick one.'])
})

test('a text that answers nothing is left to the host; a press is told that nothing is known to wait for it', async () => {
  const { answer, text, press, answers } = answering(undefined)
  expect([await answer(text), await answer(press)]).toEqual([false, true])
  expect(answers).toEqual([expect.stringMatching(/^No request is waiting .* try again/)])
})

test('Stop aborts the runs of that chat', async () => {
  const { answer, done } = answering(undefined)
  expect(await answer({ type: 'stop', chat, actor })).toBe(true)
  expect(done).toEqual(['abort'])
})

test('Stop aborts the session of a chat whose run was started before a restart, and reports a failure', async () => {
  const stopped: unknown[] = []
  const stop: Inbound = { type: 'stop', chat, actor }
  const client = {
    answer: async () => {},
    reject: async () => {},
    abort: async (target: unknown) => void stopped.push(target),
  }
  const answer = answerWith({ client, running: () => [], session: () => 'ses_1' })
  expect([await answer(stop), stopped]).toEqual([true, ['ses_1']])
  const failing = { ...client, abort: () => Promise.reject(new ReplyError('not-stopped', 'It goes on.')) }
  const failed = answerWith({ client: failing, running: () => [], session: () => 'ses_1' })
  await expect(failed(stop)).rejects.toMatchObject({ type: 'not-stopped' })
})
