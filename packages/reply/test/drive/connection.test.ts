import { openCode2Version } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { textOf } from '../../src/index.ts'
import { keepingPromptID, setStage, watchAll } from './stage.ts'

const all = 10_000

describe('the stream', () => {
  test('is asked for again after 0.25 to 0.5 s, then twice as long each time, up to 10 s', async () => {
    const { server, opened, rest, advance, opencode } = setStage({ scenario: 'plain' })
    await rest()
    server.cut()
    server.fail(8, 'refused')
    await advance(60_000)
    const gaps = opened.map((at, index) => at - (opened[index - 1] ?? 0)).slice(1)
    expect(gaps.slice(0, 7)).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000])
    await opencode.close()
  })

  test('that came up once is asked for as soon as the first time when it is lost again', async () => {
    const { server, opened, rest, advance, opencode } = setStage({ scenario: 'plain' })
    await rest()
    server.cut()
    server.fail(3, 500)
    await advance(4000)
    expect(server.hasListener).toBe(true)
    const before = opened.length
    server.cut('error')
    await advance(300)
    expect(opened.length).toBe(before + 1)
    await opencode.close()
  })

  test.each([
    ['1.18.33', 25_000],
    ['1.1.65', 75_000],
    [openCode2Version, 45_000],
  ])('of %s that is silent for %d ms reconnects', async (version, silenceMs) => {
    const { opened, errors, rest, advance, opencode } = setStage({ scenario: 'plain', version })
    await rest()
    await advance(silenceMs - 1)
    expect(opened).toHaveLength(1)
    await advance(300)
    expect(opened).toHaveLength(2)
    expect(errors.at(-1)?.message).toContain(`silent for ${silenceMs} ms`)
    await opencode.close()
  })

  test('that brings no first frame is given up after firstFrameMs', async () => {
    let isStarting = true
    const { opened, rest, advance, opencode, server } = setStage({
      scenario: 'plain',
      connect: { firstFrameMs: 4000 },
      between: async (request, answer) => {
        if (!isStarting || !request.url.endsWith('/event')) return await answer(request)
        isStarting = false
        return await new Promise<Response>((_, reject) =>
          request.signal.addEventListener('abort', () => reject(request.signal.reason)),
        )
      },
    })
    await rest()
    await advance(4300)
    expect(opened).toEqual([4250])
    expect(server.hasListener).toBe(true)
    await opencode.close()
  })

  test('reports when it is up, and when and why it is lost', async () => {
    const told: string[] = []
    const onConnection = (connection: string, reason?: Error): number =>
      told.push(reason ? `${connection}: ${reason.message}` : connection)
    const { server, rest, advance, opencode } = setStage({ scenario: 'plain', connect: { onConnection } })
    await rest()
    server.cut()
    await advance(1000)
    expect(told).toEqual(['live', 'lost: The event stream of http://recorded ended.', 'live'])
    await opencode.close()
    expect(told).toHaveLength(3)
  })

  test('is shared by all sessions', async () => {
    const { server, rest, opencode } = setStage({ scenario: 'two-sessions' })
    const replies = watchAll(opencode)
    await rest()
    server.publish(all)
    await rest()
    expect(server.streams).toBe(1)
    expect(replies.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
    await opencode.close()
  })
})

