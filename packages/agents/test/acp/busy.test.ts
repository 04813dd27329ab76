import { type Reply, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { clientOf } from '../../src/acp/client.ts'
import { collectReplies } from '../collect-replies.ts'
import { chunk, type Message, scripted, type Turn } from './agent.ts'
import type { Fake } from './fake.ts'
import { replayed } from './replay.ts'
import { sessionAgents } from './session-agents.ts'
import { queueScene, steerScene } from './session-scenes.ts'

const summary = (reply: Reply): readonly unknown[] => [textOf(reply), reply.promptIDs.length, reply.outcome]

const steering = sessionAgents.filter(({ agent }) => agent !== 'qwen')

test.each(steering)('a prompt joins the turn of $folder $version', async ({ folder, version, mode }) => {
  const { client, sent } = replayed('steer', `${folder}-${version}`)
  const replies = await steerScene.play({ client, directory: '/project' }, mode)
  await client.close()
  expect(replies.map(summary)).toEqual([[expect.stringMatching(/I begin\.\s*The second answer\.$/), 2, 'completed']])
  expect(replies[0]?.usage).toMatchObject({ input: 240, output: 48 })
  expect(sent.filter(({ method }) => method === 'session/prompt')).toHaveLength(1)
  expect(sent.find(({ method }) => method === '_session/steering')).toMatchObject({
    params: { prompt: [{ text: '[scenario:meanwhile] Go.' }], _meta: { steering: { idleBehavior: 'promptRequired' } } },
  })
})

test.each(steering.filter(({ agent }) => agent === 'claude'))(
  'a prompt is queued behind the turn of $folder $version',
  async ({ folder, version, mode }) => {
    const { client } = replayed('queue', `${folder}-${version}`)
    const replies = await queueScene.play({ client, directory: '/project' }, mode)
    await client.close()
    // Claude Code reads the queued prompt when the call has returned, and ends the first turn there.
    expect(replies.map(summary)).toEqual([
      ['I begin.', 1, 'completed'],
      ['The second answer.', 1, 'completed'],
    ])
  },
)

const declared = {
  protocolVersion: 1,
  agentCapabilities: { _meta: { claudeCode: { promptQueueing: true } } },
  _meta: { steering: { supported: true } },
}

/** A client of an agent that takes prompts while it is busy. `steer` answers each prompt for its running turn. */
async function stage(
  act: (turn: Turn) => void | Promise<void>,
  steer: (answer: (outcome: string) => void) => void,
  initialized: object = declared,
) {
  const agent: { fake?: Fake } = {}
  const { source, heard } = scripted(act, {}, (message: Message, fake) => {
    agent.fake = fake
    if (message.method === 'initialize') fake.say({ jsonrpc: '2.0', id: message.id, result: initialized })
    else if (message.method === '_session/steering')
      steer((outcome) => fake.say({ jsonrpc: '2.0', id: message.id, result: { outcome } }))
    else return false
    return true
  })
  const client = clientOf(source, { command: 'agent', cwd: '/project' })
  await client.ready
  const watched = collectReplies(client, '/project')
  const says = (update: object): void =>
    agent.fake?.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'ses_1', update } })
  const texts = async (): Promise<readonly string[]> => {
    const { messages } = await source
      .startReading()
      .session({ sessionID: 'ses_1', directory: '/project' }, { messageIDs: [] })
    return messages.map(({ head, parts }) => {
      const words = parts.map((part) => (part.type === 'text' ? part.text : part.type))
      return `${head.role}: ${words.filter((word) => word !== 'step-finish').join()}`
    })
  }
  return { client, source, heard, watched, says, texts }
}

const methods = (heard: readonly Message[]): readonly string[] =>
  heard.flatMap(({ method }) => (method === 'session/prompt' || method === '_session/steering' ? [method] : []))

/** A turn that says something and goes on when it is told to. */
function held() {
  let goOn = (): void => {}
  const until = new Promise<void>((resolve) => {
    goOn = resolve
  })
  return { until, goOn: () => goOn() }
}

