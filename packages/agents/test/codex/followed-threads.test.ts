import { type PermissionAsk, type Reply, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { createHandClock } from '@reply/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { codex } from '../../src/codex.ts'
import { type Respond, type ScriptedListener, scriptedListener } from './scripted-listener.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** When the thread becomes active, in ms and in the whole seconds of Codex's turns. */
const activeAt = 1_800_000_000_500
const second = 1_800_000_000

const promptOf = (name: string) => ({
  type: 'userMessage',
  id: `${name}-prompt`,
  content: [{ type: 'text', text: `Prompt ${name}`, text_elements: [] }],
})
const answerOf = (name: string) => ({ type: 'agentMessage', id: `${name}-answer`, text: `Answer ${name}` })

/** A turn that is over, and one that goes on. */
const over = (name: string, completedAt = second) => ({
  id: name,
  status: 'completed',
  completedAt,
  items: [promptOf(name), answerOf(name)],
})
const goingOn = (name: string, items: readonly object[]) => ({
  id: name,
  status: 'inProgress',
  completedAt: null,
  items,
})
const old = over('old', second - 5)

const thread = { id: 'thread_1', cwd: '/project' }
const resumedWith = (...turns: readonly object[]) => ({ result: { thread: { ...thread, turns } } })
const listOf = (...turns: readonly object[]) => ({ result: { data: turns.toReversed() } })
const refusal = { error: { code: -32600, message: 'thread_1 is not stored.' } }

/** The messages of a turn. */
const ofTurn = (name: string, threadId = 'thread_1') => {
  const ids = { threadId, turnId: name }
  return {
    started: { method: 'turn/started', params: { threadId, turn: { id: name } } },
    prompt: { method: 'item/started', params: { ...ids, item: promptOf(name) } },
    answer: { method: 'item/completed', params: { ...ids, item: answerOf(name) } },
    request: {
      id: 0,
      method: 'item/commandExecution/requestApproval',
      params: { ...ids, itemId: 'call', command: 'ls', cwd: '/project' },
    },
    // The id that Codex 0.150.0 tells is another one than in its history.
    completed: {
      method: 'turn/completed',
      params: { threadId, turn: { id: name, status: 'completed', items: [{ ...answerOf(name), id: 'resp_1' }] } },
    },
  }
}
const active = (threadId = 'thread_1') => ({
  method: 'thread/status/changed',
  params: { threadId, status: { type: 'active', activeFlags: [] } },
  emittedAtMs: activeAt,
})

/** A client of a listener that follows its own sessions, and notes what it shows while it watches all. */
async function connected(respond: (push: ScriptedListener['push']) => Respond, follow?: 'own') {
  let push: ScriptedListener['push'] = () => {}
  const listener = await scriptedListener((...request) => respond((message) => push(message))(...request))
  push = listener.push
  closing.push(() => listener.close())
  const clock = createHandClock()
  const errors: string[] = []
  const onError = ({ message }: Error): void => void errors.push(message)
  const chat = connectSource(codex({ url: listener.url, clock, onError }), { follow, onError })
  closing.push(() => chat.close())
  await chat.ready
  const settled: Reply[] = []
  const asks: PermissionAsk[] = []
  let begun = 0
  const watch = () =>
    chat.watch(
      {},
      {
        observe: () => [
          {
            replyStarted: () => void begun++,
            replySettled: ({ reply }) => void settled.push(reply),
            permissionAsked: ({ ask }) => void asks.push(ask),
          },
        ],
      },
    )
  const shown = () => settled.map((reply) => [reply.prompt?.text, textOf(reply), reply.outcome])
  return { ...listener, chat, clock, errors, watch, shown, asks, begun: () => begun }
}

const shownAs = (name: string) => [`Prompt ${name}`, `Answer ${name}`, 'completed']

describe("a run of Codex's other client in a thread that has earlier ones is shown once, and they are not", () => {
  test.each<[string, (push: ScriptedListener['push']) => Respond]>([
    [
      'if it is over before its thread is read',
      (push) => (method) => {
        if (method === 'thread/read') push({ ...active(), params: { threadId: 'thread_1', status: { type: 'idle' } } })
        return method === 'thread/resume' ? resumedWith(old, over('new')) : undefined
      },
    ],
    [
      'if it is over between the read and the response, which has it without its end',
      (push) => (method) => {
        const stale = { ...goingOn('new', [promptOf('new')]), status: 'interrupted' }
        const usage = { threadId: 'thread_1', turnId: 'new', tokenUsage: { last: {} } }
        if (method === 'thread/resume') return resumedWith(old, stale)
        // Codex tells the usage of the last turn after the response.
        if (method === 'thread/turns/list') push({ method: 'thread/tokenUsage/updated', params: usage })
        return method === 'thread/turns/list' ? listOf(old, over('new')) : undefined
      },
    ],
    [
      'if it is over after the response, which has all of it but the end',
      (push) => (method) => {
        if (method !== 'thread/resume') return undefined
        setImmediate(() => push(ofTurn('new').completed))
        return resumedWith(old, goingOn('new', [promptOf('new'), answerOf('new')]))
      },
    ],
    [
      'if its answer came after the response was made, and before its messages were sent',
      (push) => (method) => {
        if (method !== 'thread/resume') return undefined
        setImmediate(() => push(ofTurn('new').completed))
        return resumedWith(old, goingOn('new', [promptOf('new')]))
      },
    ],
    [
      'if it is over after the response',
      (push) => (method) => {
        if (method !== 'thread/resume') return undefined
        setImmediate(() => {
          push(ofTurn('new').answer)
          push(ofTurn('new').completed)
        })
        return resumedWith(old, goingOn('new', [promptOf('new')]))
      },
    ],
  ])('%s', async (_, respond) => {
    const { push, watch, shown, begun, errors } = await connected(respond)
    watch()
    push(active())
    await expect.poll(shown).toEqual([shownAs('new')])
    expect([begun(), shown().length]).toEqual([1, 1])
    expect(errors).toEqual([])
  })
})

test('two runs are both shown, in order, if the second begins before the thread is open', async () => {
  const { push, shown, watch } = await connected((push) => (method) => {
    if (method !== 'thread/resume') return undefined
    setImmediate(() => {
      push(ofTurn('second').answer)
      push(ofTurn('second').completed)
    })
    return resumedWith(old, over('first'), goingOn('second', [promptOf('second')]))
  })
  watch()
  push(active())
  await expect.poll(shown).toEqual([shownAs('first'), shownAs('second')])
})

test('a run whose end is stored late is shown once, and so is the next one, which the messages tell of', async () => {
  let lists = 0
  const { push, shown, watch, clock } = await connected((push) => (method) => {
    if (method === 'thread/resume') return resumedWith(old)
    if (method !== 'thread/turns/list') return undefined
    lists += 1
    if (lists === 1) return refusal
    if (lists === 2) return listOf(old)
    const { started, prompt, answer, completed } = ofTurn('second')
    for (const message of [started, prompt, answer, completed]) push(message)
    return listOf(old, over('first'), over('second'))
  })
  watch()
  push(active())
  const shownLater = async () => {
    await clock.advance(100)
    return shown()
  }
  await expect.poll(shownLater).toEqual([shownAs('first'), shownAs('second')])
})

test('a run that was read before is not shown again, although it ended in the second in which the next one begins', async () => {
  const { push, shown, begun, watch, chat, methods } = await connected(
    () => (method) => {
      if (method === 'thread/turns/list') return listOf(over('first'))
      return method === 'thread/resume' ? resumedWith(old, over('first'), over('second')) : undefined
    },
    'own',
  )
  expect((await chat.reply('thread_1'))?.prompt?.text).toBe('Prompt first')
  push(active())
  await expect.poll(() => methods).toContain('thread/unsubscribe')
  const opened = methods.length
  watch()
  await expect.poll(() => methods.slice(opened)).toContain('thread/loaded/list')
  push(active())
  await expect.poll(shown).toEqual([shownAs('second')])
  expect(begun()).toBe(1)
})

describe('the prompt of a run that goes on is stored after its thread was resumed', () => {
  /** How often the turns were listed before and after something came that waits to be shown. */
  const counts = { before: 0, after: 0 }

  /** A client whose listener lists `stored` from the third time on, and sends the messages after the second time. */
  async function waiting(messages: readonly object[], stored: readonly object[]) {
    counts.before = 0
    counts.after = 0
    const stage = await connected((push) => (method) => {
      if (method === 'thread/resume') return resumedWith(old, goingOn('new', []))
      if (method !== 'thread/turns/list') return undefined
      if (counts.before === 2) counts.after += 1
      else counts.before += 1
      if (counts.before === 1) return refusal
      if (counts.after > 0) return listOf(old, goingOn('new', stored))
      for (const message of messages) push(message)
      return listOf(old, goingOn('new', []))
    })
    stage.watch()
    stage.push(active())
    const later = async <T>(value: () => T): Promise<T> => {
      await stage.clock.advance(100)
      return value()
    }
    return { ...stage, later }
  }

  const { prompt, answer, request, completed } = ofTurn('new')

  test('it is shown before the answer, which may be stored with it', async () => {
    const { later, shown } = await waiting([answer, completed], [promptOf('new'), answerOf('new')])
    await expect.poll(() => later(shown)).toEqual([shownAs('new')])
  })

  test('it is shown if a message tells of it', async () => {
    const { later, shown } = await waiting([prompt, answer, completed], [])
    await expect.poll(() => later(shown)).toEqual([shownAs('new')])
    expect(counts.after).toBe(1)
  })

  test('it is shown with what the agent asks', async () => {
    const { later, asks, chat } = await waiting([request], [promptOf('new')])
    await expect.poll(() => later(() => asks.length)).toBe(1)
    expect((await chat.reply('thread_1'))?.prompt?.text).toBe('Prompt new')
    expect(counts.after).toBe(1)
  })

  test('what the agent asks does not wait for it', async () => {
    const { later, asks } = await waiting([request], [])
    await expect.poll(() => later(() => asks.length)).toBe(1)
    expect(counts.after).toBe(1)
  })

  test('the answer does not wait for it', async () => {
    const { later, shown } = await waiting([answer, completed], [])
    await expect.poll(() => later(shown)).toEqual([[undefined, 'Answer new', 'completed']])
    expect(counts.after).toBe(1)
  })
})

test('what a sub-agent asks while the thread of its parent is being opened is shown', async () => {
  const agent = {
    type: 'collabAgentToolCall',
    id: 'spawn',
    tool: 'spawnAgent',
    status: 'inProgress',
    receiverThreadIds: ['thread_2'],
    prompt: 'Look.',
  }
  let isStored = false
  const { push, asks, watch, clock, methods } = await connected(() => (method, threadID) => {
    if (method === 'thread/read' && threadID === 'thread_2')
      return { result: { thread: { id: 'thread_2', cwd: '/project', parentThreadId: 'thread_1' } } }
    if (method === 'thread/resume') return resumedWith(goingOn('new', []))
    if (method !== 'thread/turns/list') return undefined
    return listOf(goingOn('new', isStored ? [promptOf('new')] : []))
  })
  watch()
  push(active())
  await expect.poll(() => methods).toContain('thread/turns/list')
  push(active('thread_2'))
  await expect.poll(() => methods.filter((method) => method === 'thread/read')).toHaveLength(2)
  const child = ofTurn('child', 'thread_2')
  for (const message of [child.started, child.prompt, child.request]) push(message)
  push({ method: 'item/started', params: { threadId: 'thread_1', turnId: 'new', item: agent } })
  isStored = true
  const asksLater = async () => {
    await clock.advance(100)
    return asks.map(({ sessionID }) => sessionID)
  }
  await expect.poll(asksLater).toEqual(['thread_2'])
})

test('a connection that is closed while a thread is being opened reports nothing', async () => {
  const { push, watch, chat, clock, methods, errors } = await connected(
    () => (method) => (method === 'thread/resume' ? resumedWith(goingOn('new', [])) : undefined),
  )
  watch()
  push(active())
  await expect.poll(() => methods).toContain('thread/turns/list')
  await chat.close()
  await clock.advance(100)
  // What is sent on a closed connection fails at once.
  await new Promise((resolve) => setImmediate(resolve))
  expect(errors).toEqual([])
})
