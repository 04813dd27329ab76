import type { Client } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { allowedCommand } from '../src/commands/allowed.ts'
import { createPressHandler } from '../src/commands/buttons.ts'
import { LatePressError } from '../src/commands/late-press.ts'
import { stopRuns } from '../src/commands/stop-cancel-interrupt.ts'
import { writePressed } from '../src/intake/pressed.ts'
import { createBacklog } from '../src/runs/backlog.ts'
import { callPermit, callWhileDue, withLeasedCalls } from '../src/servers/lease-context.ts'
import { createLeasedCommit } from '../src/state/state.ts'
import { StoreError } from '../src/store/store.ts'
import { texts } from '../src/texts.ts'

const place = { channel: 'tg', chat: { id: '1' } }
const ann = { id: '1', name: 'Ann' }
const lease = { name: 'shard/07', holder: 'a', fence: 1, validForMs: 4000 }
const limitMs = 2000

/** A chat in which each call of the state or the server can be the one during which the process is stopped for 3 s. */
function chatThatStopsAt(stopAt: number) {
  const clock = createHandClock()
  const until = clock.monotonic() + limitMs
  const isLate = (): boolean => clock.monotonic() > until
  const requireDue = (): number => {
    if (isLate()) throw new LatePressError()
    return until - clock.monotonic()
  }
  let calls = 0
  const effects: string[] = []
  const lateEffects: string[] = []
  const effect = (name: string): void => void (isLate() ? lateEffects : effects).push(name)
  const call = async <Result>(result: Result): Promise<Result> => {
    calls += 1
    if (calls === stopAt) await clock.advance(3000)
    return result
  }
  const store = {
    commit: async () => {
      effect('commit')
      return { type: 'done', index: 0 } as const
    },
  }
  const commit = createLeasedCommit({
    ...{ store, clock, stopping: new AbortController().signal },
    lease: { current: () => lease, renew: async () => true },
  })
  const entry = {
    ...place,
    id: '5',
    actor: ann,
    text: 'late',
    files: [],
    isCommand: false,
    receivedAt: 0,
    messageRef: { id: '5' },
    left: 'listed',
  }
  const client = {
    sessions: async () => await call([{ sessionID: 'session-1', title: 'One' }]),
    reply: async () => await call({ phase: 'working' }),
    abort: async () => effect('abort'),
  }
  const told: (string | undefined)[] = []
  const edited: string[] = []
  const services = {
    state: {
      read: async () => await call(JSON.stringify(entry)),
      queue: async () => await call([{ id: '5', value: JSON.stringify(entry) }]),
      commit: async (...given: Parameters<typeof commit>) => await commit(...(await call(given))),
      withRetries: async (retried: () => Promise<unknown>) => await retried(),
    },
    channels: {
      hasButton: async () => await call(true),
      edit: async (_: unknown, __: unknown, { text }: { readonly text: string }) => void edited.push(text),
      tryPost: async (_: unknown, { text }: { readonly text: string }) => void told.push(text),
    },
    people: { isSamePerson: () => true, personOf: () => undefined },
    routes: {
      routeOf: async () => await call({ server: 'home', sessionID: 'session-1' }),
      ...{ writeSwitch: () => [], usedSessions: async () => await call([{ server: 'home', sessionID: 'session-1' }]) },
    },
    runs: { active: () => [], followed: () => [] },
    registry: { listRecent: async () => await call([]) },
    failed: { emitCounts: async () => {} },
    servers: new Map([['home', client]]),
    config: { servers: { home: {} }, router: {} },
    runner: {
      whenRestored: async () => await call(undefined),
      changeQueue: async (_: unknown, task: () => Promise<unknown>) => await call(await task()),
      queuedPrompts: async () => await call([]),
      enqueue: () => ({ type: 'put', key: 'a', value: '' }),
      startQueue: () => {},
    },
    ...{ clock, onError: (error: Error) => expect.fail(error.message) },
  } as unknown as Parameters<typeof createPressHandler>[0]
  const grants = {
    list: async () => await call({ grants: [{ id: '7', server: 'home', patterns: ['ls'] }], canRevoke: true }),
    revoke: async () => effect('revoke'),
  } as unknown as Parameters<typeof allowedCommand>[1]
  const allowed = allowedCommand(services, grants)
  const handlePress = createPressHandler(services, createBacklog(services, services.runner), allowed)
  const person = { may: new Set(['prompt', 'approve', 'admin']) } as unknown as Parameters<typeof handlePress>[1]
  const press = async (token: string): Promise<void> => {
    const answer = async (text?: string): Promise<void> => void told.push(text)
    const one = { type: 'press', chat: place.chat, actor: ann, token, messageRef: { id: '9' }, answer } as const
    await handlePress(place, person, one, requireDue, writePressed('tg', '1'))
  }
  const stop = async (): Promise<void> =>
    void told.push((await stopRuns(services, { place, person, actor: ann, requireDue })).text)
  return { press, stop, effects, lateEffects, told, edited, calls: () => calls }
}

