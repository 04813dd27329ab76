import { type Ask, type Clock, pendingAsks, type Reply, ReplyError, type ReplyObserver } from '@reply/core'
import { firstAnswer, summaryOf } from './ask.ts'
import type { AskPort } from './asking.ts'

/** How asks are handled when a person cannot answer them here. */
export type Unattended = 'wait' | 'reject' | 'first'

interface Handling {
  readonly opencode: AskPort
  readonly note: (text: string) => void
  readonly clock: Clock
  /** How the user can answer next time. */
  readonly cure: string
  /** Whether this program started the run. Asks of other clients' runs are left to them. */
  readonly isOwn: () => boolean
}

const FIRST_AFTER_MS = 1_000
const UNANSWERABLE = 'This cannot be answered at the moment. Continue without it, or stop and say what you need.'

/** Handles asks without a person, and notes it. `first` takes the first option after a second. */
export function unattended(what: Unattended, { opencode, note, clock, cure, isOwn }: Handling): ReplyObserver {
  const seen = new Set<string>()

  function see({ ask, reply }: { ask: Ask; reply: Reply }): void {
    if (seen.has(ask.requestID)) return
    seen.add(ask.requestID)
    // Asks that are merged with a pending one are announced only once. The answer may already be in flight.
    const isNew = pendingAsks(reply).some(({ requestID }) => requestID === ask.requestID)
    const say = isNew ? note : (): void => {}
    if (!isOwn()) return say(`Waiting for an answer to "${summaryOf(ask)}" from the client that started this run.`)
    if (what === 'wait') say(`Waiting for an answer to "${summaryOf(ask)}", for example from \`reply watch\`.`)
    if (what === 'reject') {
      void settle(ask, async () => {
        // Gives other observers of the run the chance to answer first.
        await Promise.resolve()
        await opencode.reject(ask, UNANSWERABLE)
        say(`Rejected "${summaryOf(ask)}", because it cannot be answered here. To answer it, ${cure}.`)
      })
    }
    if (what === 'first') {
      say('This cannot be answered here: taking the first option.')
      clock.after(FIRST_AFTER_MS, () => void settle(ask, () => takeFirst(ask)))
    }
  }

  function takeFirst(ask: Ask): Promise<unknown> {
    const answer = firstAnswer(ask)
    if (answer.type === 'reject') return opencode.reject(ask, answer.message)
    return opencode.answer(ask, answer.type === 'answers' ? answer.answers : answer.reply)
  }

  async function settle(ask: Ask, act: () => Promise<unknown>): Promise<void> {
    try {
      await act()
    } catch (error) {
      if (error instanceof ReplyError && error.type === 'already-resolved') return
      const reason = error instanceof Error ? error.message : String(error)
      note(`The answer to "${summaryOf(ask)}" was not sent: ${reason}`)
    }
  }

  return { questionAsked: see, permissionAsked: see }
}
