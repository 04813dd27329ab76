import { withResolvers } from '@reply/sink/channel'
import { expect, test } from 'vitest'
import type { ActiveRun } from '../src/runs/active-run.ts'
import { createRunning } from '../src/runs/running.ts'

const place = { channel: 'tg', chat: { id: '1' } }

test('a run that its own chat shows whole is no longer active, while a mirror is still shown it', async () => {
  const delivered = withResolvers<void>()
  const ended = withResolvers<void>()
  const running = createRunning({ keyOf: () => 'both' })
  const run = {
    ...{ delivered: delivered.promise, ended: ended.promise },
    execution: () => ({ sessionID: 'ses_1', prompt: place }),
  } as unknown as ActiveRun
  const seen = () => [running.active(place).length, running.followed(place).length, running.isAtWork('ses_1')]
  running.add(run)
  expect(seen()).toEqual([1, 1, true])
  delivered.resolve()
  await delivered.promise
  expect(seen()).toEqual([0, 1, false])
  ended.resolve()
  await ended.promise
  expect(seen()).toEqual([0, 0, false])
})
