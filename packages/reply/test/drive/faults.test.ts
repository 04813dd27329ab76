import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ProxyFault } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Ask, connect, type Reply } from '../../src/index.ts'
import { type Faulty, type LivePlan, type LivePlayed, openWhole, playLive, quick } from './faulty.ts'
import { allowAfterStop } from './late-approvals.ts'
import {
  playBeside,
  problemsOfLive,
  problemsOfRaces,
  problemsOfSeeds,
  problemsOfSilence,
  uncertainMs,
} from './live-plans.ts'
import { ask, judge } from './live-truth.ts'
import { eventually } from './patience.ts'
import { allowing, answering, approve, firstAsk, isTouched, pendingAt, typesOf } from './scenes.ts'

vi.setConfig({ testTimeout: 900_000 })

let faulty: Faulty
let whole: LivePlayed

beforeAll(async () => {
  ;({ faulty, whole } = await openWhole())
})
afterAll(async () => await faulty.close())

test('an uncut run is what the server says', async () => {
  expect(await judge(faulty.server, whole)).toEqual([])
  expect(whole.reply.outcome).toBe('completed')
})

test('a noReply prompt makes one reply', async () => {
  const opencode = connect({ url: faulty.server.url, directory: faulty.server.directory, ...quick })
  try {
    await opencode.prompt({ text: 'Go. [scenario:plain]' }).result
    const opened: string[] = []
    const observe = (reply: Reply) => {
      opened.push(reply.sessionID)
      return []
    }
    opencode.watch({}, { observe })
    const { sessionID } = await opencode.prompt({ text: 'Just so you know.', noReply: true }).result
    // Its events have arrived once another turn is over.
    await opencode.prompt({ text: 'Go. [scenario:plain]' }).result
    expect(opened.filter((id) => id === sessionID)).toEqual([sessionID])
  } finally {
    await opencode.close()
  }
})

test('a stream that falls silent after event 30 is noticed and reconnects', async () => {
  expect(await problemsOfSilence(faulty, whole, 30)).toEqual([])
})

describe('events after `connected` that the stream does not carry yet', () => {
  const lost = (event: string, times: number): ProxyFault => ({
    type: 'drop',
    event,
    times,
    forMs: uncertainMs,
    connection: 1,
  })
  const missed = async (...faults: readonly ProxyFault[]) =>
    expect(await problemsOfLive(faulty, { faults }, whole)).toEqual([])

  test('is told late when it is the prompt, and REST fails as long as the run takes', async () => {
    const faults: readonly ProxyFault[] = [
      lost('message.updated', 1),
      { type: 'answer', with: 500, method: 'GET', path: /\/message$/, times: 6 },
    ]
    const { reply } = await playLive(faulty, { faults })
    expect([reply.outcome, reply.promptIDs.length]).toEqual(['completed', 1])
  })

  test('is not missed when it is the first parts of the answer', async () =>
    await missed(lost('message.updated', 2), lost('message.part.updated', 2), lost('session.status', 2)))
})

