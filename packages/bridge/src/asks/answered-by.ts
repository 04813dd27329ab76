import { createRecent } from '@reply/sink/internal'

/** A person who answered: the channel's name in the config, and the id on its platform. */
export interface ActorRef {
  readonly channel: string
  readonly actorID: string
}

/** A person who answered, with the name on the platform. */
export interface NamedActor extends ActorRef {
  readonly name: string
}

/**
 * Remembers who answered an ask, from before the answer is sent, for the events of all runs that show the ask. In memory: the owner of a
 * chat carries out the answers that other members received, too, and reports the end. The next owner can't report an end that it did not
 * see, because the server does not tell how. Its chat names the person by what the ledger has.
 */
export interface AnsweredBy {
  /** Remembers who answers. Replaces an earlier one, and forgets the oldest beyond the limit. */
  rememberActor(requestID: string, actor: ActorRef): void
  /** Forgets who answered. Call it if the answer was not sent. */
  forgetActor(requestID: string): void
  /** Returns who answered. Undefined if it was answered elsewhere, or not at all. */
  actorOf(requestID: string): ActorRef | undefined
}

/** How many are remembered. */
const mostRemembered = 1000

/** Remembers who answered, in memory, for the newest `mostRemembered` asks. */
export function createAnsweredBy(): AnsweredBy {
  const actors = createRecent<ActorRef>(mostRemembered)
  return {
    rememberActor: (requestID, actor) => actors.set(requestID, actor),
    forgetActor: (requestID) => actors.delete(requestID),
    actorOf: (requestID) => actors.get(requestID),
  }
}
