import type { Environment } from '../terminal/surface.ts'
import { managedService } from './managed-service.ts'

export const DEFAULT_URL = 'http://127.0.0.1:4096'

/** The server, and the project on it. */
export interface ServerOptions {
  /** Default: `OPENCODE_URL` of the environment, else OpenCode 2's service if it runs, else `DEFAULT_URL`. */
  readonly url?: string | undefined
  readonly directory?: string | undefined
  /** An agent to start instead: a name, or a command line. */
  readonly via?: string | undefined
}

/** Where a server is, and how to log in. */
export interface ServerAddress {
  readonly url: string
  readonly username?: string
  readonly password?: string
}

/**
 * The server's address. A URL's own credentials take precedence; the service's password goes to the service alone, and
 * the environment's to any other server.
 */
export function addressOf({ url: given }: ServerOptions, env: Environment): ServerAddress {
  const service = managedService(env)
  const url = given ?? (env.OPENCODE_URL || (service?.url ?? DEFAULT_URL))
  if (URL.canParse(url) && new URL(url).password !== '') return { url }
  if (service && isSameServer(url, service.url)) return { url, password: service.password }
  const { OPENCODE_SERVER_USERNAME: username } = env
  const password = env.OPENCODE_PASSWORD || env.OPENCODE_SERVER_PASSWORD
  return { url, ...(password && { password }), ...(username && { username }) }
}

/** The URL without its credentials. */
export function shownUrl(options: ServerOptions, env: Environment): string {
  return addressOf(options, env).url.replace(/\/\/[^/\s@]+@/, '//')
}

/** Passwords that no message may contain. */
export function passwordsOf(env: Environment): readonly string[] {
  const all = [env.OPENCODE_PASSWORD, env.OPENCODE_SERVER_PASSWORD, managedService(env)?.password]
  return all.flatMap((password) => (password !== undefined && password.length >= 3 ? [password] : []))
}

function isSameServer(a: string, b: string): boolean {
  return URL.canParse(a) && new URL(a).origin === new URL(b).origin
}
