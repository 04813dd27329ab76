import { type AnyMessage, type ClientConnection, client, RequestError } from '@agentclientprotocol/sdk'
import { type Clock, ReplyError } from '@reply/core'
import { redactStrings, sentenceOf } from '@reply/core/internal'
import { decodeMessage } from './decode/message.ts'
import {
  type ElicitationRequest,
  elicitationRequest,
  type PermissionRequest,
  permissionRequest,
} from './decode/schema.ts'
import type { ElicitationResponse } from './elicitation.ts'
import { addFiles, type FileRights } from './files.ts'
import type { PermissionResponse } from './permission.ts'
import { addTerminals } from './terminal/serve.ts'
import type { Terminals } from './terminal/terminals.ts'
import type { Transport } from './transport.ts'

/** What the agent may call. */
export interface LinkHandlers extends FileRights {
  /** Called for each session update, in order, before anything that came after it. */
  update(params: unknown): void
  /** The signal aborts when the agent withdraws the request. */
  permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionResponse>
  elicitation(request: ElicitationRequest, signal: AbortSignal): Promise<ElicitationResponse>
  /** Undefined if it may run no commands here. */
  readonly terminals: Terminals | undefined
}

/** JSON-RPC with one running agent. */
export interface Link {
  /** Rejects with the SDK's `RequestError` if the agent answers so, and with `unreachable` if it never does. */
  request(method: string, params: object, deadlineMs?: number): Promise<unknown>
  notify(method: string, params: object): Promise<void>
  /** Resolves when the agent has ended and all that it said was read, with how it ended. */
  readonly ended: Promise<string>
  close(): Promise<void>
}

export interface LinkOptions {
  readonly transport: Transport
  readonly handlers: LinkHandlers
  readonly name: string
  /** Removes secrets from errors of the agent. */
  readonly redact: (text: string) => string
  readonly clock: Clock
}

export function connectLink({ transport, handlers, name, redact, clock }: LinkOptions): Link {
  const app = client({ name: 'reply' })
    .onRequest('session/request_permission', permissionRequest, ({ params, signal }) =>
      handlers.permission(params, signal),
    )
    .onRequest('elicitation/create', elicitationRequest, ({ params, signal }) => handlers.elicitation(params, signal))
  addFiles(app, handlers)
  if (handlers.terminals) addTerminals(app, handlers.terminals)
  let read = (): void => {}
  const isRead = new Promise<void>((resolve) => {
    read = resolve
  })
  const connection: ClientConnection = app.connect({ readable: readable(), writable: writable() })
  // An agent that closes its output can't answer any more.
  void connection.closed.then(() => transport.close())
  return {
    request,
    notify: (method, params) => connection.agent.notify<object>(method, params),
    ended: isRead.then(() => transport.ended),
    close: async () => {
      connection.close()
      await transport.close()
    },
  }

  /**
   * Updates are handled here, so that none is behind the response that ends its run. What follows a response waits until
   * that was handled.
   */
  function readable(): ReadableStream<AnyMessage> {
    let handled: Promise<void> | undefined
    const messages = transport.messages[Symbol.asyncIterator]()
    return new ReadableStream<AnyMessage>({
      pull: async (controller) => {
        try {
          await handled
          handled = undefined
          for (;;) {
            const next = await messages.next()
            if (next.done) {
              read()
              return controller.close()
            }
            const message = decodeMessage(next.value)
            if (message?.type === 'update') handlers.update(message.params)
            else if (message) {
              if (!('method' in message.message)) handled = new Promise((resolve) => setImmediate(resolve))
              return controller.enqueue(message.message)
            }
          }
        } catch (error) {
          read()
          throw error
        }
      },
      cancel: () => read(),
    })
  }

  function writable(): WritableStream<AnyMessage> {
    return new WritableStream<AnyMessage>({ write: (message) => transport.send(message) })
  }

  async function request(method: string, params: object, deadlineMs?: number): Promise<unknown> {
    const answered = connection.agent.request<unknown, object>(method, params)
    if (deadlineMs === undefined) return await answered
    return await new Promise((resolve, reject) => {
      const late = `${name} did not answer "${method}" within ${deadlineMs} ms. Run it by hand to see what it waits for.`
      const stop = clock.after(deadlineMs, () => reject(new ReplyError('unreachable', late)))
      answered
        .then(resolve, (error: unknown) => reject(error instanceof RequestError ? withoutSecrets(error) : error))
        .finally(stop)
    })
  }

  function withoutSecrets({ code, message, data }: RequestError): RequestError {
    return new RequestError(code, redact(message), redactStrings(data, redact))
  }
}

/** What a call's rejection means. */
export function toReplyError(error: unknown, what: string): ReplyError {
  if (error instanceof ReplyError) return error
  if (!(error instanceof RequestError)) {
    const words = error instanceof Error ? error.message : String(error)
    return new ReplyError('unreachable', `${what} failed: ${words}. The agent may have ended.`, { cause: error })
  }
  const type = error.code === -32_000 ? 'unauthorized' : 'refused'
  const cure = type === 'unauthorized' ? ' Log in to the agent, or give authMethodID.' : ''
  return new ReplyError(type, `${what} failed: ${sentenceOf(error.message)} (JSON-RPC ${error.code}).${cure}`, {
    cause: error,
  })
}
