/** A person who answered, by the channel's name in the config and the id on its platform. */
export interface ActorRef {
  readonly channel: string
  readonly actorID: string
}

/** Who answered an ask, from when the answer is sent until the run tells of it. */
export interface AnsweredBy {
  note(requestID: string, by: ActorRef): void
  /** Undefined if it was answered elsewhere, or not at all. Removes it. */
  take(requestID: string): ActorRef | undefined
}

/** How many are remembered: a run that ends before the server confirms an answer never takes it. */
const mostNoted = 1000

export function createAnsweredBy(): AnsweredBy {
  const noted = new Map<string, ActorRef>()
  return { note, take }

  function note(requestID: string, by: ActorRef): void {
    noted.delete(requestID)
    noted.set(requestID, by)
    const [oldest] = noted.keys()
    if (noted.size > mostNoted && oldest !== undefined) noted.delete(oldest)
  }

  function take(requestID: string): ActorRef | undefined {
    const by = noted.get(requestID)
    noted.delete(requestID)
    return by
  }
}
