import type { Inbound } from '@reply/sink'
import { sessionOfMessage } from '../chats/our-messages.ts'
import { unknownRunKey } from '../failed/failure-rows.ts'
import type { Person } from '../people/people.ts'
import type { ChatPlace } from '../place.ts'
import type { Backlog } from '../runs/backlog.ts'
import { diffButton } from '../runs/show-run.ts'
import { toQueuedPrompt } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import type { Write } from '../store/store.ts'
import { texts } from '../texts.ts'
import type { AllowedCommand } from './allowed.ts'
import {
  type CommandReply,
  type CommandServices,
  clientFor,
  errorReply,
  postReply,
  replyOrErrorText,
  targetOf,
} from './command.ts'
import { diffReply } from './diff.ts'
import { LatePressError, type RequireDue } from './late-press.ts'
import { type SessionRequest, sessionPage, switchToSession } from './new-sessions-switch-current-fork.ts'

/**
 * Does what one of the bridge's own buttons says, for a person, and answers the press. Rejects with a `LatePressError`, without an
 * answer, if the press is too late. `once` conflicts if the press had an effect before: it is committed with those that would undo
 * what people did since.
 */
export type HandlePress = (
  place: ChatPlace,
  person: Person,
  press: Extract<Inbound, { type: 'press' }>,
  requireDue: RequireDue,
  once: Write,
) => Promise<void>

/**
 * Returns a function that handles presses. It only answers a press if the message does not have the button, or if the person
 * lacks the right: `approve` to revoke, `prompt` or `admin` for a diff, any to choose a session, `prompt` for all others.
 */
export function createPressHandler(services: CommandServices, backlog: Backlog, allowed: AllowedCommand): HandlePress {
  const { state, channels, people, runner, failed, onError } = services
  return async (place, person, { token, actor, answer, messageRef }, requireDue, once) => {
    const [, verb, value = ''] = /^b\/(\w+)(?:\/(.*))?$/.exec(token) ?? []
    const shown = token === diffButton ? await sessionOfMessage(state, place, messageRef) : undefined
    if (!shown && !(await channels.hasButton(place, messageRef, token))) return await answer(texts.buttonGone)
    // The look waits for the message of the button to be confirmed.
    requireDue()
    const right = verb === 'revoke' ? 'approve' : 'prompt'
    const mayRead = shown !== undefined && person.may.has('admin')
    // As for the commands `/sessions` and `/switch`.
    const mayChoose = (verb === 'page' || verb === 'switch') && person.may.size > 0
    if (!person.may.has(right) && !mayRead && !mayChoose) return await answer(texts.mayNot(right))
    const who = { channel: place.channel, actor }
    const isOwn = (prompt: QueuedPrompt): boolean => people.isSamePerson(prompt, who) || person.may.has('admin')
    const sessionRequest = async (): Promise<SessionRequest> => ({
      place,
      person,
      ...(await targetOf(services, place)),
    })
    switch (verb) {
      case 'page': {
        const page = async (): Promise<CommandReply> => {
          const reply = await sessionPage(services, await sessionRequest(), Number(value))
          requireDue()
          return reply
        }
        return await replaceWithResult(page)
      }
      case 'switch': {
        const switched = async (): Promise<CommandReply | undefined> =>
          await switchToSession(services, await sessionRequest(), value, { requireDue, once })
        return await replaceWithResult(switched)
      }
      case 'revoke': {
        await answer()
        const revoked = async (): Promise<CommandReply> => {
          const { route } = await targetOf(services, place)
          return await allowed.revokeByID(route.server, value, requireDue).catch(lateReply)
        }
        return await postReply(channels, place, await replyOrErrorText(revoked, onError))
      }
      case 'diff': {
        if (!shown) return await answer(texts.buttonGone)
        await answer()
        const diff = async (): Promise<CommandReply> => await diffReply(clientFor(services, shown), shown)
        return await postReply(channels, place, { replyTo: messageRef, ...(await replyOrErrorText(diff, onError)) })
      }
      case 'run':
        return await answer(
          (await backlog.runEntry(place, value, isOwn, requireDue)) ? texts.runsAgain : texts.backlogGone,
        )
      case 'drop':
        return await dropBacklog()
      case 'again':
        return await runOrDiscard(value, true)
      case 'leave':
        return await runOrDiscard(value, false)
      default:
        return await answer(texts.buttonGone)
    }

    /**
     * Replaces the message that has the button with what the work resolves with, and only answers the press if that is nothing. An
     * error is posted below: the person may be told to try again, and needs the buttons for that.
     */
    async function replaceWithResult(work: () => Promise<CommandReply | undefined>): Promise<void> {
      let reply: CommandReply | undefined
      try {
        reply = await work()
      } catch (error) {
        const told = errorReply(error, onError)
        await answer()
        return await postReply(channels, place, { replyTo: messageRef, ...told })
      }
      return reply ? await replaceWith(reply) : await answer()
    }

    /** Answers the press, and replaces the message that has the button with the result. Posts the result if that fails. */
    async function replaceWith(reply: CommandReply): Promise<void> {
      await answer()
      const { session: _, ...message } = reply
      await channels.edit(place, messageRef, message).catch(async () => await postReply(channels, place, reply))
    }

    /**
     * Removes the entries of the person, or all for an admin, and then shows the rest of the list. Only answers if all entries
     * are of others.
     */
    async function dropBacklog(): Promise<void> {
      const { dropped, list } = await backlog.dropEntries(place, isOwn, requireDue)
      if (dropped === 0 && list) return await answer(texts.othersBacklog)
      await replaceWith(list ?? { text: texts.left })
    }

    /**
     * Queues a prompt that may have run already, or discards it, and replaces the message that asks. Only the first press
     * counts. Later ones, and those of other people unless they are admins, are only answered.
     */
    async function runOrDiscard(id: string, mustRun: boolean): Promise<void> {
      const key = unknownRunKey(place, id)
      const stored = await state.read(key)
      if (stored === undefined) return await answer(texts.buttonGone)
      const prompt = toQueuedPrompt(stored)
      if (!isOwn(prompt)) return await answer(texts.othersRun(prompt.actor.name))
      const once = { type: 'compare-and-set', key, expected: stored, value: undefined } as const
      const isFirst = await state.commit([once, ...(mustRun ? [runner.enqueue(prompt)] : [])], { requireDue })
      if (!isFirst) return await answer(texts.buttonGone)
      void failed.emitCounts().catch(onError)
      if (mustRun) runner.startQueue(place)
      await replaceWith({ text: mustRun ? texts.runsAgain : texts.left })
    }
  }
}

/** Returns the reply to a press that was answered already, and is too late. Rethrows other errors. */
function lateReply(error: unknown): CommandReply {
  if (error instanceof LatePressError) return { text: error.message }
  throw error
}
