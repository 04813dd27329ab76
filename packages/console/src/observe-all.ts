import type { Observation, ReplyObserver } from '@reply/core'

/** An observer that calls the same function for every change. */
export function observeAll(see: (observation: Observation) => void): Required<ReplyObserver> {
  return {
    replyStarted: see,
    phaseChanged: see,
    messageUpdated: see,
    messageRemoved: see,
    partAdded: see,
    partChanged: see,
    partFinalized: see,
    partRemoved: see,
    toolProgressed: see,
    stepFinished: see,
    todosChanged: see,
    usageChanged: see,
    questionAsked: see,
    questionReplied: see,
    questionRejected: see,
    permissionAsked: see,
    permissionReplied: see,
    askChanged: see,
    askWithdrawn: see,
    sessionRetried: see,
    sessionErrored: see,
    compactionChanged: see,
    childStarted: see,
    childChanged: see,
    childSettled: see,
    connectionChanged: see,
    stalledChanged: see,
    replySettled: see,
    replyAmended: see,
  }
}