describe('a prompt that is sent to a running turn', () => {
  const loads = { ...declared, agentCapabilities: { ...declared.agentCapabilities, loadSession: true } }

  test('gets the output from the next message on, after the calls have returned', async () => {
    const { until, goOn } = held()
    const call = { toolCallId: 'c', title: 'ls', status: 'in_progress' }
    const { client, watched, heard, texts } = await stage(
      async ({ say, end }) => {
        say({ sessionUpdate: 'tool_call', ...call })
        say(chunk('I beg', 'm1'))
        await until
        say(chunk('in.', 'm1'))
        say({ sessionUpdate: 'usage_update', used: 1, size: 9, cost: { amount: 1, currency: 'USD' } })
        say(chunk(' It runs.', 'm2'))
        say({ sessionUpdate: 'tool_call_update', ...call, status: 'completed' })
        say(chunk('The second answer.', 'm3'))
        say({ sessionUpdate: 'usage_update', used: 1, size: 9, cost: { amount: 3, currency: 'USD' } })
        end({ stopReason: 'end_turn', usage: { inputTokens: 7, outputTokens: 5 } })
      },
      (answer) => {
        answer('injected')
        goOn()
      },
      loads,
    )
    const first = client.prompt({ text: 'First.' })
    await watched.seen((reply) => textOf(reply) === 'I beg')
    const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
    const [reply] = await Promise.all([first.result, second.result])
    expect([methods(heard), reply.promptIDs.length]).toEqual([['session/prompt', '_session/steering'], 2])
    expect(reply.usage).toMatchObject({ input: 7, output: 5, cost: 3 })
    expect(await texts()).toEqual([
      'user: First.',
      'assistant: tool',
      'assistant: I begin.',
      'assistant:  It runs.',
      'user: Second.',
      'assistant: The second answer.',
    ])
    await client.close()
  })

  test('is sent as its own turn if the turn has just ended', async () => {
    const { until, goOn } = held()
    const { client, watched, heard } = await stage(
      async ({ text, say, end }) => {
        say(chunk(`${text} Yes.`))
        if (text === 'First.') await until
        end({ stopReason: 'end_turn' })
      },
      (answer) => {
        goOn()
        setImmediate(() => answer('promptRequired'))
      },
    )
    const first = client.prompt({ text: 'First.' })
    await watched.seen((reply) => textOf(reply) !== '')
    const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
    expect(textOf(await first.result)).toBe('First. Yes.')
    expect(textOf(await second.result)).toContain('Second. Yes.')
    expect(methods(heard)).toEqual(['session/prompt', '_session/steering', 'session/prompt'])
    await client.close()
  })

  test.each(['failed', 'startedNewTurn'])('fails if the agent answers "%s", and the turn goes on', async (outcome) => {
    const { until, goOn } = held()
    const { client, watched } = await stage(
      async ({ say, end }) => {
        say(chunk('First.'))
        await until
        end({ stopReason: 'end_turn' })
      },
      (answer) => answer(outcome),
    )
    const first = client.prompt({ text: 'First.' })
    await watched.seen((reply) => textOf(reply) !== '')
    const second = await client.prompt({ text: 'Second.', sessionID: 'ses_1' }).result
    expect(second).toMatchObject({ outcome: 'failed', error: { message: expect.stringContaining(`(${outcome})`) } })
    goOn()
    expect((await first.result).outcome).toBe('completed')
    await client.close()
  })

  test('ends with the turn if the response to the turn comes first', async () => {
    const { until, goOn } = held()
    const { client, watched } = await stage(
      async ({ say, end }) => {
        say(chunk('First.'))
        await until
        end({ stopReason: 'max_tokens' })
      },
      (answer) => {
        goOn()
        setImmediate(() => answer('injected'))
      },
    )
    const first = client.prompt({ text: 'First.' })
    await watched.seen((reply) => textOf(reply) !== '')
    const second = await client.prompt({ text: 'Second.', sessionID: 'ses_1' }).result
    expect([(await first.result).finish, second.finish]).toEqual(['length', 'length'])
    await client.close()
  })

  test('is aborted with the turn', async () => {
    const taken = held()
    const { client, watched } = await stage(
      async ({ say, canceled, end }) => {
        say(chunk('First.'))
        await canceled
        end({ stopReason: 'cancelled' })
      },
      (answer) => {
        answer('injected')
        taken.goOn()
      },
    )
    const first = client.prompt({ text: 'First.' })
    await watched.seen((reply) => textOf(reply) !== '')
    const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
    await taken.until
    await client.abort({ sessionID: 'ses_1' })
    expect([(await first.result).outcome, (await second.result).outcome]).toEqual(['aborted', 'aborted'])
    await client.close()
  })

  test('waits until a turn of the agent’s own is over, and joins its reply', async () => {
    const { client, watched, heard, says } = await stage(
      ({ text, say, end }) => {
        say(chunk(text === 'First.' ? 'One.' : 'Two.'))
        end({ stopReason: 'end_turn' })
      },
      () => {},
    )
    await client.prompt({ text: 'First.' }).result
    says(chunk('By myself.'))
    await watched.seen((reply) => textOf(reply) === 'By myself.')
    const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(methods(heard)).toEqual(['session/prompt'])
    says({ sessionUpdate: 'usage_update', used: 1, size: 2, _meta: { '_claude/origin': { kind: 'task' } } })
    const reply = await second.result
    expect([textOf(reply), reply.outcome]).toEqual([expect.stringMatching(/^By myself\.\s*Two\.$/), 'completed'])
    expect(methods(heard)).toEqual(['session/prompt', 'session/prompt'])
    await client.close()
  })
})

