import { answerOf, type Reply, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { longestSilenceMs } from '../../src/acp/wakes.ts'
import { chunk, scripted, type Turn } from './agent.ts'
import { replayed } from './replay.ts'
import { sessionAgents } from './session-agents.ts'
import { lateScene } from './session-scenes.ts'

const agents = sessionAgents
  .filter(({ agent }) => agent !== 'codex')
  .map(({ folder, version, mode, agent, scenes }) => ({ recorded: `${folder}-${version}`, agent, mode, scenes }))

async function replay(recorded: string, mode: string, name: string) {
  const scene = [...agents.flatMap(({ scenes }) => scenes), lateScene].find((one) => one.name === name)
  if (!scene) throw new Error(`There is no scene ${name}.`)
  const { client, sent } = replayed(name, recorded)
  const replies = await scene.play({ client, directory: '/project' }, mode)
  await client.close()
  return { replies, sent }
}

const summary = (reply: Reply): readonly unknown[] => [reply.prompt?.text, textOf(reply), reply.outcome]

describe.each(agents)('$recorded', ({ recorded, mode }) => {
  const first = ['[scenario:wake] Go.', expect.stringMatching(/^I start it\.\s*It runs\.$/), 'completed']

  test('goes on by itself after a command in the background, as a reply without a prompt', async () => {
    const { replies } = await replay(recorded, mode, 'wake')
    expect(replies.map(summary)).toEqual([
      first,
      [undefined, expect.stringMatching(/^It ended\.\s*The command is done\.$/), 'completed'],
    ])
  })

  test('answers a prompt that is sent meanwhile with its own text', async () => {
    const { replies } = await replay(recorded, mode, 'wake-meanwhile')
    expect(replies.map(summary)).toEqual([
      first,
      [undefined, expect.stringContaining('The command is done.'), 'completed'],
      ['[scenario:meanwhile] Go.', 'The second answer.', 'completed'],
    ])
  })
})

test.each(agents.filter(({ scenes }) => scenes.some(({ name }) => name === 'wake-abort')))(
  '$recorded stops when it is aborted while it goes on',
  async ({ recorded, mode }) => {
    const { replies, sent } = await replay(recorded, mode, 'wake-abort')
    expect(replies.map(summary)).toEqual([
      expect.anything(),
      [undefined, expect.stringContaining('It ended.'), 'aborted'],
    ])
    expect(sent.filter(({ method }) => method === 'session/cancel')).toHaveLength(1)
  },
)

test.each(agents.filter(({ agent }) => agent === 'claude'))(
  'a prompt that comes while $recorded has begun to go on is completed with its own answer last',
  async ({ recorded, mode }) => {
    const { replies } = await replay(recorded, mode, 'wake-late')
    const last = replies.at(-1)
    // The agent doesn't say whose text is whose before the first of them ends.
    expect(last && [textOf(last), answerOf(last), last.outcome]).toEqual([
      expect.stringMatching(/^The command is done\.\s*The second answer\.$/),
      'The second answer.',
      'completed',
    ])
  },
)

describe('an agent that does not say when it ends', () => {
  const permission = { sessionId: 'ses_1', toolCall: { toolCallId: 'c', title: 'ls' }, options: [] }
  const update = (given: object, sessionId = 'ses_1') => ({
    jsonrpc: '2.0',
    method: 'session/update',
    params: { sessionId, update: given },
  })

  async function stage(act: (turn: Turn) => void = ({ end }) => end({ stopReason: 'end_turn' })) {
    const clock = createHandClock()
    const errors: string[] = []
    const { source, fakes, heard } = scripted(act, {
      clock,
      quietMs: 3000,
      onError: ({ message }) => errors.push(message),
    })
    /** How many reads of a new watch are under way, which holds events back meanwhile. They read the disk, which takes real time. */
    let reads = 0
    const newestTime = async (directory?: string): Promise<number | undefined> => {
      reads += 1
      try {
        return await source.newestTime(directory)
      } finally {
        reads -= 1
      }
    }
    const client = connectSource({ ...source, newestTime }, { clock, random: () => 0 })
    const settled: Reply[] = []
    let reject = async (): Promise<void> => {}
    client.watch(
      {},
      {
        observe: () => [
          {
            replySettled: ({ reply }) => void settled.push(reply),
            questionAsked: ({ ask }) => {
              reject = async () => await client.reject(ask)
            },
          },
        ],
      },
    )
    await client.prompt({ text: 'Go.' }).result
    const say = (message: object): void => fakes.at(-1)?.say(message)
    const rest = async (): Promise<void> => {
      for (let turn = 0; turn < 300; turn++) {
        await new Promise<void>((resolve) => setImmediate(resolve))
        if (reads > 0) turn = 0
      }
    }
    return {
      client,
      reject: async () => await reject(),
      clock,
      say,
      rest,
      settled,
      heard,
      fakes,
      errors,
      texts: () => settled.map((reply) => [textOf(reply), reply.outcome]),
    }
  }

  test('ends by its silence', async () => {
    const { client, clock, say, rest, texts } = await stage()
    say(update(chunk('I go on')))
    await rest()
    clock.advance(2999)
    say(update(chunk(' by myself.')))
    await rest()
    clock.advance(2999)
    await rest()
    expect(texts()).toEqual([['', 'completed']])
    clock.advance(1)
    await rest()
    expect(texts()).toEqual([
      ['', 'completed'],
      ['I go on by myself.', 'completed'],
    ])
    await client.close()
  })

  test('does not end by its silence while a call runs or an ask is open', async () => {
    const { client, reject, clock, say, rest, settled, heard } = await stage()
    say(update({ sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status: 'in_progress' }))
    await rest()
    clock.advance(9000)
    await rest()
    say(update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed' }))
    say({
      jsonrpc: '2.0',
      id: 'a',
      method: 'elicitation/create',
      params: { ...permission, mode: 'form', message: 'Go on?' },
    })
    await rest()
    clock.advance(9000)
    await rest()
    expect(settled).toHaveLength(1)
    await reject()
    await rest()
    clock.advance(3000)
    await rest()
    expect(settled.map((reply) => [toolsOf(reply).length, reply.asks.length])).toEqual([
      [0, 0],
      [1, 1],
    ])
    expect(heard.find(({ id }) => id === 'a')?.result).toEqual({ action: 'decline' })
    await client.close()
  })

  test('fails after a long silence without an end, if it has told one before', async () => {
    const { client, clock, say, rest, settled } = await stage()
    const ended = { sessionUpdate: 'usage_update', used: 1, size: 2, _meta: { '_claude/origin': { kind: 'other' } } }
    say(update(chunk('I go on.')))
    say(update(ended))
    await rest()
    say(update(chunk('And on.')))
    await rest()
    clock.advance(longestSilenceMs - 1)
    await rest()
    expect(settled.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
    clock.advance(1)
    await rest()
    expect(settled.at(-1)).toMatchObject({ outcome: 'failed', error: { name: 'silent' } })
    expect((await client.prompt({ text: 'Go on.', sessionID: 'ses_1' }).result).outcome).toBe('completed')
    await client.close()
  })

  test('is stopped at once', async () => {
    const { client, say, rest, texts, heard } = await stage()
    say(update(chunk('I go on.')))
    await rest()
    await client.abort({ sessionID: 'ses_1' })
    await rest()
    expect(texts().at(-1)).toEqual(['I go on.', 'aborted'])
    expect(heard.map(({ method }) => method)).toContain('session/cancel')
    await client.close()
  })

  test('fails when it dies', async () => {
    const { client, say, rest, settled, fakes } = await stage()
    say(update(chunk('I go on.')))
    await rest()
    fakes[0]?.die('was ended by SIGKILL')
    await rest()
    expect(settled.at(-1)?.outcome).toBe('failed')
    await client.close()
  })

  test.each([
    ['a title', { sessionUpdate: 'session_info_update', title: 'Later' }],
    ['tokens', { sessionUpdate: 'usage_update', used: 1, size: 2 }],
    ['an empty text', chunk('')],
    ['a late update of a call', { sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'failed' }],
    ['a kind of another version', { sessionUpdate: 'of_version_3' }],
    ['half a text', { sessionUpdate: 'agent_message_chunk' }],
  ])('%s begins no run', async (_, given) => {
    const { client, clock, say, rest, settled } = await stage(({ say: sayFirst, end }) => {
      sayFirst({ sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status: 'in_progress' })
      end({ stopReason: 'end_turn' })
    })
    say(update(given))
    await rest()
    clock.advance(60_000)
    await rest()
    expect(settled).toHaveLength(1)
    await client.close()
  })

  test('output of a session that is unknown begins no run', async () => {
    const { client, say, rest, settled, errors } = await stage()
    say(update(chunk('Lost.'), 'ses_other'))
    say({ jsonrpc: '2.0', method: '_qwencode/start_turn', id: 1, params: { sessionId: 'ses_other' } })
    say({ jsonrpc: '2.0', method: '_qwencode/end_turn', params: {} })
    await rest()
    expect([settled.length, errors.length]).toEqual([1, 1])
    await client.close()
  })
})
