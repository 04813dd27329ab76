import { connect as dial } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Clock, connect } from '@reply/core'
import { requireApart } from '../config/load.ts'
import { type BridgeConfig, isLoopback } from '../config/schema.ts'
import { BridgeError } from '../error.ts'
import { secretNamesIn } from './connect.ts'

/**
 * Returns a non-loopback address at which a server with a loopback URL responds without a password, so that everyone on the
 * network can use it. Undefined if there is none.
 */
export async function exposedAt(options: {
  /** The address of the server. Only a loopback address is checked, because the config requires a password for others. */
  readonly url: string
  readonly clock: Clock
  /** Addresses of this computer that others can reach. Default: those of the network interfaces. */
  readonly addresses?: readonly string[] | undefined
  /** How long the check of one address may take, in ms. Default: 1000. */
  readonly timeoutMs?: number | undefined
}): Promise<string | undefined> {
  const { url, clock, addresses = reachableAddresses(), timeoutMs = 1000 } = options
  const { hostname, port, protocol } = new URL(url)
  if (!isLoopback(hostname)) return undefined
  const portNumber = Number(port || (protocol === 'https:' ? 443 : 80))
  const found = await Promise.all(
    addresses.map(async (address) => {
      if (!(await isListening(address, portNumber, timeoutMs, clock))) return undefined
      const other = new URL(url)
      other.hostname = address.includes(':') ? `[${address}]` : address
      const client = connect({ url: other.href, connectTimeoutMs: timeoutMs, clock })
      try {
        await client.ready
        return other.origin
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
  server: Pick<BridgeConfig['servers'][string], 'url' | 'password'>,
  clock: Clock,
): Promise<void> {
  const { url, password } = server
  const address = password || url === undefined ? undefined : await exposedAt({ url, clock })
  if (address === undefined) return
  throw new BridgeError(
    'config',
    `Anyone on the network can use the server ${url}: it responds at ${address} without a password. Make it listen on 127.0.0.1 only, or start it with OPENCODE_SERVER_PASSWORD and set its \`password\` in the config.`,
  )
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
 * Returns warnings for the operator about a server of the config: it has no password, its agent can read the bridge's secrets
 * in the environment, or people without `approve` can run commands there. Empty if there are none. Contains no secrets.
 */
export function warningsOf(config: BridgeConfig, name: string): readonly string[] {
  const { url, password, agent } = config.servers[name] ?? {}
  const names = secretNamesIn(config)
  const people = Object.keys(config.people).filter((one) => !config.people[one]?.may.includes('approve'))
  return [
    ...(url !== undefined && !password && isLoopback(new URL(url).hostname)
      ? [
          `Every program and user of this computer can use ${url}, because it has no password. Start the server with OPENCODE_SERVER_PASSWORD, and set its \`password\` in the config.`,
        ]
      : []),
    ...(agent !== undefined && names.length > 0
      ? [
          `The agent of ${name} runs as the same user, so commands that it runs can read ${names.join(', ')} in this process's environment (/proc). Put these secrets into files outside its folder: { "file": "…" }.`,
        ]
      : []),
    ...(config.servers[name]?.trustPrompt && people.length > 0
      ? [`trustPrompt: ${people.join(', ')} can run commands on ${name} without approval.`]
      : []),
  ]
}
