import { connect as dial } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Clock } from '@reply/core'
import { requireApart } from '../config/load.ts'
import { agUiAgent, type BridgeConfig, isLoopback } from '../config/schema.ts'
import { BridgeError } from '../error.ts'
import { connectServer, type ServerConfig, secretNamesIn } from './connect.ts'

/**
 * Returns a non-loopback address at which a server with a loopback URL responds without a password or token, so that everyone on
 * the network can use it. Undefined if there is none.
 */
export async function exposedAt(options: {
  /**
   * The address of the server. Only a loopback address is checked, because the config requires a password or token for others.
   */
  readonly url: string
  /** The agent that listens there. Default: none, it is an OpenCode server. */
  readonly agent?: string | undefined
  readonly clock: Clock
  /** Addresses of this computer that others can reach. Default: those of the network interfaces. */
  readonly addresses?: readonly string[] | undefined
  /** How long the check of one address may take, in ms. Default: 1000. */
  readonly timeoutMs?: number | undefined
}): Promise<string | undefined> {
  const { url, agent, clock, addresses = reachableAddresses(), timeoutMs = 1000 } = options
  const { hostname, port, protocol } = new URL(url)
  if (!isLoopback(hostname)) return undefined
  const portNumber = Number(port || (/^(https|wss):$/.test(protocol) ? 443 : 80))
  const found = await Promise.all(
    addresses.map(async (address) => {
      if (!(await isListening(address, portNumber, timeoutMs, clock))) return undefined
      const other = new URL(url)
      other.hostname = address.includes(':') ? `[${address}]` : address
      const unused = { secret: () => '', secretNames: [] }
      const client = await connectServer({ url: other.href, agent }, { ...unused, connectTimeoutMs: timeoutMs, clock })
      try {
        await client.ready
        return `${other.protocol}//${other.host}`
      } catch {
        // It requires a password, or another program listens there.
        return undefined
      } finally {
        await client.close()
      }
    }),
  )
  return found.find((one) => one !== undefined)
}

/** Rejects with a `BridgeError` of type `config` if others on the network can use a server without a password. */
export async function requireUnexposed(
  server: Pick<ServerConfig, 'url' | 'agent' | 'password' | 'token'>,
  clock: Clock,
): Promise<void> {
  const { url, agent, password, token } = server
  const address = password || token || url === undefined ? undefined : await exposedAt({ url, agent, clock })
  if (address === undefined) return
  const { field, start } = lockOf(server)
  throw new BridgeError(
    'config',
    `Anyone on the network can use the server ${url}: it responds at ${address} without a ${field}. Make it listen on 127.0.0.1 only, or start it with ${start} and set its \`${field}\` in the config.`,
  )
}

/** Returns the field of the config that keeps others from using a server, and what the server is started with for that. */
function lockOf({ agent }: Pick<ServerConfig, 'agent'>): { readonly field: string; readonly start: string } {
  if (agent === agUiAgent) return { field: 'token', start: 'a check of `authorization: Bearer <token>`' }
  return agent === undefined
    ? { field: 'password', start: 'OPENCODE_SERVER_PASSWORD' }
    : { field: 'token', start: '`--ws-auth capability-token --ws-token-file <file>`' }
}

/**
 * Returns the addresses of this computer's network interfaces that others can reach, without internal and link-local IPv6 ones.
 */
function reachableAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.flatMap(({ internal, address, scopeid }) => (internal || scopeid ? [] : [address]))
}

/**
 * Whether something accepts a connection on a port within `timeoutMs`. Never rejects. This spares most addresses a client and a
 * request.
 */
async function isListening(host: string, port: number, timeoutMs: number, clock: Clock): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = dial({ host, port })
    const end = (isOpen: boolean): void => {
      stopTimer()
      socket.destroy()
      resolve(isOpen)
    }
    const stopTimer = clock.after(timeoutMs, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}

/** Rejects with a `BridgeError` of type `config` if it is not safe to prompt a server in a directory. */
export type RequireSafe = (server: string, directory: string | undefined) => Promise<void>

/**
 * Returns a function that rejects if a prompt is not safe on a server. It checks the server right before each prompt until
 * the check passes once, because a server may start after the bridge. It checks the directory for each prompt, because each
 * session may work in another one, and skips that without a directory. It accepts a name that the config does not have.
 */
export function createRequireSafe({
  servers,
  ownPaths,
  clock,
  checkExposure = requireUnexposed,
}: {
  readonly servers: BridgeConfig['servers']
  /** See `LoadedConfig.ownPaths`. */
  readonly ownPaths: readonly string[]
  readonly clock: Clock
  /** Default: `requireUnexposed`. */
  readonly checkExposure?: typeof requireUnexposed | undefined
}): RequireSafe {
  const safe = new Set<string>()
  return async (name, directory) => {
    const server = servers[name]
    if (!server) return
    if (directory !== undefined) requireApart(`The directory ${directory} of a session on ${name}`, directory, ownPaths)
    if (safe.has(name)) return
    await checkExposure(server, clock)
    safe.add(name)
  }
}

/**
 * Returns warnings for the operator about a server of the config: it has no password or token, its agent can read the bridge's secrets
 * in the environment, or people without `approve` can run commands there. Empty if there are none. Contains no secrets.
 */
export function warningsOf(config: BridgeConfig, name: string): readonly string[] {
  const { url, password, token, agent } = config.servers[name] ?? {}
  const { field, start } = lockOf({ agent })
  const names = secretNamesIn(config)
  const people = Object.keys(config.people).filter((one) => !config.people[one]?.may.includes('approve'))
  return [
    ...(url !== undefined && !password && !token && isLoopback(new URL(url).hostname)
      ? [
          `Every program and user of this computer can use ${url}, because it has no ${field}. Start the server with ${start}, and set its \`${field}\` in the config.`,
        ]
      : []),
    ...(url === undefined && agent !== undefined && names.length > 0
      ? [
          `The agent of ${name} runs as the same user, so commands that it runs can read ${names.join(', ')} in this process's environment (/proc). Put these secrets into files outside its folder: { "file": "…" }.`,
        ]
      : []),
    ...(config.servers[name]?.trustPrompt && people.length > 0
      ? [`trustPrompt: ${people.join(', ')} can run commands on ${name} without approval.`]
      : []),
  ]
}
