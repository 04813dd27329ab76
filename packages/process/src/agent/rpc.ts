import { ReplyError } from '@reply/core'
import type { RpcMessage } from './decode.ts'
import type { Program } from './program.ts'

/** Requests to a program that speaks JSON-RPC in lines, and answers to its own. */
export interface Rpc {
  /** Rejects with `refused` if the program answers with an error, and with `closed` if it ends first. */
  request(method: string, params: object): Promise<unknown>
  notify(method: string): Promise<void>
  respond(id: string | number, result: object): Promise<void>
  /** The program asks for something that is not supported here. */
  refuse(id: string | number, method: string): Promise<void>
  /** Takes the answer to a request. */
  take(message: Extract<RpcMessage, { readonly type: 'response' }>): void
  /** The program ended: all requests fail. */
  end(error: ReplyError): void
}

export function createRpc(name: string, program: () => Pick<Program, 'send'>): Rpc {
  const waiting = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }
  >()
  let last = 0
  return {
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const id = ++last
        waiting.set(id, { resolve, reject })
        program().send({ id, method, params }).catch(reject)
      }),
    notify: async (method) => await program().send({ method }),
    respond: async (id, result) => await program().send({ id, result }),
    refuse: async (id, method) => {
      // https://www.jsonrpc.org/specification#error_object: the method is not available.
      await program().send({ id, error: { code: -32601, message: `${method} is not supported.` } })
    },
    take: ({ id, error, result }) => {
      const found = typeof id === 'number' ? waiting.get(id) : undefined
      if (!found || typeof id !== 'number') return
      waiting.delete(id)
      if (error === undefined) found.resolve(result)
      else found.reject(new ReplyError('refused', `${name} refused: ${error}`))
    },
    end: (error) => {
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
    },
  }
}