describe('an ask', () => {
  // When this passes, take the exception for it out of live-plans.ts as well.
  test('that we have answered is answered, although the stream never says so', async () => {
    const faults: readonly ProxyFault[] = [{ type: 'drop', event: 'question.replied', times: 1 }]
    const { reply } = await playLive(faulty, { ...answering, faults })
    expect(reply.asks).toMatchObject([{ status: 'answered', answers: [['Blue']] }])
  })

  test('that a sub-agent raises while disconnected arrives after the reconnect', async () => {
    const plan: LivePlan = {
      ...allowing,
      onFrame: ({ connection, data }, proxy) => {
        // The task's session exists; its ask has not been sent yet.
        if (connection > 1 || !data.includes('"session.created"') || !data.includes('"parentID"')) return
        void proxy
          .refuse()
          .then(() => pendingAt(faulty, '/permission', 1))
          .then(proxy.resume)
      },
    }
    const { played, problems } = await playBeside(faulty, { plan, without: allowing })
    expect(problems).toEqual([])
    expect(typesOf(played.changes, 'permissionAsked', 'permissionReplied')).toHaveLength(2)
    expect([isTouched(faulty), played.errors.length > 0]).toEqual([true, true])
  })

  test('that another client answers while disconnected is closed when the stream is back', async () => {
    const played = await playLive(faulty, {
      script: 'child',
      act: async ({ stream, proxy }) => {
        const { requestID } = await firstAsk(stream)
        await proxy.refuse()
        await approve(faulty, requestID)
        await proxy.resume()
      },
    })
    expect(await judge(faulty.server, played)).toEqual([])
    expect(typesOf(played.changes, 'permissionAsked', 'permissionReplied', 'askWithdrawn')).toHaveLength(2)
    expect(played.reply).toMatchObject({ outcome: 'completed', children: [{ reply: { outcome: 'completed' } }] })
  })

  test('that two clients answer at once is answered by one of them', async () => {
    const other = connect({ url: faulty.server.url, directory: faulty.server.directory, ...quick })
    const theirs = new Promise<Ask>((resolve) => {
      other.watch({}, { observe: () => [{ permissionAsked: ({ ask: heard }) => resolve(heard) }] })
    })
    await other.ready
    let answers: readonly PromiseSettledResult<void>[] = []
    const played = await playLive(faulty, {
      script: 'child',
      act: async ({ stream, opencode }) => {
        const [ours, same] = [await firstAsk(stream), await theirs]
        answers = await Promise.allSettled([opencode.answer(ours, 'once'), other.answer(same, 'once')])
      },
    })
    await other.close()
    expect(await judge(faulty.server, played)).toEqual([])
    const late = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    expect([late.length <= 1, late.map((reason) => reason.type)]).toEqual([true, late.map(() => 'already-resolved')])
    expect(typesOf(played.changes, 'permissionReplied', 'askWithdrawn')).toEqual(['permissionReplied'])
  })
})

describe('an abort', () => {
  test('that races the end settles the reply once, either way', async () => {
    expect(await problemsOfRaces(faulty, [3, -1])).toEqual([])
  })

  test("while a sub-agent's permission is pending leaves nothing pending and nothing at work", async () => {
    const played = await playLive(faulty, {
      script: 'child',
      act: async ({ stream }) => {
        await firstAsk(stream)
        await stream.abort()
        expect(await ask(faulty.server, '/permission')).toEqual([])
        expect(await ask(faulty.server, '/question')).toEqual([])
      },
    })
    expect(await judge(faulty.server, played)).toEqual([])
    // The child's permission was rejected, which may have ended it before the abort reached it.
    expect(['aborted', 'stopped']).toContain(played.reply.children[0]?.reply.outcome)
    expect(played.reply.outcome).toBe('aborted')
    const isIdle = async () =>
      Object.keys(await ask<object>(faulty.server, '/session/status')).length === 0 ? true : undefined
    await eventually(60_000, isIdle)
  })

  test('of 3 commands that are allowed within 50 ms after it none runs', async () => {
    expect(await allowAfterStop(faulty, 3)).toEqual([])
  })

  test('by the session id alone stops a run that another program started', async () => {
    const { url, directory } = faulty.server
    const before = connect({ url, directory })
    const stream = before.prompt({ text: '[scenario:lateChild]' })
    await pendingAt(faulty, '/permission', 1)
    const sessionID = await eventually(60_000, async () => stream.reply?.sessionID)
    const after = connect({ url, directory })
    await after.abort(sessionID)
    expect(await pendingAt(faulty, '/permission', 0)).toEqual([])
    // Rejecting the sub-agent's permission may let the run come to its own end before the abort reaches it.
    expect(['aborted', 'stopped', 'completed']).toContain((await stream.result).outcome)
    expect(existsSync(join(directory, 'late.txt'))).toBe(false)
    await expect(after.abort('ses_none')).rejects.toMatchObject({ type: 'gone' })
    await before.close()
    await after.close()
  })
})

test('a random plan with a server restart loses and duplicates nothing', async () => {
  expect(await problemsOfSeeds(faulty, { whole, first: 37, count: 1, restarts: 1 })).toEqual([])
})
