/** A person who answered: the channel's name in the config, and the id on its platform. */
export interface ActorRef {
  readonly channel: string
  readonly actorID: string
}

/** Remembers who answered an ask, from before the answer is sent until its event is emitted. */
export interface AnsweredBy {
  rememberActor(requestID: string, by: ActorRef): void
  /** Returns who answered, and forgets it. Undefined if it was answered elsewhere, or not at all. */
  takeActor(requestID: string): ActorRef | undefined
}

/** How many are remembered. If a run ends before the server confirms an answer, its entry is never taken. */
const mostNoted = 1000

export function createAnsweredBy(): AnsweredBy {
  const noted = new Map<string, ActorRef>()
  return { rememberActor, takeActor }

  function rememberActor(requestID: string, by: ActorRef): void {
    noted.delete(requestID)
    noted.set(requestID, by)
    const [oldest] = noted.keys()
    if (noted.size > mostNoted && oldest !== undefined) noted.delete(oldest)
  }

  function takeActor(requestID: string): ActorRef | undefined {
    const by = noted.get(requestID)
    noted.delete(requestID)
    return by
  }
}
