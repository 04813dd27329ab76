import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { type Reply, ReplyError, textOf } from '../../src/index.ts'
import { connectSource, type LocalAgent, type LocalRun } from '../../src/source.ts'
import { createScripted } from './local-agent.ts'

const lostError = new ReplyError('unreachable', 'The connection has ended.')

/** A run that asks, over a connection that can be lost. `start` is called for each connection. */
async function stage(start: (agent: LocalAgent, run: LocalRun | undefined) => Promise<void> | void = () => {}) {
  const clock = createHandClock()
  const answers: string[] = []
  let run: LocalRun | undefined
  const agent: LocalAgent = createScripted({
    clock,
    read: async () => {},
    start: async () => await start(agent, run),
    prompt: async (prompted) => {
      run = prompted
      run.write({ type: 'text', delta: 'One. ' })
      run.ask({
        type: 'question',
        requestID: 'ask_1',
        questions: [{ header: 'Color', question: 'Which?', options: [], multiple: false, custom: true }],
        reply: ({ type }) => void answers.push(type),
      })
    },
  })
  const client = connectSource(agent.source, { clock, random: () => 0 })
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await client.ready
  const stream = client.prompt({ text: 'Hello.' })
  await rest()
  const [ask] = stream.reply?.asks ?? []
  if (ask?.type !== 'question') throw new Error('Nothing was asked.')
  return { agent, client, clock, stream, ask, answers, rest }
}

test('a lost connection ends no run: what it wrote meanwhile is shown once, and its ask can be answered', async () => {
  const { agent, client, clock, stream, ask, answers, rest } = await stage((_, run) => {
    run?.write({ type: 'text', delta: 'Two. ' })
  })
  agent.lose(lostError)
  await rest()
  expect([stream.reply?.phase, stream.reply?.connection]).toEqual(['blocked', 'lost'])
  await clock.advance(10_000)
  await rest()
  expect(stream.reply?.connection).toBe('live')
  await client.answer(ask, [['Blue']])
  agent.run(ask.sessionID)?.end({ type: 'completed' })
  const reply = await stream.result
  expect([reply.outcome, textOf(reply).trim(), answers]).toEqual(['completed', 'One. Two.', ['answered']])
  expect(reply.asks).toMatchObject([{ status: 'answered' }])
  await client.close()
})

test('an ask that the agent withdrew while the connection was lost is withdrawn, and not answered', async () => {
  const { agent, client, clock, stream, answers, rest } = await stage((_, run) => {
    run?.closeAsk('ask_1')
    run?.end({ type: 'completed' })
  })
  agent.lose(lostError)
  for (let second = 0; second < 30; second++) {
    await rest()
    await clock.advance(1000)
  }
  const reply = await stream.result
  expect([reply.outcome, reply.asks.map(({ status }) => status), answers]).toEqual(['completed', ['withdrawn'], []])
  await client.close()
})

test('an answer while the connection is lost waits until the agent tells what became of its ask', async () => {
  let isReached = (): void => {}
  const { agent, client, ask, answers, rest } = await stage(async (_, run) => {
    if (!run) return
    await new Promise<void>((resolve) => {
      isReached = resolve
    })
    run.closeAsk('ask_1')
  })
  agent.lose(lostError)
  const answer = client.answer(ask, [['Blue']]).catch((error: unknown) => error)
  await rest()
  isReached()
  const error = await answer
  expect(error instanceof ReplyError && error.type).toBe('already-resolved')
  expect(answers).toEqual([])
  await client.close()
})

test('an ask of a run that fails with its agent is withdrawn, because no one has rejected it', async () => {
  const { agent, client, stream, answers } = await stage()
  agent.fail(lostError)
  const reply = await stream.result
  expect([reply.outcome, reply.asks.map(({ status }) => status)]).toEqual(['failed', ['withdrawn']])
  expect(answers).toEqual(['canceled'])
  await client.close()
})

test('a run is shown that fails before a new watch has begun, if the agent repeats nothing', async () => {
  const clock = createHandClock()
  const agent = createScripted({ clock })
  let listing = Promise.resolve()
  const newestTime = async (directory?: string): Promise<number | undefined> => {
    await listing
    return await agent.source.newestTime(directory)
  }
  const client = connectSource({ ...agent.source, newestTime }, { clock, random: () => 0 })
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const { sessionID, directory } = await client.prompt({ text: 'Hello.' }).result
  let list = (): void => {}
  listing = new Promise((resolve) => {
    list = resolve
  })
  const settled: Reply[] = []
  client.watch({}, { observe: () => [{ replySettled: ({ reply }) => void settled.push(reply) }] })
  agent.wake({ sessionID, directory }, 'The command has ended.').write({ type: 'text', delta: 'By myself.' })
  await rest()
  expect(settled).toEqual([])
  agent.fail(lostError)
  await rest()
  list()
  await rest()
  expect(settled.map((reply) => [textOf(reply), reply.outcome])).toEqual([['By myself.', 'failed']])
  await client.close()
})
