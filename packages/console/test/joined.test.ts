import { type Change, emptyReply, type Reply, type ReplyObserver, type ReplyStream } from '@reply/core'
import { expect, test } from 'vitest'
import { createOutput } from '../src/cli/output.ts'
import { runPrompt } from '../src/cli/run-prompt.ts'
import { fakeProcess } from './fixture/io.ts'
import { permission, question, replyOf, tell, text } from './fixture/reply.ts'
import { setup } from './fixture/sink.ts'

/** A prompt without a terminal, whose run began here or, if it joined, elsewhere. */
function start(joined: boolean) {
  const fake = fakeProcess()
  const calls: string[] = []
  let observers: readonly ReplyObserver[] = []
  let settle = (_: Reply): void => {}
  const result = new Promise<Reply>((resolve) => {
    settle = resolve
  })
  const none = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true as const, value: undefined }) }) }
  const stream: ReplyStream = {
    result,
    reply: emptyReply('ses_root'),
    joined,
    text: none,
    output: Promise.resolve(undefined),
    abort: async () => {
      calls.push('abort')
      return await result
    },
    leave: () => calls.push('leave'),
    filter: () => none,
    toReadableStream: () => new ReadableStream<Change>(),
    ...none,
  }
  const opencode: Parameters<typeof runPrompt>[0]['client'] = {
    prompt: (_, options) => {
      observers = options?.observe?.(emptyReply('ses_root')) ?? []
      options?.signal?.addEventListener('abort', () => {
        calls.push('signal')
        if (!joined) settle({ ...emptyReply('ses_root'), phase: 'settled', outcome: 'aborted' })
      })
      return stream
    },
    answer: async () => void calls.push('answer'),
    reject: async (ask) => void calls.push(`reject ${ask.requestID}`),
  }
  const output = createOutput(fake.io, {}, { prompt: false, client: opencode })
  const code = runPrompt(
    { client: opencode, output, request: { text: 'Hi', sessionID: 'ses_root' }, asks: 'reject' },
    fake.io,
  )
  const ask = (): void => {
    const [first, second] = [permission(), question()]
    const reply = replyOf([], { phase: 'blocked', asks: [first, second] })
    for (const one of observers) {
      one.permissionAsked?.({ type: 'permissionAsked', ask: first, reply })
      one.questionAsked?.({ type: 'questionAsked', ask: second, reply })
    }
  }
  return { ...fake, calls, code, ask }
}

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGPIPE', 141],
] as const)('%s leaves a run that another client began at work, and ends with %i', async (signal, exit) => {
  const prompt = start(true)
  prompt.signal(signal)
  expect(await prompt.code).toBe(exit)
  // The signal leaves a joined run: see `RunOptions.signal`.
  expect(prompt.calls).toEqual(['signal'])
  expect(prompt.stdout()).toContain('Left the run. It continues, because another client started it.')
})

test('Control-C ends the run in any case: it is what the user asks for', async () => {
  const prompt = start(true)
  prompt.signal('SIGINT')
  prompt.signal('SIGTERM')
  expect(prompt.calls).toEqual(['abort'])
})

test('the asks of a run that another client began are left to it', async () => {
  const [joined, own] = [start(true), start(false)]
  joined.ask()
  own.ask()
  await new Promise(setImmediate)
  expect(joined.calls).toEqual([])
  expect(own.calls).toEqual(['reject per_1', 'reject que_1'])
  expect(joined.stdout()).toContain(
    'Waiting for an answer to "bash: npm publish" from the client that started this run.',
  )
  joined.signal('SIGTERM')
  own.signal('SIGTERM')
  await Promise.all([joined.code, own.code])
})

test('a sink without a terminal rejects asks only of a run that it saw begin', async () => {
  const ask = permission()
  const blocked = replyOf([text('a', 'One.')], { phase: 'blocked', asks: [ask] })
  const asked = { type: 'permissionAsked', ask, reply: blocked } as const
  const [late, early] = [setup([60, 16], { live: false }), setup([60, 16], { live: false })]
  late.sink.permissionAsked?.(asked)
  tell(early.sink, emptyReply('ses_root'))
  early.sink.permissionAsked?.(asked)
  await new Promise(setImmediate)
  expect(late.sent).toEqual([])
  expect(early.sent).toEqual([['per_1', 'reject', expect.any(String)]])
  const words = (await late.terminal.rows()).join(' ').replace(/\s+/g, ' ')
  expect(words).toContain('from the client that started')
})
