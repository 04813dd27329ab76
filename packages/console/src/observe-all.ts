import type { Observation, ReplyObserver } from '@reply/core'

/** Returns an observer that calls the same function for every change. */
export function observeAll(onObservation: (observation: Observation) => void): Required<ReplyObserver> {
  return {
    replyStarted: onObservation,
    phaseChanged: onObservation,
    messageUpdated: onObservation,
    messageRemoved: onObservation,
    partAdded: onObservation,
    partChanged: onObservation,
    partFinalized: onObservation,
    partRemoved: onObservation,
    toolProgressed: onObservation,
    stepFinished: onObservation,
    todosChanged: onObservation,
    usageChanged: onObservation,
    questionAsked: onObservation,
    questionReplied: onObservation,
    questionRejected: onObservation,
    permissionAsked: onObservation,
    permissionReplied: onObservation,
    askChanged: onObservation,
    askWithdrawn: onObservation,
    sessionRetried: onObservation,
    sessionErrored: onObservation,
    compactionChanged: onObservation,
    childStarted: onObservation,
    childChanged: onObservation,
    childSettled: onObservation,
    connectionChanged: onObservation,
    stalledChanged: onObservation,
    replySettled: onObservation,
    replyAmended: onObservation,
  }
}
