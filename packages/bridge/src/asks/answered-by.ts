/** A person who answered, by the channel's name in the config and the id on its platform. */
export interface Answering {
  readonly channel: string
  readonly actorID: string
}

/** Who answered an ask, from when the answer is sent until the run tells of it. */
export interface AnsweredBy {
  note(requestID: string, by: Answering): void
  /** Undefined if it was answered elsewhere, or not at all. Removes it. */
  take(requestID: string): Answering | undefined
}

/** How many are remembered: a run that ends before the server confirms an answer never takes it. */
const mostNoted = 1000

export function createAnsweredBy(): AnsweredBy {
  const noted = new Map<string, Answering>()
  return { note, take }

  function note(requestID: string, by: Answering): void {
    noted.delete(requestID)
    noted.set(requestID, by)
    const [oldest] = noted.keys()
    if (noted.size > mostNoted && oldest !== undefined) noted.delete(oldest)
  }

  function take(requestID: string): Answering | undefined {
    const by = noted.get(requestID)
    noted.delete(requestID)
    return by
  }
}
