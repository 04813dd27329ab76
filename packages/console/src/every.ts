import type { Observation, ReplyObserver } from '@reply/core'

/** An observer that treats every change alike: for whoever looks at the reply, not at what happened to it. */
export function every(see: (observation: Observation) => void): Required<ReplyObserver> {
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
