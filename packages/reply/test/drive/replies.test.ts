import { expect, test } from 'vitest'
import { createReplies } from '../../src/drive/replies.ts'
import { emptyTrack, type ReplyError, track } from '../../src/index.ts'
import { busy, message, root, session, text, user } from '../make.ts'

test('an observer added during a step receives that step once', () => {
  const replies = createReplies(() => {}, 10)
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

test('a listener hears its type of change in every reply, until it is removed, and one that fails stops no other', () => {
  const errors: ReplyError[] = []
  const replies = createReplies((error) => errors.push(error), 10)
  const heard: string[] = []
  let state = emptyTrack()
  const apply = (sessionID: string): void => {
    for (const event of [session(sessionID), user('u1', { sessionID }), busy(sessionID)]) {
      const tracked = track(state, event)
      state = tracked.state
      for (const step of tracked.steps) replies.apply(step)
    }
  }
  replies.on('replyStarted', () => {
    throw new Error('no disk')
  })
  const stop = replies.on('replyStarted', ({ reply }) => void heard.push(reply.sessionID))
  apply(root)
  apply('ses_2')
  stop()
  apply('ses_3')
  expect(heard).toEqual([root, 'ses_2'])
  expect(errors.map(({ message }) => message)).toEqual(
    Array.from({ length: 3 }, () => 'An observer failed on replyStarted: no disk. The reply continues without it.'),
  )
})
