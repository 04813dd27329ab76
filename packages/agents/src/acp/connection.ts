import { type AnyMessage, type ClientConnection, client, RequestError } from '@agentclientprotocol/sdk'
import { ReplyError } from '@reply/core'
import { redactStrings, sentenceOf } from '@reply/core/internal'
import type { FormResponse } from '../forms/form.ts'
import type { PermissionResponse } from './asks.ts'
import { type AcpAgent, decodeMessage, readInitialize } from './decode/message.ts'
import { type ElicitationRequest, elicitationRequest } from './decode/schema.ts'
import { type PermissionRequest, permissionRequest } from './decode/v2/permission.ts'
import { type Dialect, dialects } from './dialect.ts'
import { addFiles, type FileRights } from './files.ts'
import type { AcpSettings } from './options.ts'
import { addTerminals, type Terminals } from './terminals.ts'
import type { Transport } from './transport.ts'

/** An agent that has answered `initialize`. */
export interface RunningAgent {
  readonly connection: AgentConnection
  readonly agent: AcpAgent
  readonly dialect: Dialect
  /** The sessions that this process of the agent has opened. */
  readonly opened: Set<string>
}

/**
 * Initializes the agent, and logs in if the settings name a method. Rejects with `unreachable` if it ends or doesn't answer,
 * `malformed` if it answers in no ACP, `unsupported` for a version that the settings don't allow, `unauthorized` if it
 * refuses the login, and `refused` for its other errors. Closes the connection then.
 */
export async function startAgent(
  transport: Transport,
  settings: AcpSettings,
  handlers: ClientMethods,
): Promise<RunningAgent> {
  const { name, clock, deadlineMs, authMethodID, protocol } = settings
  const connection = connectAgent(transport, settings, handlers)
  try {
    const agent = readInitialize(await firstAnswer())
    if (!agent)
      throw new ReplyError(
        'malformed',
        `${name} did not answer "initialize" in ACP. Check that its command starts an ACP agent.`,
      )
    const dialect = dialectOf(agent.protocolVersion)
    if (authMethodID !== undefined)
      await connection.request(dialect.methods.login, { methodId: authMethodID }, deadlineMs)
    return { connection, agent, dialect, opened: new Set() }
  } catch (error) {
    await connection.close()
    throw toReplyError(error, `Starting ${name}`)
  }

  /**
   * Returns the dialect of a version of the protocol. Throws `unsupported` for one that is unknown or that the settings
   * exclude.
   */
  function dialectOf(version: number): Dialect {
    const spoken = protocol === 'auto' ? [1, 2] : [protocol]
    const dialect = Object.values(dialects).find((one) => one.version === version && spoken.includes(version))
    if (dialect) return dialect
    const problem = `${name} speaks version ${version} of the Agent Client Protocol, not ${spoken.join(' or ')}`
    const other = Object.hasOwn(dialects, version) ? `set protocol to ${version}, or use` : 'use'
    throw new ReplyError(
      'unsupported',
      `${problem}. To talk to it, ${other} a version of the agent that speaks ${spoken.join(' or ')}.`,
    )
  }

  /**
   * Sends `initialize`, with the fields of both versions unless the settings choose version 1, and resolves with the answer.
   * Rejects with `unreachable` if the agent ends before. Any other error is passed on after a second, in which the agent may
   * still end.
   */
  async function firstAnswer(): Promise<unknown> {
    const clientCapabilities = {
      fs: { readTextFile: settings.files !== 'none', writeTextFile: settings.files === 'write' },
      terminal: settings.terminals,
      elicitation: { form: {} },
      subagents: {},
      plan: {},
      session: {
        compaction: {},
        configOptions: { boolean: {} },
        ...(settings.onNotice && { notices: {} }),
      },
    }
    const clientInfo = { name: 'reply', version: '0.1.0' }
    const version1 = { protocolVersion: 1, clientCapabilities, clientInfo }
    // An agent of version 1 ignores the fields of version 2, and the other way round.
    const both = { ...version1, protocolVersion: 2, capabilities: { elicitation: { form: {} } }, info: clientInfo }
    const answered = connection.request('initialize', protocol === 1 ? version1 : both, deadlineMs)
    const died = connection.ended.then((how): never => {
      const cure = 'Run it by hand in that folder, or read its stderr with onStderr.'
      throw new ReplyError('unreachable', `${name} ${how} before it answered "initialize". ${cure}`)
    })
    // A closed connection also rejects the request, but with a less helpful error.
    return await Promise.race([
      answered.catch(async (error: unknown) => await Promise.race([died, rejectLater(error)])),
      died,
    ])
  }

  /** Rejects with the error after a second, in which the process may still end: its exit code explains more. */
  function rejectLater(error: unknown): Promise<never> {
    return new Promise((_, reject) => clock.after(1000, () => reject(error)))
  }
}

