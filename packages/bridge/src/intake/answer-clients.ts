import type { Ask, Client, PermissionAsk } from '@reply/core'
import type { ActorRef, NamedActor } from '../asks/answered-by.ts'
import type { SavedGrants } from '../asks/saved-grants.ts'
import { LatePressError, type RequireDue } from '../commands/late-press.ts'
import { BridgeError, errorTypeOf } from '../error.ts'
import type { Runner } from '../runs/runner.ts'
import type { BridgeServices } from '../runs/services.ts'
import { callWhileDue } from '../servers/lease-context.ts'
import { chatMessageOf, texts } from '../texts.ts'

/**
 * Returns a client that answers asks for a person, each on its own server. `requireDue` is called right before an answer is sent.
 * Its calls reject with a `BridgeError` whose message is for the person, with `already-resolved`, or with a `LatePressError`, after
 * they have called `onFailed`.
 */
export type AnswerClients = (
  by: NamedActor,
  requireDue: RequireDue,
  onFailed?: () => void,
) => Pick<Client, 'answer' | 'reject' | 'abort'>

/** Creates the clients. Each remembers who answered, and stores what is allowed for always. */
export function createAnswerClients(
  services: Pick<BridgeServices, 'servers' | 'people' | 'answeredBy' | 'onError'>,
  runner: Pick<Runner, 'serverOfSession'>,
  allowed: SavedGrants,
): AnswerClients {
  const { servers, people, answeredBy, onError } = services
  return clientFor

  function clientFor(
    by: NamedActor,
    requireDue: RequireDue,
    onFailed: () => void = () => {},
  ): Pick<Client, 'answer' | 'reject' | 'abort'> {
    const noteFailure = async (call: () => Promise<unknown>): Promise<void> => {
      try {
        await call()
      } catch (error) {
        onFailed()
        throw error
      }
    }
    return {
      answer: async (ask, answer) =>
        await noteFailure(async () => {
          const { name, client } = requireAnswerableServer(ask, by)
          const send = async (): Promise<void> =>
            await sendTracked(
              ask,
              by,
              callWhileDue(requireDue, async () => await client.answer(ask, answer)),
            )
          return ask.type === 'permission' && answer === 'always'
            ? await sendWithGrant(ask, name, by, send)
            : await send()
        }),
      reject: async (ask, message) =>
        await noteFailure(async () => {
          const { client } = requireAnswerableServer(ask, by)
          await sendTracked(
            ask,
            by,
            callWhileDue(requireDue, async () => await client.reject(ask, message)),
          )
        }),
      // Never called: stops have a path of their own.
      abort: async () => {},
    }
  }

  /**
   * Stores the grant, sends the answer, and confirms the grant, so that a crash cannot lose what a server allows. If the
   * answer fails, rejects with its error, and removes the grant unless the server was unreachable and may have accepted it.
   */
  async function sendWithGrant(
    ask: PermissionAsk,
    server: string,
    by: NamedActor,
    send: () => Promise<void>,
  ): Promise<void> {
    const grant = await allowed.storePending(ask, server, by)
    try {
      await send()
    } catch (error) {
      const { cause = error } = error instanceof Error ? error : {}
      const isUnknown = errorTypeOf(cause) === 'unreachable'
      if (!isUnknown) await allowed.remove(grant)
      throw error
    }
    await allowed.confirm(grant)
  }

  /**
   * Resolves as `sending` does, and remembers who answered. On a failure, forgets that, rejects with a short message for the
   * person, and reports the full error to `onError`. Passes on an `already-resolved` error and a `LatePressError` as they are,
   * without a report.
   */
  async function sendTracked<T>({ requestID }: Ask, by: ActorRef, sending: Promise<T>): Promise<T> {
    // The event stream may report the answer before the request returns.
    answeredBy.rememberActor(requestID, by)
    try {
      return await sending
    } catch (cause) {
      answeredBy.forgetActor(requestID)
      const isExpected = cause instanceof LatePressError || errorTypeOf(cause) === 'already-resolved'
      if (!(cause instanceof Error) || isExpected) throw cause
      onError(cause)
      throw new BridgeError('inbound', texts.notAnswered(chatMessageOf(cause)), { cause })
    }
  }

  /**
   * Returns the server of an ask. Throws if the person has neither `approve` nor, for a question, `prompt`: the right may have
   * been revoked while the answer was stored. The sink has checked the rest. Throws like `serverOfRoot`, too.
   */
  function requireAnswerableServer(ask: Ask, { channel, actorID }: ActorRef): ReturnType<typeof serverOfRoot> {
    const may = people.personOf(channel, { id: actorID })?.may
    if (may?.has('approve') || (ask.type === 'question' && may?.has('prompt'))) return serverOfRoot(ask)
    throw new BridgeError('inbound', texts.mayNot(ask.type === 'question' ? 'prompt' : 'approve'))
  }

  /** Returns the server of an ask's root session. Throws if that is not known, or no longer in the config. */
  function serverOfRoot({ path, sessionID }: Ask): { readonly name: string; readonly client: Client } {
    const name = runner.serverOfSession(path[0] ?? sessionID)
    const client = name === undefined ? undefined : servers.get(name)
    if (name !== undefined && client) return { name, client }
    throw new BridgeError('inbound', texts.askServerLeft)
  }
}
