import { describe, expect, test } from 'vitest'
import { type Action, actionFigures } from '../scripts/scale/actions.ts'
import { isMissed, percentile } from '../scripts/scale/figure.ts'
import { bridgeCpu, postgresCpu } from '../scripts/scale/parts.ts'
import { reportOf, withReport } from '../scripts/scale/report.ts'
import { createTakeovers } from '../scripts/scale/takeovers.ts'
import { messageOf } from '../scripts/scale/task.ts'
import { waitsOf } from '../scripts/scale/waits.ts'
import { allShards } from '../src/state/shard-of.ts'

/** An action in chat 1 at 100 ms. */
function action(kind: Action['kind'], seenAt: number | undefined, chat = 1): Action {
  return { kind, chat: { key: `tg:${chat}` }, at: 100, isIn: ({ body }) => body === `${kind} ${chat}`, seenAt }
}

/** The figures of actions that each arrived at `member` at 110 ms. The owner of all chats is `member0`. */
function figuresOf(actions: readonly Action[], member: string) {
  const deliveries = actions.map(({ kind, chat }) => ({ at: 110, body: `${kind} ${chat.key.slice(3)}`, member }))
  const calls = [1, 2, 3].map((chatId) => ({ root: '/member0', method: 'sendRichMessage', chatId }))
  const typing = { root: '/member1', method: 'sendChatAction', chatId: 1 }
  const figures = actionFigures(actions, { deliveries, calls: [...calls, typing] })
  const missed = figures.filter(isMissed).map(({ name }) => name)
  return { missed, values: Object.fromEntries(figures.map(({ name, value }) => [name, value])) }
}

describe('the figures of presses, typed answers and /stop', () => {
  const actions = [action('press', 510, 1), action('typed', 600, 2), action('stop', 610, 3)]

  test('count from the arrival at a bridge that does not own the chat until the chat shows the effect', () => {
    expect(figuresOf(actions, 'member1')).toMatchObject({
      missed: [],
      values: {
        'presses, typed answers and /stop at a bridge that is not the owner': 3,
        'from such a bridge to the chat: p50, ms': 490,
        'from such a bridge to the chat: p99, ms': 500,
        'from such a bridge to the chat: worst press, ms': 400,
        'from such a bridge to the chat: worst typed, ms': 490,
        'from such a bridge to the chat: worst stop, ms': 500,
        'before that, from the person to the bridge: worst, ms': 10,
      },
    })
  })

  test('miss their goal if the chat shows one too late, or never', () => {
    for (const seenAt of [611, undefined])
      expect(figuresOf([action('press', seenAt)], 'member1').missed).toEqual([
        'from such a bridge to the chat: p99, ms',
      ])
  })

  test('miss their goal if the platform brought one to no bridge', () => {
    const { missed } = figuresOf([{ ...action('press', 120), isIn: () => false }], 'member1')
    expect(missed).toEqual(['from such a bridge to the chat: p99, ms'])
  })

  test('tell those apart that arrive at the owner', () => {
    expect(figuresOf([action('press', 2000)], 'member0')).toMatchObject({
      // Nothing that reached another bridge reaches no goal.
      missed: ['from such a bridge to the chat: p99, ms'],
      values: {
        'presses, typed answers and /stop at a bridge that is not the owner': 0,
        'from the owner to the chat: p99, ms': 1890,
      },
    })
  })
})

describe('takeovers', () => {
  /** Three members that take and restore these shards, and all others are the first one's. */
  function scene() {
    let now = 0
    let taking: readonly (readonly string[])[] = []
    let restoring: readonly (readonly string[])[] = []
    const takeovers = createTakeovers(
      [0, 1, 2].map((index) => ({ taking: () => taking[index] ?? [], restoring: () => restoring[index] ?? [] })),
      () => now,
    )
    const at = (
      ms: number,
      taken: readonly (readonly string[])[],
      read: readonly (readonly string[])[],
      call: 'struck' | 'look' | 'isBack' = 'look',
    ): void => {
      now = ms
      taking = taken
      restoring = read
      takeovers[call]()
    }
    return { takeovers, at }
  }

  const others = allShards.slice(1)

  test('last from the fault of a member until another one takes the shard, whatever hits the others', () => {
    const { takeovers, at } = scene()
    at(0, [others, ['00']], [])
    at(1000, [others], [], 'struck')
    // The member that is struck next may have been about to take it.
    at(3000, [others], [], 'struck')
    at(5000, [others], [[], [], ['00']])
    at(5500, [others], [[], [], ['00']], 'struck')
    at(6000, [others, [], ['00']], [])
    expect([takeovers.open(), takeovers.takenOverMs, takeovers.struckAgain]).toEqual([[], [5000], []])
  })

  test('count from both faults if the member that restores the shard is struck, too', () => {
    const { takeovers, at } = scene()
    at(0, [others, ['00']], [])
    at(1000, [others], [], 'struck')
    at(5000, [others], [[], [], ['00']])
    at(6000, [others], [], 'struck')
    expect(takeovers.open()).toEqual(['00'])
    at(9000, [others], [[], ['00']])
    at(11_000, [others, ['00']], [])
    expect([takeovers.open(), takeovers.takenOverMs, takeovers.handedOverMs]).toEqual([[], [], []])
    expect(takeovers.struckAgain).toEqual([{ sinceLastMs: 5000, sinceFirstMs: 10_000 }])
  })

  test('count from both faults if the database crashes before the shard is taken', () => {
    const { takeovers, at } = scene()
    at(0, [others, ['00']], [])
    at(1000, [others], [], 'struck')
    at(6000, [others], [], 'isBack')
    at(6500, [others, ['00']], [])
    expect([takeovers.takenOverMs, takeovers.struckAgain]).toEqual([[], [{ sinceLastMs: 500, sinceFirstMs: 5500 }]])
  })

  test('are told apart from shards that go to another member without a fault', () => {
    const { takeovers, at } = scene()
    at(0, [others, ['00']], [])
    at(1000, [others], [])
    at(1300, [others, ['00']], [])
    expect([takeovers.takenOverMs, takeovers.handedOverMs]).toEqual([[], [300]])
  })

  test('count from the fault of the member that was to get a shard without a fault', () => {
    const { takeovers, at } = scene()
    at(0, [others, ['00']], [])
    at(1000, [others], [])
    at(1200, [others], [[], [], ['00']])
    at(1500, [others], [], 'struck')
    at(7500, [others, ['00']], [])
    expect([takeovers.takenOverMs, takeovers.struckAgain, takeovers.handedOverMs]).toEqual([[6000], [], []])
  })

  test('begin anew for all when the database is back', () => {
    const { takeovers, at } = scene()
    at(0, [others, ['00']], [])
    at(4000, [others], [])
    at(6000, [others], [], 'isBack')
    at(6500, [others, ['00']], [])
    expect([takeovers.takenOverMs, takeovers.handedOverMs]).toEqual([[500], []])
  })
})

