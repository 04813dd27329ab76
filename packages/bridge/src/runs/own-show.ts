import { emptyReply, type Observation, observerOf, type Reply, type ReplyObserver, reduce } from '@reply/core'
import { passOn } from './show-run.ts'

/** Whether the run of a prompt shows its reply. Another run does if the prompt joined its reply. */
export interface OwnShow {
  /** Call it when the reply is known. */
  decide(reply: Reply): void
  /** Whether another run shows the reply. False until that is decided. */
  isElsewhere(): boolean
  /**
   * Returns an observer for each of these, which forwards to it while this run shows the reply. It is decided again if the prompt turns
   * out to be in another reply. Those of `shown` then end what they show, or begin to show.
   */
  whileShown(shown: readonly ReplyObserver[], others: readonly ReplyObserver[]): readonly ReplyObserver[]
}

/**
 * Creates the decision of one run. `joined` is that of its stream, `isShownByOther` tells whether another run shows a reply, and `now`
 * is the time.
 */
export function createOwnShow({
  joined,
  isShownByOther,
  now,
}: {
  readonly joined: () => boolean | undefined
  readonly isShownByOther: (reply: Reply) => boolean
  readonly now: () => number
}): OwnShow {
  let isElsewhere = false
  /** What was known of the reply when it was decided. */
  let decidedFor = ''
  return { decide, isElsewhere: () => isElsewhere, whileShown }

  function decide(reply: Reply): void {
    decidedFor = signOf(reply)
    isElsewhere = isShownByOther(reply)
  }

  /** Returns a text that differs for another reply. */
  function signOf({ startedAt }: Reply): string {
    return `${joined()} ${startedAt}`
  }

  function whileShown(shown: readonly ReplyObserver[], others: readonly ReplyObserver[]): readonly ReplyObserver[] {
    return [...shown, ...others].map((observer) =>
      observerOf((observation) => {
        const { reply } = observation
        if (joined() !== undefined && signOf(reply) !== decidedFor) decideAgain(observation, shown)
        if (!isElsewhere) passOn(observer, observation)
      }),
    )
  }

  /** Decides, and lets the observers that show the reply end or begin. */
  function decideAgain({ type, reply }: Observation, shown: readonly ReplyObserver[]): void {
    const wasElsewhere = isElsewhere
    decide(reply)
    if (isElsewhere === wasElsewhere || (!isElsewhere && type === 'replyStarted')) return
    const change: Observation = isElsewhere ? closing(reply) : { type: 'replyStarted', reply }
    for (const one of shown) passOn(one, change)
  }

  /** Returns the end of what is shown so far, such as a status. It says nothing of an end. */
  function closing({ sessionID, startedAt = now() }: Reply): Observation {
    const opened = reduce(emptyReply(sessionID), { type: 'opened', sessionID, at: startedAt }).reply
    const reply: Reply = { ...opened, phase: 'settled', outcome: 'aborted', aborting: 'requested' }
    return { type: 'replySettled', outcome: 'aborted', reply }
  }
}
