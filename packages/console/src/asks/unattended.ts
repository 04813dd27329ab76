import { type Ask, type Clock, pendingAsks, type Reply, ReplyError, type ReplyObserver } from '@reply/core'
import { firstAnswer, summaryOf } from './ask.ts'
import type { AskPort } from './asking.ts'

/** How asks are handled when a person cannot answer them here. */
export type Unattended = 'wait' | 'reject' | 'first'

const FIRST_AFTER_MS = 1_000
const UNANSWERABLE = 'This cannot be answered at the moment. Continue without it, or stop and say what you need.'

/**
 * Returns an observer that handles asks without a person, once each, and notes it. `reject` rejects them, `first` takes the
 * first option after a second, and `wait` does neither. Asks of another client's run are only noted.
 */
export function unattendedAskObserver(
  mode: Unattended,
  options: {
    readonly client: AskPort
    readonly note: (text: string) => void
    readonly clock: Clock
    /** How the user can answer next time. */
    readonly cure: string
    /** Whether this program started the run. Asks of other clients' runs are left to them. */
    readonly isOwn: () => boolean
  },
): ReplyObserver {
  const { client, note, clock, cure, isOwn } = options
  const seen = new Set<string>()

  /**
   * Handles a newly seen ask, once: notes it, rejects it, or sends the first option later. Asks of other clients' runs are
   * only noted. One that is merged with an earlier ask is handled without a note.
   */
  function handleOnce({ ask, reply }: { ask: Ask; reply: Reply }): void {
    if (seen.has(ask.requestID)) return
    seen.add(ask.requestID)
    // Asks that are merged with a pending one are announced only once. The answer may already be in flight.
    const isNew = pendingAsks(reply).some(({ requestID }) => requestID === ask.requestID)
    const noteIfNew = isNew ? note : (): void => {}
    if (!isOwn())
      return noteIfNew(`Waiting for an answer to "${summaryOf(ask)}" from the client that started this run.`)
    if (mode === 'wait') noteIfNew(`Waiting for an answer to "${summaryOf(ask)}", for example from \`reply watch\`.`)
    if (mode === 'reject') {
      void trySending(ask, async () => {
        // Gives other observers of the run the chance to answer first.
        await Promise.resolve()
        await client.reject(ask, UNANSWERABLE)
        noteIfNew(`Rejected "${summaryOf(ask)}", because it cannot be answered here. To answer it, ${cure}.`)
      })
    }
    if (mode === 'first') {
      noteIfNew('This cannot be answered here: taking the first option.')
      clock.after(FIRST_AFTER_MS, () => void trySending(ask, () => sendFirstOption(ask)))
    }
  }

  /** Sends the first option of each question, or allows a permission once. */
  function sendFirstOption(ask: Ask): Promise<unknown> {
    const answer = firstAnswer(ask)
    if (answer.type === 'reject') return client.reject(ask, answer.message)
    return client.answer(ask, answer.type === 'answers' ? answer.answers : answer.reply)
  }

  /** Sends an answer. A failure is noted, unless the ask was answered elsewhere. */
  async function trySending(ask: Ask, send: () => Promise<unknown>): Promise<void> {
    try {
      await send()
    } catch (error) {
      if (error instanceof ReplyError && error.type === 'already-resolved') return
      const reason = error instanceof Error ? error.message : String(error)
      note(`The answer to "${summaryOf(ask)}" was not sent: ${reason}`)
    }
  }

  return { questionAsked: handleOnce, permissionAsked: handleOnce }
}
