import { type Ask, pendingAsks, type Reply } from '@reply/core'
import { type AskInput, type Taken, takeAsk } from './asks.ts'
import type { AskState } from './card.ts'
import type { Actor } from './inbound/inbound.ts'
import type { Ledger } from './ledger.ts'
import type { Words } from './words.ts'

/** What a person's words came to, and for which ask. */
export type TakenAsk = Taken & {
  readonly ask: Ask
  /** The server did not take it: the ask waits again. Does nothing if it was not an answer. */
  readonly undo: () => void
}

/** Whether an actor may answer that ask, by button or by words. Anything but `true` means no; so does an error. */
export type MayAnswer = (actor: Actor, ask: Ask) => boolean | Promise<boolean>

export interface TakingOptions {
  readonly words: Words
  readonly mayAnswer?: MayAnswer | undefined
  readonly answerers?: readonly string[] | undefined
  readonly reply: () => Reply | undefined
  readonly ledger: () => Ledger
  /** An ask has come as far as that. */
  readonly onChange: (requestID: string, state: AskState) => void
}

/** What a person answers to what waits in a reply. Undefined when nothing does, or the token is not one of the reply's. */
export type Taking = (input: AskInput, actor: Actor | undefined) => Promise<TakenAsk | undefined>

export function createTaking({ words, mayAnswer, answerers, reply, ledger, onChange }: TakingOptions): Taking {
  /** Answers that were given and that the server has not told of yet. */
  const answered = new Set<string>()
  return async (input, actor) => {
    const now = reply()
    if (!now) return undefined
    for (const { requestID } of 'token' in input ? now.asks : pendingAsks(now)) {
      const before = read(requestID, input)
      if (!before) continue
      const isAllowed = await mayTake(actor, before.ask)
      // The ask may have been answered or withdrawn while the host thought.
      const after = read(requestID, input)
      if (!after) continue
      if (!isAllowed) {
        // What others write is a word among people; what they press is theirs to hear about.
        if ('text' in input) continue
        return { type: 'error', error: words.notForYou, ...unchanged(after.ask) }
      }
      return apply(after, actor)
    }
    return undefined
  }

  function read(requestID: string, input: AskInput): Read | undefined {
    const ask = reply()?.asks.find((one) => one.requestID === requestID)
    const state = ledger().asks[requestID]
    const taken = ask && state && takeAsk(ask, input, { state, words })
    return ask && state && taken && { ask, state, taken }
  }

  async function mayTake(actor: Actor | undefined, ask: Ask): Promise<boolean> {
    if (!mayAnswer && !answerers) return true
    if (!actor || actor.isAnonymous) return false
    if (answerers && !answerers.includes(actor.id)) return false
    return mayAnswer === undefined || (await mayAnswer(actor, ask)) === true
  }

  function apply({ ask, state, taken }: Read, actor: Actor | undefined): TakenAsk {
    const { requestID } = ask
    if (taken.type === 'error' || taken.type === 'form') return { ...taken, ...unchanged(ask) }
    if (answered.has(requestID)) return { type: 'error', error: words.alreadyResolved, ...unchanged(ask) }
    onChange(requestID, taken.type === 'more' ? taken.state : { ...state, by: actor?.name })
    if (taken.type === 'more') return { ...taken, ...unchanged(ask) }
    // What is given last counts when the server has taken it, and is shown then.
    answered.add(requestID)
    return { ...taken, ask, undo: () => undo(requestID) }
  }

  /** An actor whose answer was not taken did not answer: another person may have, elsewhere. */
  function undo(requestID: string): void {
    const state = ledger().asks[requestID]
    if (answered.delete(requestID) && state) onChange(requestID, { ...state, by: undefined })
  }
}

interface Read {
  readonly ask: Ask
  readonly state: AskState
  readonly taken: Taken
}

function unchanged(ask: Ask): Pick<TakenAsk, 'ask' | 'undo'> {
  return { ask, undo: () => {} }
}
