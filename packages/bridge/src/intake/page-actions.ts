import { type Answer, type Ask, type Reply, ReplyError } from '@reply/core'
import { askDigest, isAskDue, permissionAnswers } from '@reply/core/internal'
import { LatePressError, type RequireDue } from '../commands/late-press.ts'
import { BridgeError, toError } from '../error.ts'
import { type ActiveRun, cancelFor, closeFor, mayActOn } from '../runs/active-runs.ts'
import type { BridgeServices } from '../runs/services.ts'
import { mayAnswerAsk } from '../runs/show-run.ts'
import type { PageAct, PageAction, PageAsk } from '../state/page-action.ts'
import { chatMessageOf, plain, texts } from '../texts.ts'
import type { AnswerClients } from './answer-clients.ts'

/**
 * Carries out what a person does on the page of a run, and resolves with why not. Undefined if it was carried out. `requireDue` is
 * called right before each effect. Rejects with what that throws.
 */
export type ActOnPage = (channel: string, action: PageAction, requireDue: RequireDue) => Promise<string | undefined>

/** Creates the owner's side of pages. A person has the same rights there as in the chat of the run. */
export function createActOnPage(
  { runs, people, clock, onError }: Pick<BridgeServices, 'runs' | 'people' | 'clock' | 'onError'>,
  clientFor: AnswerClients,
): ActOnPage {
  return async (channel, action, requireDue) => {
    const { chat, runID, act } = action
    const run = runs.followed({ channel, chat }).find((one) => one.execution().id === runID && !one.hasLeft?.())
    if (!run) return texts.runOver
    try {
      return act.type === 'stop'
        ? await stop(run, channel, action, requireDue)
        : await answer(run, channel, action, act, requireDue)
    } catch (error) {
      if (error instanceof LatePressError) throw error
      if (error instanceof BridgeError) return error.message
      if (error instanceof ReplyError && error.type === 'already-resolved') return texts.alreadyAnswered
      onError(toError(error))
      return texts.notDone(plain(chatMessageOf(error)))
    }
  }

  /** Aborts the run, if the person may. */
  async function stop(
    run: ActiveRun,
    channel: string,
    { actor }: PageAction,
    requireDue: RequireDue,
  ): Promise<string | undefined> {
    const { followed, prompt } = run.execution()
    if (!mayActOn(run, { channel, actor }, people))
      return followed ? texts.mayNot('approve') : texts.othersRun(plain(prompt.actor.name))
    requireDue()
    await cancelFor(run, actor)
    return undefined
  }

  /** Answers or rejects an ask, if the person may, and it is still the one that the page showed. */
  async function answer(
    run: ActiveRun,
    channel: string,
    { chat, actor }: PageAction,
    act: Exclude<PageAct, { type: 'stop' }>,
    requireDue: RequireDue,
  ): Promise<string | undefined> {
    const reply = run.stream()?.reply
    const ask = reply && shownAsk(reply, act.ask)
    if (!ask || ask === 'changed') return ask ? texts.askChanged : texts.alreadyAnswered
    if (!mayAnswerAsk(people, run.execution().prompt, { channel, chat }, actor, ask)) return texts.mayNotAnswer
    const client = clientFor({ channel, actorID: actor.id, name: actor.name }, requireDue)
    if (act.type === 'answer' && !isOffered(act.answer, ask, reply)) return texts.answerNotOffered
    const send = async (): Promise<void> =>
      act.type === 'answer' ? await client.answer(ask, act.answer) : await client.reject(ask, act.message)
    await closeFor(run, actor, send, ask.requestID)
    return undefined
  }

  /** Whether pages offer this answer: nothing is allowed that is not known. */
  function isOffered(given: Answer, ask: Ask, reply: Reply): boolean {
    if (ask.type === 'question') return typeof given !== 'string'
    return typeof given === 'string' && isAskDue(ask, reply, clock.wall()) && permissionAnswers(ask).includes(given)
  }
}

/** Returns the pending ask with that content. `changed` if it has another one by now. Undefined if it is not pending. */
function shownAsk({ asks }: Reply, { requestID, digest }: PageAsk): Ask | 'changed' | undefined {
  const ask = asks.find((one) => one.requestID === requestID && one.status === 'pending')
  return ask && askDigest(ask) !== digest ? 'changed' : ask
}