type Action = (chat: ReturnType<typeof chatThatStopsAt>) => Promise<void>
const actions: readonly [string, Action][] = [
  ...['page/1', 'switch/1', 'revoke/7', 'run/5', 'drop', 'again/5', 'leave/5'].map((verb): [string, Action] => [
    `the button ${verb}`,
    async ({ press }) => await press(`b/${verb}`),
  ]),
  ['the Stop of a platform', async ({ stop }) => await stop()],
]

test.each(actions)('%s has no late effect, wherever the process is stopped, and says so', async (_, act) => {
  const calm = chatThatStopsAt(Number.POSITIVE_INFINITY)
  await act(calm)
  expect(calm.calls()).toBeGreaterThan(1)
  for (let stopAt = 1; stopAt <= calm.calls(); stopAt++) {
    const chat = chatThatStopsAt(stopAt)
    const late = await act(chat).then(
      () => false,
      (error: unknown) => {
        if (!(error instanceof LatePressError)) throw error
        return true
      },
    )
    expect(chat.lateEffects).toEqual([])
    const isRefused = late || chat.told.includes(texts.notTaken)
    expect([stopAt, isRefused ? [] : calm.effects]).toEqual([stopAt, chat.effects])
    if (isRefused) expect(chat.edited).toEqual([])
  }
})

test('a commit that the state refuses as late rejects like a late press, and is not tried again', async () => {
  const clock = createHandClock()
  const withins: (number | undefined)[] = []
  const commit = createLeasedCommit({
    store: {
      commit: async (_writes, _lease, { withinMs } = {}) => {
        withins.push(withinMs)
        await clock.advance(3000)
        return { type: 'late' }
      },
    },
    ...{ clock, stopping: new AbortController().signal },
    lease: { current: () => lease, renew: async () => true },
  })
  const until = clock.monotonic() + limitMs
  const requireDue = (): number => {
    if (clock.monotonic() > until) throw new LatePressError()
    return until - clock.monotonic()
  }
  await expect(commit([], { requireDue })).rejects.toBeInstanceOf(LatePressError)
  expect(withins).toEqual([limitMs])
})

test('a commit that is tried again while the state is busy is not made late', async () => {
  const clock = createHandClock()
  let tries = 0
  const commit = createLeasedCommit({
    store: {
      commit: async () => {
        tries += 1
        throw new StoreError('busy', 'It is locked.')
      },
    },
    ...{ clock, stopping: new AbortController().signal },
    lease: { current: () => lease, renew: async () => true },
  })
  const until = clock.monotonic() + 700
  const requireDue = (): number => {
    if (clock.monotonic() > until) throw new LatePressError()
    return until - clock.monotonic()
  }
  const committing = expect(commit([], { requireDue })).rejects.toBeInstanceOf(LatePressError)
  for (let turn = 0; turn < 5; turn++) await clock.advance(500)
  await committing
  expect(tries).toBe(2)
})

describe('a call to a server', () => {
  const held = async (): Promise<AbortSignal> => new AbortController().signal
  /** A server whose calls make some requests, each once its permit allows it. `sent` is called with each. */
  const serverOf = (requests: number, onAsk: (nth: number) => void) => {
    const sent: number[] = []
    const answer = async (): Promise<void> => {
      for (let nth = 1; nth <= requests; nth++) {
        const permit = callPermit(held)
        onAsk(nth)
        await permit.whenHeld().catch((cause: unknown) => {
          throw new Error('The server can’t be reached.', { cause })
        })
        permit.onSend()
        sent.push(nth)
      }
    }
    return { client: withLeasedCalls({ answer } as unknown as Client, { whenHeld: held }), sent }
  }

  /** Answers an ask by a server, and makes that late when a request is about to be sent. */
  const answerLate = async (lateFrom: number) => {
    let isLate = lateFrom === 0
    const { client, sent } = serverOf(2, (nth) => {
      isLate ||= nth === lateFrom
    })
    const requireDue = (): void => {
      if (isLate) throw new LatePressError()
    }
    const answering = callWhileDue(requireDue, async () => await client.answer({} as never, 'once'))
    return { sent, isRefused: await answering.then(Boolean, (error) => error instanceof LatePressError) }
  }

  test('that is late before it is made, or before its first request, sends nothing, and rejects with why', async () => {
    expect(await answerLate(0)).toEqual({ sent: [], isRefused: true })
    expect(await answerLate(1)).toEqual({ sent: [], isRefused: true })
  })

  test('that has begun in time is made to its end', async () => {
    expect(await answerLate(2)).toEqual({ sent: [1, 2], isRefused: false })
  })

  test('that another one begins has no limit', async () => {
    const inner = serverOf(1, () => {})
    let isLate = false
    const begin = async (): Promise<void> => {
      isLate = true
      await inner.client.answer({} as never, 'once')
    }
    const outer = withLeasedCalls({ answer: begin } as unknown as Client, { whenHeld: held })
    const requireDue = (): void => {
      if (isLate) throw new LatePressError()
    }
    await callWhileDue(requireDue, async () => await outer.answer({} as never, 'once'))
    expect(inner.sent).toEqual([1])
  })
})
