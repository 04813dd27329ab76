import type { Reply } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { expect, test } from 'vitest'
import type { ActiveRun } from '../src/runs/active-runs.ts'
import { createActiveRuns } from '../src/runs/active-runs.ts'

const place = { channel: 'tg', chat: { id: '1' } }

test('a run that its own chat shows whole is no longer active, while a mirror is still shown it', async () => {
  const delivered = withResolvers<void>()
  const ended = withResolvers<void>()
  const running = createActiveRuns({ keyOf: () => 'both' })
  const run = {
    ...{ delivered: delivered.promise, ended: ended.promise },
    execution: () => ({ sessionID: 'ses_1', prompt: place }),
    stream: () => undefined,
  } as unknown as ActiveRun
  const seen = () => [running.active(place).length, running.followed(place).length, running.isSessionBusy('ses_1')]
  running.addUntilEnded(run)
  expect(seen()).toEqual([1, 1, true])
  delivered.resolve()
  await delivered.promise
  expect(seen()).toEqual([0, 1, false])
  ended.resolve()
  await ended.promise
  expect(seen()).toEqual([0, 0, false])
})

test('a reply that the run of a prompt has left is of another client, and a later one may be its own', () => {
  const running = createActiveRuns({ keyOf: () => 'here' })
  const replyOf = (startedAt: number) => ({ sessionID: 'ses_1', startedAt, messages: [] }) as unknown as Reply
  let isOvertaken = false
  running.addUntilEnded({
    ...{ delivered: new Promise(() => {}), ended: new Promise(() => {}) },
    execution: () => ({ sessionID: 'ses_1', prompt: place }),
    stream: () => ({ reply: replyOf(1) }),
    isOvertaken: () => isOvertaken,
  } as unknown as ActiveRun)
  const isPrompted = () => [1, 2].map((startedAt) => running.isOfPromptedRun(replyOf(startedAt)))
  expect(isPrompted()).toEqual([true, false])
  isOvertaken = true
  expect(isPrompted()).toEqual([false, undefined])
})

test('the last events of a run that was read as ended are of that run, also once it is over', async () => {
  const ended = withResolvers<void>()
  const running = createActiveRuns({ keyOf: () => 'here' })
  const replyOf = (startedAt: number, id: string) =>
    ({ sessionID: 'ses_1', startedAt, messages: [{ id }] }) as unknown as Reply
  running.addUntilEnded({
    delivered: ended.promise,
    ended: ended.promise,
    execution: () => ({ sessionID: 'ses_1', prompt: place }),
    stream: () => ({ reply: replyOf(1, 'msg_1') }),
  } as unknown as ActiveRun)
  const isFollowed = () => [running.isOfPromptedRun(replyOf(2, 'msg_1')), running.isOfPromptedRun(replyOf(2, 'msg_2'))]
  expect(isFollowed()).toEqual([true, false])
  ended.resolve()
  await ended.promise
  expect(isFollowed()).toEqual([true, false])
})

test('a reply is shown by a run of the place that has it, unless that left it or leaves it to another run', () => {
  const running = createActiveRuns({ keyOf: () => 'here' })
  const state = { isOvertaken: false, isShownElsewhere: false }
  const run = {
    ...{ delivered: new Promise(() => {}), ended: new Promise(() => {}) },
    execution: () => ({ id: 'first', sessionID: 'ses_1', prompt: place }),
    stream: () => ({ reply: { sessionID: 'ses_1', promptIDs: ['msg_1'], messages: [] } }),
    isOvertaken: () => state.isOvertaken,
    isShownElsewhere: () => state.isShownElsewhere,
  } as unknown as ActiveRun
  running.addUntilEnded(run)
  const showing = (id: string, promptID: string) =>
    running.showing({ id, prompt: run.execution().prompt }, { sessionID: 'ses_1', promptIDs: [promptID] })
  expect([showing('second', 'msg_1'), showing('second', 'msg_2'), showing('first', 'msg_1')]).toEqual([
    run,
    undefined,
    undefined,
  ])
  state.isOvertaken = true
  expect(showing('second', 'msg_1')).toBeUndefined()
  Object.assign(state, { isOvertaken: false, isShownElsewhere: true })
  expect(showing('second', 'msg_1')).toBeUndefined()
})