test('a prompt that is aborted while it waits for the agent’s own turn is not sent', async () => {
  const { client, watched, heard, says } = await stage(
    ({ say, end }) => {
      say(chunk('One.'))
      end({ stopReason: 'end_turn' })
    },
    () => {},
  )
  await client.prompt({ text: 'First.' }).result
  const over = { sessionUpdate: 'usage_update', used: 1, size: 2, _meta: { '_claude/origin': { kind: 'task' } } }
  says(over)
  says(chunk('By myself.'))
  await watched.seen((reply) => textOf(reply) === 'By myself.')
  const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  const aborted = client.abort({ sessionID: 'ses_1' })
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  says(over)
  await aborted
  expect((await second.result).outcome).toBe('aborted')
  expect(methods(heard)).toEqual(['session/prompt'])
  await client.close()
})

describe('a queued prompt', () => {
  test('waits behind the turn, and then has its own answer', async () => {
    const { until, goOn } = held()
    const { client, source, watched, heard } = await stage(
      async ({ text, say, end }) => {
        if (text === 'First.') say(chunk('One.'))
        await until
        if (text === 'Second.') say(chunk('Two.'))
        end({ stopReason: 'end_turn' })
      },
      () => {},
    )
    const first = client.prompt({ text: 'First.' })
    await watched.seen((reply) => textOf(reply) !== '')
    const second = client.prompt({ text: 'Second.', sessionID: 'ses_1', delivery: 'queue' })
    const waiting = async (): Promise<readonly string[]> =>
      (await source.waiting?.({ sessionID: 'ses_1', directory: '/project' })) ?? []
    while ((await waiting()).length === 0) await new Promise((resolve) => setImmediate(resolve))
    goOn()
    expect([summary(await first.result), summary(await second.result)]).toEqual([
      ['One.', 1, 'completed'],
      ['Two.', 1, 'completed'],
    ])
    expect([methods(heard), await waiting()]).toEqual([['session/prompt', 'session/prompt'], []])
    await client.close()
  })

  test('is aborted with the session', async () => {
    const canceled = held()
    const { client, source, watched } = await stage(
      async ({ text, say, canceled: own, end }) => {
        if (text === 'First.') say(chunk('One.'))
        else void own.then(canceled.goOn)
        await canceled.until
        end({ stopReason: 'cancelled' })
      },
      () => {},
    )
    const first = client.prompt({ text: 'First.' })
    await watched.seen((reply) => textOf(reply) !== '')
    const second = client.prompt({ text: 'Second.', sessionID: 'ses_1', delivery: 'queue' })
    while ((await source.waiting?.({ sessionID: 'ses_1', directory: '/project' }))?.length !== 1)
      await new Promise((resolve) => setImmediate(resolve))
    await client.abort({ sessionID: 'ses_1' })
    expect([(await first.result).outcome, (await second.result).outcome]).toEqual(['aborted', 'aborted'])
    await client.close()
  })
})

test('an agent that declares neither gets a prompt when its turn is over, and none to queue', async () => {
  const { until, goOn } = held()
  const { client, watched, heard } = await stage(
    async ({ say, end }) => {
      say(chunk('Yes.'))
      await until
      end({ stopReason: 'end_turn' })
    },
    () => {},
    { protocolVersion: 1, agentCapabilities: {} },
  )
  const first = client.prompt({ text: 'First.' })
  await watched.seen((reply) => textOf(reply) !== '')
  const second = client.prompt({ text: 'Second.', sessionID: 'ses_1' })
  const queued = await client.prompt({ text: 'Third.', sessionID: 'ses_1', delivery: 'queue' }).result
  expect(queued.error?.message).toContain('has no prompt queue')
  expect(methods(heard)).toEqual(['session/prompt'])
  goOn()
  expect([(await first.result).outcome, (await second.result).outcome]).toEqual(['completed', 'completed'])
  expect(methods(heard)).toEqual(['session/prompt', 'session/prompt'])
  await client.close()
})