test('a percentile is one of the values, in any order', () => {
  expect([0, 0.5, 1].map((share) => percentile([3, 1, 2], share))).toEqual([1, 2, 3])
  expect(percentile([], 0.99)).toBe(Number.POSITIVE_INFINITY)
})

describe('the report', () => {
  const results = [
    {
      part: 'calm' as const,
      figures: [
        { name: 'tasks lost', value: 0, most: 0 },
        { name: bridgeCpu, value: 40.26 },
        { name: postgresCpu, value: 9.74 },
      ],
    },
    { part: 'faults' as const, figures: [{ name: 'tasks lost', value: 1200, most: 0 }] },
  ]
  const report = reportOf({ results, circumstances: 'Here.' })

  test('has a row for each figure, and marks what was missed', () => {
    const [circumstances, table] = report.split('\n\n')
    expect(circumstances).toBe('Here.')
    expect(table?.split('\n')).toEqual([
      '|  | calm | faults | goal |',
      '| --- | --- | --- | --- |',
      '| tasks lost | 0 | **1,200, missed** | ≤ 0 |',
      `| ${bridgeCpu} | 40.3 |  |  |`,
      `| ${postgresCpu} | 9.7 |  |  |`,
    ])
  })

  test('reckons from the CPU time of a message what more cores can do', () => {
    expect(report).toMatch('took 40.3 ms of CPU in the bridges and 9.7 ms in PostgreSQL.')
    expect(report).toMatch('| messages a second | 24 | 48 | 96 | 192 |')
    expect(reportOf({ results: results.slice(1), circumstances: '' })).not.toMatch('CPU')
  })

  test('replaces the one in a page, and needs its place there', () => {
    const page = 'Before.\n<!-- scale -->\nOld.\n<!-- /scale -->\nAfter.\n'
    expect(withReport(page, 'New.')).toBe('Before.\n<!-- scale -->\nNew.\n<!-- /scale -->\nAfter.\n')
    expect(() => withReport('No place.', 'New.')).toThrow('<!-- scale -->')
  })
})

describe('the wait of a message', () => {
  const task = { token: 't000001', kind: 'answer', ms: 0 } as const
  const body = `{"text":"${messageOf(task)}"}`
  const delivery = (at: number, status: number | undefined) =>
    ({ at, body, member: 'member0', status, endedAt: at }) as const
  const waitsAt = (heardAt: number | undefined, deliveries: ReturnType<typeof delivery>[]) => {
    const tasks = heardAt === undefined ? [] : [{ task, sessionID: 'ses_1', at: heardAt }]
    return waitsOf({ tasks, deliveries }, [{ ...task, at: 100 }])
  }

  test('is divided by when a bridge took it', () => {
    const deliveries = [delivery(110, 502), delivery(1110, undefined), delivery(3110, 200), delivery(3500, 200)]
    expect(waitsAt(4000, deliveries)).toEqual([{ allMs: 3900, untilTakenMs: 3010, sinceTakenMs: 890 }])
  })

  test('ends with its prompt, also if its acknowledgement was lost', () => {
    expect(waitsAt(200, [delivery(110, 504), delivery(1110, 200)])).toEqual([
      { allMs: 100, untilTakenMs: 100, sinceTakenMs: 0 },
    ])
  })

  test('is endless without a prompt', () => {
    const endless = Number.POSITIVE_INFINITY
    expect(waitsAt(undefined, [delivery(110, 200)])).toEqual([
      { allMs: endless, untilTakenMs: 10, sinceTakenMs: endless },
    ])
  })
})
