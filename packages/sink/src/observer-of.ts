import type { ChangeType, Observation, ReplyObserver } from '@reply/core'

/** An observer that passes all changes to one function. */
export function observerOf(show: (observation: Observation) => void): ReplyObserver {
  const types: Readonly<Record<ChangeType, true>> = {
    replyStarted: true,
    phaseChanged: true,
    messageUpdated: true,
    messageRemoved: true,
    partAdded: true,
    partChanged: true,
    partFinalized: true,
    partRemoved: true,
    toolProgressed: true,
    stepFinished: true,
    todosChanged: true,
    usageChanged: true,
    questionAsked: true,
    questionReplied: true,
    questionRejected: true,
    permissionAsked: true,
    permissionReplied: true,
    askChanged: true,
    askWithdrawn: true,
    sessionRetried: true,
    sessionErrored: true,
    compactionChanged: true,
    childStarted: true,
    childChanged: true,
    childSettled: true,
    connectionChanged: true,
    stalledChanged: true,
    replySettled: true,
    replyAmended: true,
  }
  return Object.fromEntries(Object.keys(types).map((type) => [type, show]))
}
