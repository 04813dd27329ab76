import { emptyReply, type Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { stopRuns } from '../src/commands/stop-cancel-interrupt.ts'
import type { ActiveRun } from '../src/runs/active-runs.ts'
import type { Execution } from '../src/state/execution.ts'
import { texts } from '../src/texts.ts'

const place = { channel: 'tg', chat: { id: '1' } }
const ann = { id: '1', name: 'Ann' }
const reply: Reply = { ...emptyReply('s1'), phase: 'working' }

/** Sends `/stop` into a chat without active runs, whose last run was put aside. Resolves with the reply, and what was aborted. */
async function stopAfter(
  last: Partial<Execution>,
  { actor = ann, read = async () => reply, active = [] as ActiveRun[], rights = ['prompt'] } = {},
) {
  const aborted: string[] = []
  const client = { reply: read, abort: async (sessionID: string) => void aborted.push(sessionID) }
  const execution = {
    id: 'abc',
    sessionID: 's1',
    reason: texts.poisonReason,
    prompt: { ...place, actor: ann },
    ...last,
  }
  const services = {
    runner: { whenRestored: async () => {}, changeQueue: async () => {}, queuedPrompts: async () => [] },
    runs: { active: () => active, followed: () => [] },
    people: {
      isSamePerson: (prompt: { actor: { id: string } }, by: { actor: { id: string } }) =>
        prompt.actor.id === by.actor.id,
    },
    routes: { routeOf: async () => ({ server: 'home', sessionID: 's1' }) },
    registry: { listRecent: async () => [execution] },
    servers: new Map([['home', client]]),
    onError: (error: Error) => expect.fail(error.message),
  } as unknown as Parameters<typeof stopRuns>[0]
  const request = { place, actor, person: { may: new Set(rights) } } as unknown as Parameters<typeof stopRuns>[1]
  return { text: (await stopRuns(services, request)).text, aborted }
}

test('the author of a run that was put aside stops its agent', async () => {
  expect(await stopAfter({})).toEqual({ text: texts.canceled, aborted: ['s1'] })
})

test('another person stops nothing, unless they are an admin', async () => {
  const bob = { id: '2', name: 'Bob' }
  expect(await stopAfter({}, { actor: bob })).toEqual({ text: texts.nothingRuns, aborted: [] })
  expect(await stopAfter({}, { actor: bob, rights: ['admin'] })).toEqual({ text: texts.canceled, aborted: ['s1'] })
})

test('a run that was put aside is left alone if it was started elsewhere, ended, or has another reason', async () => {
  const nothing = { text: texts.nothingRuns, aborted: [] }
  expect(await stopAfter({ followed: 'asks' })).toEqual(nothing)
  expect(await stopAfter({ reason: 'The server ended.' })).toEqual(nothing)
  expect(await stopAfter({ sessionID: 's2' })).toEqual(nothing)
  expect(await stopAfter({}, { read: async () => ({ ...reply, phase: 'settled' }) })).toEqual(nothing)
})

test('the next prompt of the chat, which begins while the session is read, is not stopped', async () => {
  const active: ActiveRun[] = []
  const read = async (): Promise<Reply> => {
    active.push({} as ActiveRun)
    return reply
  }
  expect(await stopAfter({}, { active, read })).toEqual({ text: texts.nothingRuns, aborted: [] })
})
