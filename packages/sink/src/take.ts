import { type Ask, pendingAsks, type Reply } from '@reply/core'
import { type AskInput, type Taken, takeAsk } from './asks.ts'
import type { AskState } from './card.ts'
import type { Actor } from './inbound/inbound.ts'
import type { Ledger } from './ledger.ts'
import type { Words } from './words.ts'

/** What a person's words came to, and for which ask. */
export type TakenAsk = Taken & {
  readonly ask: Ask
  /** The server did not take it: the ask waits again. Of what was not an answer it does nothing. */
  readonly undo: () => void
}

/** Whether somebody may answer that ask, by button or by words. */
export type MayAnswer = (actor: Actor, ask: Ask) => boolean

export interface TakingOptions {
  readonly words: Words
  readonly mayAnswer: MayAnswer | undefined
  readonly ledger: () => Ledger
  /** An ask has come as far as that. */
  readonly onChange: (requestID: string, state: AskState) => void
}

/** What a person answers to what waits in a reply. Undefined when nothing does, or the token is none of ours. */
export type Taking = (reply: Reply, input: AskInput, actor: Actor | undefined) => TakenAsk | undefined

export function createTaking({ words, mayAnswer, ledger, onChange }: TakingOptions): Taking {
  /** Answers that were given and of which the server has not told yet. */
  const answered = new Set<string>()
  return (reply, input, actor) => {
    for (const ask of 'token' in input ? reply.asks : pendingAsks(reply)) {
      const { requestID } = ask
      const state = ledger().asks[requestID]
      const taken = state && takeAsk(ask, input, { state, words })
      if (!taken) continue
      const told = { ask, undo: () => {} }
      if (mayAnswer && !(actor && mayAnswer(actor, ask))) {
        // What others write is a word among people; what they press is theirs to hear about.
        if ('text' in input) continue
        return { type: 'error', error: words.notForYou, ...told }
      }
      if (taken.type === 'error' || taken.type === 'form') return { ...taken, ...told }
      if (answered.has(requestID)) return { type: 'error', error: words.alreadyResolved, ...told }
      onChange(requestID, taken.type === 'more' ? taken.state : { ...state, by: actor?.name })
      if (taken.type === 'more') return { ...taken, ...told }
      // What is given last counts when the server has taken it, and is shown then.
      answered.add(requestID)
      return { ...taken, ask, undo: () => undo(requestID) }
    }
    return undefined
  }

  /** Whose answer was not taken is not the one who answered: that may have been somebody else, and elsewhere. */
  function undo(requestID: string): void {
    const state = ledger().asks[requestID]
    if (answered.delete(requestID) && state) onChange(requestID, { ...state, by: undefined })
  }
}
