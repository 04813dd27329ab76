import { emptyReply, type PromptInput, type Reply, type ReplyEvent, reduce } from '@reply/core'
import { createAgent, type Thought, type ToolHost, type Tools } from '@reply/core/thoughts'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createReplyStream } from '../../src/drive/runs/reply-stream.ts'
import { failed, message, root, settle, text } from '../make.ts'

/** A driver whose runs these tests feed by hand. */
function setDriver() {
  const { stream, emitStep } = createReplyStream(async () => {})
  const prompts: PromptInput[] = []
  let reply: Reply = emptyReply(root)
  return {
    prompts,
    driver: {
      prompt: (input: PromptInput) => {
        prompts.push(input)
        return stream
      },
    },
    feed: (...events: readonly ReplyEvent[]) => {
      for (const event of events) {
        if (!('sessionID' in event)) continue
        const step = reduce(reply, event)
        reply = step.reply
        emitStep(step, false)
      }
    },
  }
}

/** A host that notes what it was offered. */
function setHost() {
  const offers: Tools[] = []
  let closed = 0
  const host: ToolHost = {
    offer: async (tools, input) => {
      offers.push(tools)
      const close = async () => {
        closed += 1
      }
      return { input: { ...input, sessionID: 'ses_offered' }, close }
    },
  }
  return { host, offers, closed: () => closed }
}

async function all(thoughts: AsyncIterable<Thought>): Promise<readonly Thought[]> {
  const list: Thought[] = []
  for await (const thought of thoughts) list.push(thought)
  return list
}

const count = z.object({ count: z.int().min(0) })

describe('without an output', () => {
  test('the prompt is posted at once, and the result is the reply', async () => {
    const { driver, prompts, feed } = setDriver()
    const turn = createAgent(driver).stream('Hello', { include: ['message'] })
    expect(prompts).toEqual([{ text: 'Hello' }])
    feed(message('m1'), text('m1', 'Hi', { status: 'sealed' }), settle('none'))
    expect(await all(turn)).toEqual([{ type: 'message', text: 'Hi' }])
    expect((await turn.result).phase).toBe('settled')
  })

  test('a failure is an outcome', async () => {
    const { driver, feed } = setDriver()
    const turn = createAgent(driver).run({ text: 'Hello', agent: 'plan' })
    feed(failed('APIError'), settle('none'))
    expect((await turn).outcome).toBe('failed')
  })
})

test('a tool of the program can not take the name of the one that returns the result', () => {
  const { driver, prompts } = setDriver()
  const { host } = setHost()
  const tools = { return_result: { description: 'Mine.', schema: count, handler: () => 'ok' } }
  expect(() => createAgent(driver, { host }).stream('How many?', { output: count, tools })).toThrow(
    /return_result.*Rename your tool/,
  )
  expect(prompts).toEqual([])
})

describe('by the format of the prompt', () => {
  test('the result is there before the turn ends', async () => {
    const { driver, prompts, feed } = setDriver()
    const turn = createAgent(driver).stream('How many?', { output: count })
    expect(prompts[0]?.format).toMatchObject({ type: 'json_schema', schema: { type: 'object', required: ['count'] } })
    feed(message('m1', { output: { count: 3 } }))
    expect(await turn.result).toEqual({ count: 3 })
  })

  test('a value that does not fit counts as none', async () => {
    const { driver, feed } = setDriver()
    const turn = createAgent(driver).run('How many?', { output: count })
    feed(message('m1', { output: { count: -1 } }), message('m2', { output: { count: 2 } }))
    expect(await turn).toEqual({ count: 2 })
  })

  test('a turn without a value says how it ended, and what was wrong', async () => {
    const { driver, feed } = setDriver()
    const turn = createAgent(driver).run('How many?', { output: count })
    feed(message('m1', { output: { count: -1 } }), settle('none'))
    await expect(turn).rejects.toMatchObject({
      type: 'no-output',
      message: expect.stringMatching(/ended as \w+ without a value that fits the schema: .*count/s),
    })
  })

  test('a rejected result that nothing awaits harms nothing', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    const { driver, feed } = setDriver()
    const turn = createAgent(driver).stream('How many?', { output: count })
    feed(failed('APIError'), settle('none'))
    expect(await all(turn)).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  test('a schema of something other than an object is told as an object with one field', async () => {
    const { driver, prompts, feed } = setDriver()
    const turn = createAgent(driver).run('Which?', { output: z.array(z.string()) })
    expect(prompts[0]?.format?.schema).toMatchObject({ type: 'object', properties: { value: { type: 'array' } } })
    feed(message('m1', { output: { value: ['a'] } }))
    expect(await turn).toEqual(['a'])
  })

  test('a schema that JSON cannot hold is refused at once', () => {
    const { driver, prompts } = setDriver()
    expect(() => createAgent(driver).stream('When?', { output: z.date() })).toThrow("can't be written as JSON Schema")
    expect(prompts).toEqual([])
  })
})

describe('tools', () => {
  const look = { description: 'Looks.', schema: z.object({}), handler: () => 'seen' }

  test('without a host are refused at once', () => {
    const { driver } = setDriver()
    expect(() => createAgent(driver).stream('Look.', { tools: { look } })).toThrow('@reply/tools')
  })

  test('are offered before the prompt is posted, and taken back when the run has settled', async () => {
    const { driver, prompts, feed } = setDriver()
    const { host, offers, closed } = setHost()
    const turn = createAgent(driver, { host }).stream('Look.', { tools: { look } })
    expect(prompts).toEqual([])
    await expect.poll(() => prompts).toEqual([{ text: 'Look.', sessionID: 'ses_offered' }])
    expect(offers.map(Object.keys)).toEqual([['look']])
    expect(closed()).toBe(0)
    feed(message('m1'), settle('none'))
    expect((await turn.result).phase).toBe('settled')
    await expect.poll(closed).toBe(1)
  })

  test('with a host, the agent returns its output by one of them', async () => {
    const { driver, prompts } = setDriver()
    const { host, offers } = setHost()
    const turn = createAgent(driver, { host }).stream('How many?', { output: count })
    await expect.poll(() => prompts).toHaveLength(1)
    expect(prompts[0]?.parts).toEqual([
      { type: 'text', text: expect.stringContaining('return_result'), synthetic: true },
    ])
    const { signal } = new AbortController()
    expect(offers[0]?.return_result?.handler({ count: 3 }, { signal })).toBe('The result was received.')
    expect(await turn.result).toEqual({ count: 3 })
  })

  test('that could not be offered reject the result, and end the iterator', async () => {
    const { driver, prompts } = setDriver()
    const host: ToolHost = { offer: () => Promise.reject(new Error('no port')) }
    const turn = createAgent(driver, { host }).stream('Look.', { tools: { look } })
    expect(await all(turn)).toEqual([])
    await expect(turn.result).rejects.toThrow('no port')
    expect(prompts).toEqual([])
  })

  test('are taken back if the prompt is refused', async () => {
    const { host, closed } = setHost()
    const driver = {
      prompt: () => {
        throw new Error('empty')
      },
    }
    await expect(createAgent(driver, { host }).run('', { tools: { look } })).rejects.toThrow('empty')
    expect(closed()).toBe(1)
  })
})
