import { ReplyError } from '../error.ts'
import type { SessionRef } from '../session-ref.ts'
import type { Drive } from './drive.ts'
import { toReplyError } from './session-reader.ts'

/** A prompt that doesn't run for now: it was withdrawn, or it stays in its idle session until the next prompt. */
export interface LeftPrompt {
  readonly messageID: string
  readonly how: 'withdrawn' | 'parked'
}

/** The prompts that the server has queued. */
export interface Inbox {
  /**
   * Resolves with where a posted prompt is: `waiting` behind a run, `parked` in an idle session, `gone` if the server
   * doesn't have it, undefined if it is a message of the session or can't be found out. Reports errors instead of
   * rejecting.
   */
  whereIs(place: SessionRef, messageID: string): Promise<'waiting' | 'parked' | 'gone' | undefined>
  /**
   * Withdraws a prompt if it is waiting, and notifies the listeners. Resolves with whether it will never run. False if
   * it isn't waiting, or if that fails. Reports errors instead of rejecting.
   */
  withdraw(place: SessionRef, messageID: string): Promise<boolean>
  /**
   * Like `withdraw`, but resolves with whether the prompt still waits, or may, because the server did not say. It must be
   * withdrawn again then. False once it is withdrawn, and if it runs or has run.
   */
  staysAfterWithdrawal(place: SessionRef, messageID: string): Promise<boolean>
  /**
   * Withdraws all queued prompts of these sessions, and notifies the listeners. Resolves with the ids of those that
   * stay. Rejects if they can't be listed, but not for a deleted session below `place`.
   */
  withdrawAll(place: SessionRef, sessionIDs: readonly string[]): Promise<readonly string[]>
  /** Notifies the listeners that an idle session keeps these prompts until its next one. */
  reportParked(messageIDs: readonly string[]): void
  /** Calls the listener with each prompt that is withdrawn or parked. Returns a function that removes it. */
  onLeft(listener: (left: LeftPrompt) => void): () => void
}

/** Creates the access to a source's queue of prompts. Without a queue, nothing is found or withdrawn. */
export function createInbox({ source, info, onError }: Drive): Inbox {
  const listeners = new Set<(left: LeftPrompt) => void>()
  return {
    whereIs,
    withdraw,
    staysAfterWithdrawal,
    withdrawAll,
    reportParked: (messageIDs) => {
      for (const messageID of messageIDs) notifyListeners({ messageID, how: 'parked' })
    },
    onLeft: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  /**
   * Resolves with `waiting` for a prompt that is queued in a busy session, `parked` in an idle one, and `gone` if the
   * server doesn't have it. Undefined if it is a message of the session, the server has no queue, or the call fails.
   * Reports errors instead of rejecting.
   */
  async function whereIs(place: SessionRef, messageID: string): Promise<'waiting' | 'parked' | 'gone' | undefined> {
    if (!source.waiting || !info.current().queuesPrompts) return undefined
    try {
      // Listed first, because a prompt that begins after this makes its session busy.
      const isWaiting = (await source.waiting(place)).includes(messageID)
      if (isWaiting) return (await source.working(place.directory)).has(place.sessionID) ? 'waiting' : 'parked'
      await source.message(place, messageID)
    } catch (error) {
      if (error instanceof ReplyError && error.type === 'gone') return 'gone'
      onError(toReplyError(error))
    }
    return undefined
  }

  /**
   * Withdraws a waiting prompt and notifies the listeners. Resolves with whether it will never run. False if it isn't
   * waiting, the source can't withdraw, or the call fails. Reports errors instead of rejecting.
   */
  async function withdraw(place: SessionRef, messageID: string): Promise<boolean> {
    try {
      return await withdrawOrThrow(place, messageID)
    } catch (error) {
      onError(toReplyError(error))
      return false
    }
  }

  /** Withdraws, and looks whether the prompt still waits if that does nothing. True if the server does not answer. */
  async function staysAfterWithdrawal(place: SessionRef, messageID: string): Promise<boolean> {
    try {
      if ((await withdrawOrThrow(place, messageID)) || !info.current().queuesPrompts) return false
      return (await source.waiting?.(place))?.includes(messageID) === true
    } catch (error) {
      onError(toReplyError(error))
      return !(error instanceof ReplyError && error.type === 'gone')
    }
  }

  /** Withdraws a waiting prompt and notifies the listeners. Resolves with whether it will never run. Rejects if the call fails. */
  async function withdrawOrThrow(place: SessionRef, messageID: string): Promise<boolean> {
    const isWithdrawn = (await source.withdraw?.(place, messageID)) ?? false
    if (isWithdrawn) notifyListeners({ messageID, how: 'withdrawn' })
    return isWithdrawn
  }

  /**
   * Withdraws all queued prompts of these sessions, and notifies the listeners. Resolves with the ids of those that
   * stay. Rejects if they can't be listed, but not for a deleted session other than `place`.
   */
  async function withdrawAll(place: SessionRef, sessionIDs: readonly string[]): Promise<readonly string[]> {
    const staying = sessionIDs.map(async (sessionID) => {
      const isBelow = sessionID !== place.sessionID
      return await withdrawAllOf({ ...place, sessionID }).catch((error: unknown) => {
        if (isBelow && error instanceof ReplyError && error.type === 'gone') return []
        throw error
      })
    })
    return (await Promise.all(staying)).flat()
  }

  /**
   * Withdraws one session's queued prompts. Resolves with the ids of those that are still queued. Empty if the source
   * has no queue. Rejects if they can't be listed.
   */
  async function withdrawAllOf(place: SessionRef): Promise<readonly string[]> {
    const waiting = (await source.waiting?.(place)) ?? []
    const withdrawn = await Promise.all(waiting.map(async (messageID) => await withdraw(place, messageID)))
    if (withdrawn.every((isWithdrawn) => isWithdrawn)) return []
    // Prompts that had begun by then are no longer listed.
    return (await source.waiting?.(place)) ?? []
  }

  function notifyListeners(left: LeftPrompt): void {
    for (const listener of [...listeners]) listener(left)
  }
}
