import type { SessionRef } from '../../session-ref.ts'

/** A session that is being stopped, and the sub-agents below it. */
export interface Stop {
  /** Adds sub-agents that were found later, and cancels answers to their asks that are in flight. */
  cover(sessionIDs: Iterable<string>): void
  /** Call it when the ask was rejected for this stop. It can't be answered later either. */
  close(requestID: string): void
  /**
   * Ends the stop. If it was confirmed, later asks belong to a new run. Otherwise only a new prompt reopens the
   * session.
   */
  end(isStopped: boolean): void
}

/** The ask to answer. */
export interface Addressee {
  readonly requestID: string
  /** The asking session and its known ancestors. */
  readonly sessionIDs: readonly string[]
  /** The top one of them, if it may not be a root. */
  readonly unplaced?: SessionRef | undefined
}

/** Permission to send one answer. */
export interface Permit {
  /** Aborts as soon as a stop covers the ask. An unsent answer must not be sent then. */
  readonly signal: AbortSignal
  /** Looks up the session's ancestors if needed. Rejects if the server doesn't answer. */
  placed(): Promise<void>
  release(): void
}

export interface Stopping {
  /** Begins a stop. Asks of these sessions can't be answered from now on. The first id is the session being stopped. */
  begin(sessionIDs: readonly [string, ...string[]]): Stop
  permit(addressee: Addressee): Permit
  /**
   * Reopens a session for a new prompt. Resolves when no stop of the session is running. Its asks can then be answered.
   */
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

/** How many rejected asks are kept. Servers up to 1.14 accept answers to them, without effect. */
const maxClosed = 1000

/** Decides which asks can still be answered. Only this file knows which sessions are being stopped. */
export function createStopping(options: {
  /** Reads the parent's id over REST. Undefined for a root. */
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
    cancelCovered()
    return {
      cover: (ids) => {
        for (const id of ids) entry.covered.add(id)
        cancelCovered()
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
    cancelCovered()
    return {
      signal: one.abort.signal,
      release: () => sending.delete(one),
      placed: async () => {
        for (let top = unplaced; top && entries.size > 0 && !one.abort.signal.aborted; ) {
          const sessionID = await options.parentOf(top)
          if (sessionID === undefined || one.sessionIDs.has(sessionID)) return
          one.sessionIDs.add(sessionID)
          cancelCovered()
          top = { ...top, sessionID }
        }
      },
    }
  }

  function cancelCovered(): void {
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
