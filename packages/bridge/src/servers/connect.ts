import { type Client, type Clock, connect, type OnError } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import { type Lease, withLease } from '@reply/sink/internal'
import type { LoadedConfig } from '../config/load.ts'
import { agUiAgent, type BridgeConfig } from '../config/schema.ts'
import { BridgeError, messageOf } from '../error.ts'
import { callPermit } from './lease-context.ts'

/** A server or an agent of the config. */
export type ServerConfig = BridgeConfig['servers'][string]

/** A program with tools, as the Agent Client Protocol has it. */
interface McpServer {
  readonly name: string
  readonly command: string
  readonly args: string[]
  readonly env: { readonly name: string; readonly value: string }[]
}

/** `agentSource` of `@reply/agents`. */
type AgentSource = (
  agent: string,
  options: {
    readonly cwd: string | undefined
    readonly env?: Readonly<Record<string, undefined>> | undefined
    readonly url?: string | undefined
    readonly token?: string | undefined
    readonly beforeChange?: (() => Promise<void>) | undefined
    readonly mcpServers?: readonly McpServer[] | undefined
    readonly onError: OnError | undefined
  },
) => Source

/** `agUi` of `@reply/ag-ui`. */
type AgUi = (options: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch | undefined
  readonly keepsThreads: boolean | undefined
  readonly onError: OnError | undefined
}) => Source

/** Options of `connectServer`. */
export interface ConnectServerOptions {
  readonly secret: LoadedConfig['secret']
  /** Environment variables with the bridge's own secrets. An agent does not inherit them, because it runs commands. */
  readonly secretNames: readonly string[]
  readonly connectTimeoutMs: number
  /**
   * Awaited before each request that changes something and is made for no shard, see `withLeasedCalls`. Default: such requests
   * are sent immediately.
   */
  readonly whenHeld?: Lease | undefined
  readonly clock: Clock
  readonly onError?: OnError | undefined
}

/**
 * Connects to a server or to an agent that runs already, or starts an agent without the environment variables in `secretNames`.
 * Does not wait until it responds.
 * Rejects with a `BridgeError` of type `config` if a secret is missing, or if `@reply/agents` or `@reply/ag-ui` can't be loaded.
 */
export async function connectServer(server: ServerConfig, options: ConnectServerOptions): Promise<Client> {
  const { secret, secretNames, whenHeld, ...rest } = options
  const { url, agent, directory, username, password, token } = server
  // One of the members watches the server, see `ServerWatches`.
  const follow = 'own'
  if (agent === agUiAgent && url !== undefined) {
    const { agUi } = await loadPackage<{ readonly agUi: AgUi }>('@reply/ag-ui')
    const source = agUi({
      url,
      headers: token ? { authorization: `Bearer ${secret(token)}` } : {},
      ...(whenHeld && { fetch: callFetch(whenHeld) }),
      keepsThreads: server.keepsThreads,
      onError: rest.onError,
    })
    return connectSource(whenHeld ? leasedSource(source, whenHeld) : source, { ...rest, directory })
  }
  if (agent !== undefined && url !== undefined) {
    const beforeChange = whenHeld && (async () => await mayChange(whenHeld))
    const listening = { cwd: directory, url, token: token && secret(token), beforeChange, onError: rest.onError }
    const source = (await loadAgents()).agentSource(agent, listening)
    // Other members use the same agent.
    return connectSource(whenHeld ? leasedSource(source, whenHeld) : source, { ...rest, follow, directory })
  }
  if (agent !== undefined) {
    const env = Object.fromEntries(secretNames.map((name) => [name, undefined]))
    const mcpServers = Object.entries(server.mcpServers ?? {}).map(([name, [command, ...args]]) => {
      return { name, command, args, env: [] }
    })
    const { agentSource } = await loadAgents()
    const source = agentSource(agent, { cwd: directory, env, mcpServers, onError: rest.onError })
    return connectSource(source, { ...rest, directory, firstFrameMs: rest.connectTimeoutMs })
  }
  const own = whenHeld && { fetch: callFetch(whenHeld) }
  return connect({ ...rest, ...own, follow, url, directory, username, password: password && secret(password) })
}

/** Returns a `fetch` for all shards: `leasedFetch` with the permit of the call that makes the request. */
function callFetch(whenHeld: Lease): typeof fetch {
  return async (input, init) => {
    // Read now: right before the first byte is sent, the current code is part of another call.
    const permit = callPermit(whenHeld)
    return await leasedFetch(permit.whenHeld, permit.onSend)(input, init)
  }
}

/** Methods of requests that change nothing. */
const readMethods: ReadonlySet<string> = new Set(['GET', 'OPTIONS'])

