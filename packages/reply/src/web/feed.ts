import type { Client } from '../client/client.ts'
import { observerOf } from '../observer.ts'
import type { Reply } from '../reply.ts'

/** The newest state of one reply, or of something else, for any number of readers. */
export interface Feed<State = Reply> {
  /** Undefined until it is known. */
  readonly newest: State | undefined
  /** Calls the listener with each change from now on. Returns a function that stops that. */
  follow(listener: () => void): () => void
}

interface OpenFeed<State = Reply> extends Feed<State> {
  /** Passes a newer state on. */
  update(state: State): void
}

/** Creates a feed without a state. */
export function createFeed<State = Reply>(): OpenFeed<State> {
  let newest: State | undefined
  const listeners = new Set<() => void>()
  return {
    get newest() {
      return newest
    },
    follow: (listener) => {
      // A listener of its own, because a reader may follow twice with the same function.
      const own = (): void => listener()
      listeners.add(own)
      return () => listeners.delete(own)
    },
    update: (state) => {
      if (state === newest) return
      newest = state
      for (const listener of [...listeners]) listener()
    },
  }
}

/** Resolves with the newest state once it fits, or the signal aborts. Undefined if the reply is not known then. */
export function untilReply(
  feed: Feed,
  fits: (reply: Reply) => boolean,
  signal: AbortSignal,
): Promise<Reply | undefined> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!signal.aborted && !(feed.newest && fits(feed.newest))) return
      stop()
      signal.removeEventListener('abort', look)
      resolve(feed.newest)
    }
    const stop = feed.follow(look)
    signal.addEventListener('abort', look)
    look()
  })
}

/** A session that is watched as long as it is held. */
export interface HeldSession {
  /** The newest reply of the session that was seen open. */
  current(): Feed | undefined
  /** Calls the listener when another reply begins. Returns a function that stops that. */
  onReply(listener: () => void): () => void
  /** Ends the watch, unless others hold the session. Does nothing the second time. */
  release(): void
}

interface WatchedSession {
  holders: number
  current: OpenFeed | undefined
  readonly listeners: Set<() => void>
  readonly stop: () => void
}

/** Creates the watches of sessions: one for each session that is held, however many hold it. Returns `hold`. */
export function createWatches(client: Pick<Client, 'watch'>): (sessionID: string) => HeldSession {
  const watched = new Map<string, WatchedSession>()
  return (sessionID) => {
    const session = watched.get(sessionID) ?? watch(sessionID)
    session.holders += 1
    let isHeld = true
    return {
      current: () => session.current,
      onReply: (listener) => {
        session.listeners.add(listener)
        return () => session.listeners.delete(listener)
      },
      release: () => {
        if (!isHeld) return
        isHeld = false
        session.holders -= 1
        if (session.holders > 0) return
        watched.delete(sessionID)
        session.stop()
      },
    }
  }

  function watch(sessionID: string): WatchedSession {
    let current: OpenFeed | undefined
    const listeners = new Set<() => void>()
    const stop = client.watch(
      { sessionID },
      {
        observe: (reply) => {
          const feed = createFeed()
          feed.update(reply)
          current = feed
          for (const listener of [...listeners]) listener()
          return [observerOf((observation) => feed.update(observation.reply))]
        },
      },
    )
    const session: WatchedSession = {
      holders: 0,
      get current() {
        return current
      },
      listeners,
      stop,
    }
    watched.set(sessionID, session)
    return session
  }
}
