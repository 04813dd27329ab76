import type { ChangeType, Observation, ReplyObserver } from '@reply/core'

/** Every change type. A new one doesn't compile until it is listed here. */
export const changeTypes = Object.keys({
  replyStarted: 1,
  phaseChanged: 1,
  messageUpdated: 1,
  messageRemoved: 1,
  partAdded: 1,
  partChanged: 1,
  partFinalized: 1,
  partRemoved: 1,
  toolProgressed: 1,
  stepFinished: 1,
  todosChanged: 1,
  usageChanged: 1,
  questionAsked: 1,
  questionReplied: 1,
  questionRejected: 1,
  permissionAsked: 1,
  permissionReplied: 1,
  askChanged: 1,
  askWithdrawn: 1,
  sessionRetried: 1,
  sessionErrored: 1,
  compactionChanged: 1,
  childStarted: 1,
  childChanged: 1,
  childSettled: 1,
  connectionChanged: 1,
  stalledChanged: 1,
  replySettled: 1,
  replyAmended: 1,
} satisfies Record<ChangeType, 1>) as readonly ChangeType[]

/** An observer of everything. */
export function observing(observe: (observation: Observation) => void): ReplyObserver {
  return Object.fromEntries(changeTypes.map((type) => [type, observe]))
}
