import { expect, test } from 'vitest'
import { createReplies } from '../../src/drive/replies.ts'
import { emptyTrack, track } from '../../src/index.ts'
import { busy, message, root, session, text, user } from '../make.ts'

test('an observer added during a step receives that step once', () => {
  const replies = createReplies({ onError: () => {}, keepSettled: 10 })
  const told: string[] = []
  let state = emptyTrack()
  for (const event of [session(), user('u1'), busy(), message('m1'), text('m1', 'Once.')]) {
    const tracked = track(state, event)
    state = tracked.state
    const live = replies.newest(root)
    const unfollow = live?.follow((step) => {
      if (step.changes.some(({ type }) => type === 'partAdded'))
        live.observe([
          { partAdded: ({ part }) => void told.push(part.id), replyStarted: () => void told.push('begun') },
        ])
    })
    for (const step of tracked.steps) replies.apply(step)
    unfollow?.()
  }
  expect(told).toEqual(['begun', 'm1.t'])
})
