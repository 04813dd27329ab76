import { type Ask, type Clock, pendingAsks, type Reply, ReplyError, type ReplyObserver } from '@reply/core'
import { firstAnswer, summaryOf } from './ask.ts'
import type { AskPort } from './asking.ts'

/** How asks are handled when a person cannot answer them here. */
export type Unattended = 'wait' | 'reject' | 'first'

interface Options {
  readonly opencode: AskPort
  readonly note: (text: string) => void
  readonly clock: Clock
  /** What the user can do to be asked next time. */
  readonly cure: string
  /** Whether the run is the caller's to answer for. The asks of a run that another client began are left to it. */
  readonly isOwn: () => boolean
}

const FIRST_AFTER_MS = 1_000
const UNANSWERABLE = 'This cannot be answered at the moment. Continue without it, or stop and say what you need.'

/** Handles asks without a person, and says so. `first` takes the first option after a second. */
export function unattended(what: Unattended, { opencode, note, clock, cure, isOwn }: Options): ReplyObserver {
  const seen = new Set<string>()

  function see({ ask, reply }: { ask: Ask; reply: Reply }): void {
    if (seen.has(ask.requestID)) return
    seen.add(ask.requestID)
    // An ask that is merged with a pending one is announced only once; its answer may already be on its way.
    const isNew = pendingAsks(reply).some(({ requestID }) => requestID === ask.requestID)
    const say = isNew ? note : (): void => {}
    if (!isOwn()) return say(`Waiting for an answer to "${summaryOf(ask)}" from the client that started this run.`)
    if (what === 'wait') say(`Waiting for an answer to "${summaryOf(ask)}", for example from \`reply watch\`.`)
    if (what === 'reject') {
      void settle(ask, async () => {
        // Other observers of the run may answer it: those that do so at once come first.
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
