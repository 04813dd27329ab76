import type { SessionRef } from '../../session-ref.ts'

/** A session that is being stopped, and the sub-agents below it. */
export interface Stop {
  /** Adds sub-agents that were found later, and cancels answers to their asks that are in flight. */
  cover(sessionIDs: Iterable<string>): void
  /** Blocks answers to an ask that this stop rejects, also after the stop has ended. Keeps the newest 1,000. */
  closeAsk(requestID: string): void
  /**
   * Ends the stop. If it was confirmed, the sessions' asks can be answered again, because they belong to a new run.
   * Otherwise they stay blocked until `reopen`.
   */
  end(isConfirmed: boolean): void
}

/** The ask to answer. */
export interface AskToAnswer {
  readonly requestID: string
  /** The asking session and its known ancestors. */
  readonly sessionIDs: readonly string[]
  /** The top one of them, if it may not be a root. */
  readonly unplaced?: SessionRef | undefined
}

/** An answer that is about to be sent. */
export interface Permit {
  /** Aborts as soon as a stop covers the ask. An unsent answer must not be sent then. */
  readonly signal: AbortSignal
  /**
   * Adds the unknown ancestors of the asking session, so that a stop that covers one of them aborts the signal. Does
   * nothing without `unplaced` or any stop, and ends early once the signal is aborted. Rejects if the server doesn't
   * answer.
   */
  findAncestors(): Promise<void>
  /** Ends the permit, once the answer was sent or has failed. */
  release(): void
}

export interface Stopping {
  /**
   * Begins a stop of the first session. From now on, asks of all these sessions can't be answered, and answers that are
   * being sent are aborted.
   */
  begin(sessionIDs: readonly [string, ...string[]]): Stop
  /**
   * Returns a permit to send an answer. Its signal is already aborted if a stop covers one of the sessions or has
   * rejected the ask.
   */
  permit(addressee: AskToAnswer): Permit
  /**
   * Waits until no running stop covers the session. Then lets its asks be answered again after stops of it that were
   * not confirmed, for a new prompt.
   */
  reopen(sessionID: string): Promise<void>
}

interface StopEntry {
  readonly sessionID: string
  readonly covered: Set<string>
  isUnderWay: boolean
  readonly over: Promise<void>
}

interface AnswerInFlight {
  readonly requestID: string
  readonly sessionIDs: Set<string>
  readonly abort: AbortController
}

/** How many rejected asks are kept. Servers up to 1.14 accept answers to them, without effect. */
const maxClosed = 1000

/**
 * Creates the registry of sessions that are being stopped, which decides which asks can still be answered. `parentOf`
 * resolves with the id of a session's parent, or with undefined for a root.
 */
export function createStopping(parentOf: (place: SessionRef) => Promise<string | undefined>): Stopping {
  const entries = new Set<StopEntry>()
  const sending = new Set<AnswerInFlight>()
  const closed = new Set<string>()
  return { begin, permit, reopen }

  /**
   * Blocks answers to the asks of these sessions, and aborts those that are being sent. The first session is the
   * stopped one. Replaces an ended stop of it that was not confirmed.
   */
  function begin(sessionIDs: readonly [string, ...string[]]): Stop {
    const [sessionID] = sessionIDs
    removeEndedStops(sessionID)
    let resolve = (): void => {}
    const over = new Promise<void>((done) => {
      resolve = done
    })
    const entry: StopEntry = { sessionID, covered: new Set(sessionIDs), isUnderWay: true, over }
    entries.add(entry)
    cancelCoveredAnswers()
    return {
      cover: (ids) => {
        for (const id of ids) entry.covered.add(id)
        cancelCoveredAnswers()
      },
      closeAsk: (requestID) => {
        closed.add(requestID)
        for (const oldest of [...closed].slice(0, -maxClosed)) closed.delete(oldest)
      },
      end: (isConfirmed) => {
        entry.isUnderWay = false
        if (isConfirmed) entries.delete(entry)
        resolve()
      },
    }
  }

  /**
   * Registers an answer that is about to be sent, so that a stop aborts its signal, at once if one already covers it.
   */
  function permit({ requestID, sessionIDs, unplaced }: AskToAnswer): Permit {
    const inFlight: AnswerInFlight = { requestID, sessionIDs: new Set(sessionIDs), abort: new AbortController() }
    sending.add(inFlight)
    cancelCoveredAnswers()
    return {
      signal: inFlight.abort.signal,
      release: () => sending.delete(inFlight),
      findAncestors: async () => {
        for (let top = unplaced; top && entries.size > 0 && !inFlight.abort.signal.aborted; ) {
          const sessionID = await parentOf(top)
          if (sessionID === undefined || inFlight.sessionIDs.has(sessionID)) return
          inFlight.sessionIDs.add(sessionID)
          cancelCoveredAnswers()
          top = { ...top, sessionID }
        }
      },
    }
  }

  /** Aborts the signals of answers to asks that a stop covers or has rejected. */
  function cancelCoveredAnswers(): void {
    for (const { requestID, sessionIDs, abort } of sending) {
      const isCovered = [...entries].some(({ covered }) => [...sessionIDs].some((id) => covered.has(id)))
      if (isCovered || closed.has(requestID)) abort.abort()
    }
  }

  /**
   * Waits until no running stop covers the session, then unblocks answers after stops of it that were not confirmed.
   */
  async function reopen(sessionID: string): Promise<void> {
    for (const entry of [...entries]) if (entry.isUnderWay && entry.covered.has(sessionID)) await entry.over
    removeEndedStops(sessionID)
  }

  /** Unblocks the session's asks after ended stops of it that were not confirmed. Stops that are under way stay. */
  function removeEndedStops(sessionID: string): void {
    for (const entry of entries) if (!entry.isUnderWay && entry.sessionID === sessionID) entries.delete(entry)
  }
}
