import { type Clock, ReplyError } from '@reply/core'
import type { JsonProgram } from './json-program.ts'

/** A JSON-RPC message of a program. */
export type RpcMessage =
  | { readonly type: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly type: 'request'; readonly id: string | number; readonly method: string; readonly params: unknown }
  | { readonly type: 'response'; readonly id: string | number; readonly result?: unknown; readonly error?: string }

/** Requests to a program that speaks JSON-RPC, and responses to its requests. */
export interface Rpc {
  /**
   * Sends a request and resolves with its result. Rejects with `refused` if the program answers with an error, and with
   * `unreachable` if it is not running or does not answer within the deadline. If the program ends first, rejects with
   * the error of `failAll`. Late answers are dropped.
   */
  request(method: string, params: object): Promise<unknown>
  /** Sends a notification. Rejects if the program is not running, or no longer reads. So do `respond` and `refuse`. */
  notify(method: string): Promise<void>
  /** Answers a request of the program. */
  respond(id: string | number, result: object): Promise<void>
  /** Answers a request of the program with the error that its method is not supported. */
  refuse(id: string | number, method: string): Promise<void>
  /** Passes a response to its request. Does nothing if that has ended, or was not made here. */
  settle(message: Extract<RpcMessage, { readonly type: 'response' }>): void
  /** Rejects all pending requests. Call it when the program has ended. */
  failAll(error: ReplyError): void
}

/** The program that gets the requests. */
interface RpcProgram {
  /** Shown in errors. */
  readonly name: string
  /** The current program. Throws if it isn't running. */
  readonly program: () => Pick<JsonProgram, 'send'>
  readonly clock: Clock
  /** Removes secrets from the program's messages. */
  readonly redact: (text: string) => string
  /** How long a response may take, in ms. */
  readonly deadlineMs: number
  /**
   * Awaited right before a request or an answer is sent, with the method of the request. If it rejects, nothing is sent, and the call
   * rejects with its error. Default: all is sent immediately.
   */
  readonly beforeSend?: ((method: string | undefined) => Promise<void>) | undefined
}

/**
 * Creates the JSON-RPC side of an agent that may be restarted: it sends requests to the current `program()` and matches
 * the responses that `settle` gets. The ids of the requests count from 1.
 */
export function createRpc({ name, program, clock, redact, deadlineMs, beforeSend }: RpcProgram): Rpc {
  const waiting = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }
  >()
  let lastID = 0
  return {
    request: async (method, params) => {
      if (beforeSend) await whenSendable(method, beforeSend)
      return await new Promise((resolve, reject) => {
        const id = ++lastID
        const end = (): void => {
          waiting.delete(id)
          stop()
        }
        const fail = (error: Error): void => {
          end()
          reject(error)
        }
        const stop = clock.after(deadlineMs, () => fail(unanswered(method)))
        const done = (value: unknown): void => {
          end()
          resolve(value)
        }
        waiting.set(id, { resolve: done, reject: fail })
        // A program that is not running throws at once.
        void (async () => await program().send({ id, method, params }))().catch(fail)
      })
    },
    notify: async (method) => await program().send({ method }),
    respond: async (id, result) => {
      if (beforeSend) await whenSendable(undefined, beforeSend)
      await program().send({ id, result })
    },
    refuse: async (id, method) => {
      // Method not found: https://www.jsonrpc.org/specification#error_object
      await program().send({ id, error: { code: -32601, message: `${method} is not supported.` } })
    },
    settle: ({ id, error, result }) => {
      const found = typeof id === 'number' ? waiting.get(id) : undefined
      if (!found || typeof id !== 'number') return
      if (error === undefined) found.resolve(result)
      else found.reject(new ReplyError('refused', `${name} refused: ${redact(error)}`))
    },
    failAll: (error) => {
      for (const { reject } of [...waiting.values()]) reject(error)
    },
  }

  /** Awaits `beforeSend`. Rejects with `unreachable` if the program has ended meanwhile: what follows was meant for that one. */
  async function whenSendable(
    method: string | undefined,
    before: NonNullable<RpcProgram['beforeSend']>,
  ): Promise<void> {
    const asked = program()
    await before(method)
    if (program() === asked) return
    throw new ReplyError('unreachable', `${name} has ended, so ${method ?? 'the answer'} was not sent. Try again.`)
  }

  /** Returns the error of a request that got no response in time. */
  function unanswered(method: string): ReplyError {
    const problem = `${name} did not answer ${method} within ${deadlineMs} ms`
    return new ReplyError('unreachable', `${problem}. Restart it, or raise deadlineMs if it needs longer.`)
  }
}
