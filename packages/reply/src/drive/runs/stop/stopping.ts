import type { SessionRef } from '../../../session-ref.ts'

/** A session being stopped, with the sub-agents below it. */
export interface Stop {
  /** Adds sub-agents that were found in the meantime; cancels answers to their asks in flight. */
  cover(sessionIDs: Iterable<string>): void
  /** The ask was rejected for this stop: it can't be answered later either. */
  close(requestID: string): void
  /**
   * After a stop that was seen to work, later asks belong to a new run. Otherwise only a new prompt opens the session
   * again.
   */
  end(isStopped: boolean): void
}

/** The ask that an answer is for. */
export interface Addressee {
  readonly requestID: string
  /** The asking session and its ancestors, as far as known. */
  readonly sessionIDs: readonly string[]
  /** The topmost of them, if it isn't known to be a root. */
  readonly unplaced?: SessionRef | undefined
}

/** Permission to send one answer. */
export interface Permit {
  /** Aborts as soon as a stop covers the ask: an unsent answer must not be sent then. */
  readonly signal: AbortSignal
  /** Looks up the session's ancestors if that matters. Rejects if the server doesn't answer. */
  placed(): Promise<void>
  release(): void
}

export interface Stopping {
  /** From now on, asks of these sessions can't be answered. The first id is the session being stopped. */
  begin(sessionIDs: readonly [string, ...string[]]): Stop
  permit(addressee: Addressee): Permit
  /** For a new prompt: resolves when no stop of the session is running. From then on its asks can be answered. */
  reopen(sessionID: string): Promise<void>
}

interface Entry {
  readonly sessionID: string
  readonly covered: Set<string>
  isUnderWay: boolean
  readonly over: Promise<void>
}

interface Sending {
  readonly requestID: string
  readonly sessionIDs: Set<string>
  readonly abort: AbortController
}

/** How many rejected asks are remembered. Servers up to 1.14 accept answers to them, without effect. */
const maxClosed = 1000

/** Decides which asks can still be answered; the only place that knows which sessions are being stopped. */
export function createStopping(options: {
  /** The parent's id, over REST; undefined for a root. */
  readonly parentOf: (place: SessionRef) => Promise<string | undefined>
}): Stopping {
  const entries = new Set<Entry>()
  const sending = new Set<Sending>()
  const closed = new Set<string>()
  return { begin, permit, reopen }

  function begin(sessionIDs: readonly [string, ...string[]]): Stop {
    const [sessionID] = sessionIDs
    forget(sessionID)
    let resolve = (): void => {}
    const over = new Promise<void>((done) => {
      resolve = done
    })
    const entry: Entry = { sessionID, covered: new Set(sessionIDs), isUnderWay: true, over }
    entries.add(entry)
    takeBack()
    return {
      cover: (ids) => {
        for (const id of ids) entry.covered.add(id)
        takeBack()
      },
      close: (requestID) => {
        closed.add(requestID)
        for (const oldest of [...closed].slice(0, -maxClosed)) closed.delete(oldest)
      },
      end: (isStopped) => {
        entry.isUnderWay = false
        if (isStopped) entries.delete(entry)
        resolve()
      },
    }
  }

  function permit({ requestID, sessionIDs, unplaced }: Addressee): Permit {
    const one: Sending = { requestID, sessionIDs: new Set(sessionIDs), abort: new AbortController() }
    sending.add(one)
    takeBack()
    return {
      signal: one.abort.signal,
      release: () => sending.delete(one),
      placed: async () => {
        for (let top = unplaced; top && entries.size > 0 && !one.abort.signal.aborted; ) {
          const sessionID = await options.parentOf(top)
          if (sessionID === undefined || one.sessionIDs.has(sessionID)) return
          one.sessionIDs.add(sessionID)
          takeBack()
          top = { ...top, sessionID }
        }
      },
    }
  }

  function takeBack(): void {
    for (const { requestID, sessionIDs, abort } of sending) {
      const isCovered = [...entries].some(({ covered }) => [...sessionIDs].some((id) => covered.has(id)))
      if (isCovered || closed.has(requestID)) abort.abort()
    }
  }

  async function reopen(sessionID: string): Promise<void> {
    for (const entry of [...entries]) if (entry.isUnderWay && entry.covered.has(sessionID)) await entry.over
    forget(sessionID)
  }

  function forget(sessionID: string): void {
    for (const entry of entries) if (!entry.isUnderWay && entry.sessionID === sessionID) entries.delete(entry)
  }
}
