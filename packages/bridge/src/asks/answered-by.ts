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

/** Remembers who answered an ask, from before the answer is sent until its event is emitted. */
export interface AnsweredBy {
  /** Remembers who answers. Replaces an earlier one, and forgets the oldest beyond the limit. */
  rememberActor(requestID: string, actor: ActorRef): void
  /** Returns who answered, and forgets it. Undefined if it was answered elsewhere, or not at all. */
  takeActor(requestID: string): ActorRef | undefined
}

/** How many are remembered. If a run ends before the server confirms an answer, its entry is never taken. */
const mostRemembered = 1000

/** Remembers who answered, in memory, for the newest `mostRemembered` asks. */
export function createAnsweredBy(): AnsweredBy {
  const actors = createRecent<ActorRef>(mostRemembered)
  return {
    rememberActor: (requestID, actor) => actors.set(requestID, actor),
    takeActor: (requestID) => {
      const actor = actors.get(requestID)
      actors.delete(requestID)
      return actor
    },
  }
}