/** The methods that the agent may call. */
export interface ClientMethods extends FileRights {
  /** Called for each session update, in order, before anything that came after it. */
  update(params: unknown): void
  /** Called for each turn that the agent begins or ends by itself, in order with the updates. */
  turn(turn: { readonly sessionID: string; readonly type: 'begun' | 'ended' }): void
  /** The signal aborts when the agent withdraws the request. */
  permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionResponse>
  elicitation(request: ElicitationRequest, signal: AbortSignal): Promise<FormResponse>
  /** Undefined if the agent may not run commands here. */
  readonly terminals: Terminals | undefined
}

/** JSON-RPC with one running agent. */
export interface AgentConnection {
  /**
   * Rejects with the SDK's `RequestError` if the agent answers with an error, and with `unreachable` if it doesn't
   * answer.
   */
  request(method: string, params: object, limitMs?: number): Promise<unknown>
  /** Like `request`, with the deadline of the settings. Rejects with a `ReplyError`: see `toReplyError`. */
  call(method: string, params: object): Promise<unknown>
  /** Sends a notification. Resolves when it is written. */
  notify(method: string, params: object): Promise<void>
  /** Resolves when the agent has ended and its output was read, for example with `exited with code 1`. */
  readonly ended: Promise<string>
  close(): Promise<void>
}

/**
 * Connects to the agent and registers the methods that it may call. Closes the transport when the agent has closed its
 * output.
 */
function connectAgent(
  transport: Transport,
  { name, redact, clock, deadlineMs }: AcpSettings,
  handlers: ClientMethods,
): AgentConnection {
  const app = client({ name: 'reply' })
    .onRequest('session/request_permission', permissionRequest, ({ params, signal }) =>
      handlers.permission(params, signal),
    )
    .onRequest('elicitation/create', elicitationRequest, ({ params, signal }) => handlers.elicitation(params, signal))
  addFiles(app, handlers)
  if (handlers.terminals) addTerminals(app, handlers.terminals)
  let markRead = (): void => {}
  const untilRead = new Promise<void>((resolve) => {
    markRead = resolve
  })
  const connection: ClientConnection = app.connect({ readable: readable(), writable: writable() })
  // An agent that closed its output can't answer.
  void connection.closed.then(() => transport.close())
  return {
    request,
    call: async (method, params) => {
      try {
        return await request(method, params, deadlineMs)
      } catch (error) {
        throw toReplyError(error, `"${method}" of ${name}`)
      }
    },
    notify: (method, params) => connection.agent.notify<object>(method, params),
    ended: untilRead.then(() => transport.ended),
    close: async () => {
      connection.close()
      await transport.close()
    },
  }

  /**
   * Returns the agent's messages for the SDK, without session updates, which are handled here. So a response never overtakes
   * the updates before it. Messages after a response wait until it was handled. Drops values that aren't JSON-RPC messages.
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
              markRead()
              return controller.close()
            }
            const message = decodeMessage(next.value)
            if (message?.type === 'update') handlers.update(message.params)
            else if (message) {
              if (message.turn) handlers.turn(message.turn)
              if (!('method' in message.message)) handled = new Promise((resolve) => setImmediate(resolve))
              return controller.enqueue(message.message)
            }
          }
        } catch (error) {
          markRead()
          throw error
        }
      },
      cancel: () => markRead(),
    })
  }

  /** Returns a stream that sends each message to the agent. */
  function writable(): WritableStream<AnyMessage> {
    return new WritableStream<AnyMessage>({ write: (message) => transport.send(message) })
  }

  /**
   * Sends a request and resolves with its result. With `limitMs`, also rejects with `unreachable` after that time, and
   * removes secrets from the agent's error.
   */
  async function request(method: string, params: object, limitMs?: number): Promise<unknown> {
    const answered = connection.agent.request<unknown, object>(method, params)
    if (limitMs === undefined) return await answered
    return await new Promise((resolve, reject) => {
      const late = `${name} did not answer "${method}" within ${limitMs} ms. Run it by hand to see what it waits for.`
      const stop = clock.after(limitMs, () => reject(new ReplyError('unreachable', late)))
      answered
        .then(resolve, (error: unknown) => reject(error instanceof RequestError ? withoutSecrets(error) : error))
        .finally(stop)
    })
  }

  /** Returns the error without the secrets in its message and data. */
  function withoutSecrets({ code, message, data }: RequestError): RequestError {
    return new RequestError(code, redact(message), redactStrings(data, redact))
  }
}

/**
 * Converts the rejection of a call. A `ReplyError` stays. An error of the agent becomes `refused`, or `unauthorized` for its
 * code -32000. Anything else becomes `unreachable`, with the error as its cause. `what` begins the message.
 */
export function toReplyError(error: unknown, what: string): ReplyError {
  if (error instanceof ReplyError) return error
  if (!(error instanceof RequestError)) {
    const message = error instanceof Error ? error.message : String(error)
    return new ReplyError('unreachable', `${what} failed: ${message}. The agent may have ended.`, { cause: error })
  }
  const type = error.code === -32_000 ? 'unauthorized' : 'refused'
  const cure = type === 'unauthorized' ? ' Log in to the agent, or set authMethodID.' : ''
  return new ReplyError(type, `${what} failed: ${sentenceOf(error.message)} (JSON-RPC ${error.code}).${cure}`, {
    cause: error,
  })
}