/**
 * Returns a `fetch` that waits for the lease before each request, except for GET and OPTIONS requests, and again right before the first byte
 * is sent: a process may be suspended while it connects, and another one take over meanwhile. It aborts the request when the
 * lease ends, and rejects without sending it if the caller's signal aborts first. `onSend` is called right before the request is
 * sent.
 */
export function leasedFetch(whenHeld: Lease, onSend: () => void = () => {}): typeof fetch {
  return async (input, init = {}) => {
    // The core passes `Request` objects.
    const request = new Request(input, init)
    if (readMethods.has(request.method)) return await fetch(input, init)
    const { url, method, headers, redirect, signal: callerSignal } = request
    const sent = { method, headers, redirect }
    const bytes = new Uint8Array(await request.arrayBuffer())
    let permitted: AbortSignal | undefined
    const allowed = async (): Promise<AbortSignal> => {
      permitted = await unlessAborted(whenHeld(), callerSignal)
      return permitted
    }
    let isSent = false
    const send = (): void => {
      isSent = true
      onSend()
    }
    return await withLease(allowed, callerSignal, async (signal) => {
      let refusal: unknown
      const permit = async (): Promise<void> => {
        try {
          await allowed()
          send()
        } catch (error) {
          refusal = error
          throw error
        }
      }
      try {
        if (bytes.length > 0)
          return await fetch(url, { ...sent, signal, body: readOnDemand(bytes, permit), duplex: 'half' })
        send()
        return await fetch(url, { ...sent, signal })
      } catch (error) {
        if (refusal !== undefined) throw refusal
        throw permitted?.aborted && !callerSignal.aborted ? cutOffError(permitted.reason, isSent) : error
      }
    })
  }
}

/**
 * Resolves when a message that changes something may be sent, for the call that the current code is part of. Await it right before
 * that: since the call began, the process may have been suspended, and another one have taken over.
 */
async function mayChange(whenHeld: Lease): Promise<void> {
  const permit = callPermit(whenHeld)
  await permit.whenHeld()
  permit.onSend()
}

/** The calls of a source that change something. */
const changingCalls: ReadonlySet<string | symbol> = new Set<keyof Source>([
  ...(['create', 'prompt', 'command', 'withdraw', 'answer', 'reject', 'abort'] as const),
  ...(['removeRule', 'fork', 'revert', 'unrevert', 'compact'] as const),
])

/**
 * Returns the source, whose calls that change something wait for the lease of their shard, or for `whenHeld`, before they begin. They
 * reject with its error if another process has it. Each of their requests asks for it again, see `mayChange`.
 */
export function leasedSource(source: Source, whenHeld: Lease): Source {
  return new Proxy(source, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function' || !changingCalls.has(name)) return member
      return async (...given: readonly unknown[]): Promise<unknown> => {
        await callPermit(whenHeld).whenHeld()
        return await Reflect.apply(member, target, given)
      }
    },
  })
}

/**
 * Returns the error of a request that the lease aborted, as Node's errors are of a connection that breaks, or is never made if the
 * request was not sent. The core then tries it again if it can't do harm.
 */
function cutOffError(reason: unknown, isSent: boolean): Error {
  const error = new Error(messageOf(reason), { cause: reason })
  return Object.assign(error, isSent ? { code: 'ECONNRESET' } : { syscall: 'connect' })
}

/**
 * Yields the bytes once `permit` resolves. `fetch` asks for them when it is connected, and sends its headers together with them.
 * It would read a stream before that.
 */
async function* readOnDemand(bytes: Uint8Array, permit: () => Promise<void>): AsyncIterable<Uint8Array> {
  await permit()
  yield bytes
}

/** Resolves as the promise does. Rejects if the signal aborts first, so that a waiting request is not sent. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise
  signal.throwIfAborted()
  let rejectAborted = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    rejectAborted = () => reject(signal.reason)
    signal.addEventListener('abort', rejectAborted)
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', rejectAborted)
  }
}

/** Imports `@reply/agents`. */
async function loadAgents(): Promise<{ readonly agentSource: AgentSource }> {
  return await loadPackage('@reply/agents')
}

/** Imports a package of agents. Rejects with a `BridgeError` if it is not installed. */
async function loadPackage<T>(name: string): Promise<T> {
  // Not a dependency, because few bridges need it.
  try {
    const loaded: T = await import(name)
    return loaded
  } catch (cause) {
    throw new BridgeError('config', `${name} could not be loaded: ${messageOf(cause)}. Install it to use agents.`, {
      cause,
    })
  }
}

/**
 * Returns the environment variables that a config names for secrets, in any field `env`, because agents must not inherit them.
 * Empty for a value that is not an object.
 */
export function secretNamesIn(config: unknown): readonly string[] {
  if (typeof config !== 'object' || config === null) return []
  return Object.entries(config).flatMap(([key, value]) =>
    key === 'env' && typeof value === 'string' ? [value] : secretNamesIn(value),
  )
}