describe('what happened while disconnected', () => {
  test('is reported even if it began and ended in a gap', async () => {
    const { server, rest, advance, opencode } = setStage({ scenario: 'two-turns' })
    const replies = watchAll(opencode)
    await rest()
    server.cut()
    server.publish(all)
    await advance(5000)
    expect(replies.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
    expect(replies.map(textOf).every((text) => text.length > 0)).toBe(true)
    await opencode.close()
  })

  test('before the first connection is not news, not even its last events', async () => {
    const { server, rest, advance, opencode } = setStage({ scenario: 'plain', before: all })
    const replies = watchAll(opencode)
    await rest()
    server.repeat()
    server.cut()
    await advance(40_000)
    expect(replies).toEqual([])
    await opencode.close()
  })

  test('and is still running is reported from its beginning', async () => {
    const { server, rest, opencode } = setStage({ scenario: 'tools-todos', before: 90 })
    const replies = watchAll(opencode)
    await rest()
    expect(replies).toMatchObject([{ prompt: { text: expect.stringContaining('script') }, phase: 'working' }])
    server.publish(all)
    await rest()
    expect(replies).toMatchObject([{ outcome: 'completed' }])
    await opencode.close()
  })

  test('is a run lost with its server, if its session was removed', async () => {
    const { server, rest, advance, opencode } = setStage({ scenario: 'killed' })
    const replies = watchAll(opencode)
    await rest()
    while (server.published < server.length) {
      server.publish(all)
      await advance(3000)
    }
    await advance(10_000)
    expect(replies).toMatchObject([{ outcome: 'lost' }])
    await opencode.close()
  })

  test('is lost after five minutes', async () => {
    const { server, rest, advance, opencode } = setStage({ scenario: 'abort-text' })
    const replies = watchAll(opencode)
    await rest()
    server.publish(server.types.lastIndexOf('message.part.delta'))
    await rest()
    server.cut()
    server.fail(all, 'refused')
    await advance(299_000)
    expect(replies[0]?.phase).not.toBe('settled')
    await advance(2000)
    expect(replies).toMatchObject([{ outcome: 'lost', connection: 'lost' }])
    await opencode.close()
  })
})

describe('a run', () => {
  test('whose end the stream never sends is checked once it stalls', async () => {
    const connect = { silenceMs: 10_000_000, stalledAfterMs: { first: 60_000, later: 60_000 } }
    const { server, rest, advance, opencode } = setStage({ scenario: 'plain', connect })
    const replies = watchAll(opencode)
    await rest()
    server.publish(server.types.indexOf('message.part.delta') + 1)
    await advance(3000)
    server.stall()
    server.publish(all)
    await advance(50_000)
    expect(replies).toMatchObject([{ phase: 'working' }])
    await advance(15_000)
    expect(replies).toMatchObject([{ outcome: 'completed' }])
    await opencode.close()
  })

  test('of a prompt whose answer is lost is found, and nothing is posted again', async () => {
    const keepID = keepingPromptID({ scenario: 'plain' })
    const { server, rest, advance, opencode } = setStage({
      scenario: 'plain',
      between: async (request, answer) => {
        const response = await keepID(request, answer)
        if (request.url.endsWith('/prompt_async')) throw new TypeError('fetch failed')
        return response
      },
    })
    const stream = opencode.prompt({ text: 'Please do what the script says. [scenario:plain]' })
    await rest()
    server.publish(all)
    await advance(5000)
    expect(await stream.result).toMatchObject({ outcome: 'completed' })
    expect(server.posts.filter((post) => post.endsWith('/prompt_async'))).toHaveLength(1)
    await opencode.close()
  })
})

test('equal permissions are answered together', async () => {
  const { server, rest, opencode } = setStage({
    scenario: 'permission-always-parallel',
    edit: (text) => text.replaceAll('echo two', 'echo one'),
  })
  const replies = watchAll(opencode)
  await rest()
  server.publish(server.types.lastIndexOf('permission.asked') + 1)
  await rest()
  const pending = replies[0]?.asks.filter(({ status }) => status === 'pending') ?? []
  const [first, ...others] = pending.filter((ask) => ask.type === 'permission')
  if (!first) throw new Error('The reply has no ask.')
  const equal = others.filter((other) => other.patterns.join() === first.patterns.join())
  await opencode.answer(first, 'once')
  expect(equal.length).toBeGreaterThan(0)
  await Promise.all(equal.map((ask) => opencode.answer(ask, 'once')))
  await expect(opencode.answer(first, 'always')).rejects.toMatchObject({ type: 'already-resolved' })
  expect(server.posts.filter((post) => post.startsWith('POST /permission/'))).toHaveLength(1 + equal.length)
  await opencode.close()
})

test('an ask that is being answered takes no second answer', async () => {
  const { server, rest, opencode } = setStage({ scenario: 'permission-once' })
  const replies = watchAll(opencode)
  await rest()
  server.publish(server.types.indexOf('permission.asked') + 1)
  await rest()
  const [ask] = replies[0]?.asks ?? []
  if (!ask) throw new Error('The reply has no ask.')
  const answers = await Promise.allSettled([opencode.answer(ask, 'once'), opencode.answer(ask, 'always')])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(server.posts.filter((post) => post.startsWith('POST /permission/'))).toHaveLength(1)
  await opencode.close()
})

test('callbacks that throw keep the connection', async () => {
  const fail = (): never => {
    throw new Error('Mine to fix.')
  }
  const connect = { onError: fail, onConnection: fail, onFrame: fail }
  const { server, rest, advance, opencode } = setStage({ scenario: 'plain', connect })
  const replies = watchAll(opencode)
  await rest()
  server.cut()
  await advance(1000)
  server.publish(all)
  await advance(3000)
  expect(replies).toMatchObject([{ outcome: 'completed' }])
  expect(server.streams).toBe(2)
  await opencode.close()
})

test('invalid observers keep the connection, and are reported once per reply', async () => {
  const broken = {
    get partAdded(): never {
      throw new Error('Mine to fix.')
    },
  }
  const { server, rest, advance, opencode, errors } = setStage({ scenario: 'plain' })
  opencode.watch({}, { observe: () => [null as never, broken] })
  opencode.watch({}, { observe: () => 7 as never })
  const replies = watchAll(opencode)
  await rest()
  server.publish(10)
  await rest()
  server.cut()
  await advance(1000)
  server.publish(all)
  await advance(3000)
  expect(replies).toMatchObject([{ outcome: 'completed' }])
  expect(errors.filter(({ message }) => message.startsWith('null is not an observer'))).toHaveLength(1)
  expect(errors.some(({ message }) => message.includes('partAdded: Mine to fix.'))).toBe(true)
  await opencode.close()
})

test('a listener of the client hears replies that nothing else observes, and its failure is reported', async () => {
  const { server, rest, opencode, errors } = setStage({ scenario: 'plain' })
  const outcomes: string[] = []
  opencode.on('replySettled', () => {
    throw new Error('no disk')
  })
  opencode.on('replyStarted', () => void outcomes.push('removed'))()
  opencode.on('replySettled', ({ outcome }) => void outcomes.push(outcome))
  await rest()
  server.publish(all)
  await rest()
  expect(outcomes).toEqual(['completed'])
  expect(errors.map(({ message }) => message)).toEqual([
    'An observer failed on replySettled: no disk. The reply continues without it.',
  ])
  await opencode.close()
})

test('one unreadable session keeps the connection for the others', async () => {
  const { rest, advance, opencode, server } = setStage({
    scenario: 'plain',
    between: async (request, answer) =>
      new URL(request.url).pathname.startsWith('/session/ses_broken')
        ? new Response('{}', { status: 500 })
        : await answer(request),
  })
  opencode.watch({ sessionID: 'ses_broken' }, { observe: () => [] })
  const replies = watchAll(opencode)
  await rest()
  server.publish(all)
  await advance(1000)
  expect(replies).toMatchObject([{ outcome: 'completed' }])
  expect(server.streams).toBe(1)
  await opencode.close()
})

test('a prompt whose connection is closed before it began fails once', async () => {
  const { opencode, rest, server } = setStage({ scenario: 'plain' })
  server.fail(all, 'refused')
  const settled: string[] = []
  const observe = () => [{ replySettled: ({ outcome }: { readonly outcome: string }) => void settled.push(outcome) }]
  const stream = opencode.prompt({ text: 'Hello?' }, { observe })
  await rest()
  await opencode.close()
  await rest()
  expect(await stream.result).toMatchObject({ outcome: 'failed' })
  expect(settled).toEqual(['failed'])
})

test('close leaves no timer behind, whenever it comes', async () => {
  const { length } = setStage({ scenario: 'abort-then-prompt' }).server
  for (let events = 0; events <= length; events += 3) {
    const { server, clock, rest, advance, opencode } = setStage({ scenario: 'abort-then-prompt' })
    watchAll(opencode)
    await rest()
    server.publish(events)
    if (events % 2 === 0) await rest()
    if (events % 9 === 0) server.cut()
    if (events % 4 === 0) await advance(700)
    await opencode.close()
    await rest()
    expect(`${clock.pending} timers after ${events} events`).toBe(`0 timers after ${events} events`)
  }
})
