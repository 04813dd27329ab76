import { type Client, type Clock, connect, type OnError } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import { type Lease, withLease } from '@reply/sink/internal'
import type { LoadedConfig } from '../config/load.ts'
import type { BridgeConfig } from '../config/schema.ts'
import { BridgeError, messageOf } from '../error.ts'

/** A server or an agent of the config. */
export type ServerConfig = BridgeConfig['servers'][string]

/** `agentSource` of `@reply/agents`. */
type AgentSource = (
  agent: string,
  options: {
    readonly cwd: string | undefined
    readonly env: Readonly<Record<string, undefined>>
    readonly onError: OnError | undefined
  },
) => Source

export interface ConnectServerOptions {
  readonly secret: LoadedConfig['secret']
  /** Environment variables that hold the bridge's own secrets: an agent runs commands, so it doesn't get them. */
  readonly secretNames: readonly string[]
  readonly connectTimeoutMs: number
  /** Awaited before each request that changes something. Default: such requests are always made. */
  readonly hold?: Lease | undefined
  readonly clock: Clock
  readonly onError?: OnError | undefined
}

/** Connects to a server, or to an agent that is started. Rejects with `BridgeError` of type `config`. */
export async function connectServer(server: ServerConfig, options: ConnectServerOptions): Promise<Client> {
  const { secret, secretNames, hold, ...rest } = options
  const { url, agent, directory, username, password } = server
  if (agent !== undefined) {
    const env = Object.fromEntries(secretNames.map((name) => [name, undefined]))
    const source = (await loadAgents())(agent, { cwd: directory, env, onError: rest.onError })
    return connectSource(source, { ...rest, directory, firstFrameMs: rest.connectTimeoutMs })
  }
  const own = hold && { fetch: leasedFetch(hold) }
  return connect({ ...rest, ...own, url, directory, username, password: password && secret(password) })
}

/** A `fetch` whose requests that change something wait until they may be made. Those that only read never wait. */
export function leasedFetch(hold: Lease): typeof fetch {
  return async (input, init = {}) => {
    // The core gives whole requests.
    const request = input instanceof Request ? input : undefined
    if ((init.method ?? request?.method ?? 'GET') === 'GET') return await fetch(input, init)
    const own = init.signal ?? request?.signal
    const allowed = async (): Promise<AbortSignal> => await unlessAborted(hold(), own)
    return await withLease(allowed, own, (signal) => fetch(input, { ...init, signal }))
  }
}

/** Rejects when the signal aborts first: what waits to be sent is not sent then. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise
  signal.throwIfAborted()
  let leave = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave)
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

async function loadAgents(): Promise<AgentSource> {
  // Few bridges need it, so it is not installed with them.
  const name = '@reply/agents'
  try {
    const loaded: { readonly agentSource: AgentSource } = await import(name)
    return loaded.agentSource
  } catch (cause) {
    throw new BridgeError('config', `${name} could not be loaded: ${messageOf(cause)}. Install it to use agents.`, {
      cause,
    })
  }
}

/** The environment variables that a config names for secrets, wherever they stand. */
export function secretNamesIn(config: unknown): readonly string[] {
  if (typeof config !== 'object' || config === null) return []
  return Object.entries(config).flatMap(([key, value]) =>
    key === 'env' && typeof value === 'string' ? [value] : secretNamesIn(value),
  )
}
