import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../terminal/surface.ts'

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
 * Returns the server's address: that of the option, else of `OPENCODE_URL`, else of OpenCode 2's service if it runs, else the
 * default. Credentials in the URL take precedence. The service's password is only sent to the service, and the environment's
 * to any other server.
 */
export function addressOf({ url: option }: ServerOptions, env: Environment): ServerAddress {
  const service = managedService(env)
  const url = option ?? (env.OPENCODE_URL || (service?.url ?? DEFAULT_URL))
  if (URL.canParse(url) && new URL(url).password !== '') return { url }
  if (service && isSameServer(url, service.url)) return { url, password: service.password }
  const { OPENCODE_SERVER_USERNAME: username } = env
  const password = env.OPENCODE_PASSWORD || env.OPENCODE_SERVER_PASSWORD
  return { url, ...(password && { password }), ...(username && { username }) }
}

/** Returns the server's URL without credentials. */
export function shownUrl(options: ServerOptions, env: Environment): string {
  return addressOf(options, env).url.replace(/\/\/[^/\s@]+@/, '//')
}

/** Returns the passwords that no message may contain. Those with fewer than three characters would remove ordinary text. */
export function passwordsOf(env: Environment): readonly string[] {
  const all = [env.OPENCODE_PASSWORD, env.OPENCODE_SERVER_PASSWORD, managedService(env)?.password]
  return all.flatMap((password) => (password !== undefined && password.length >= 3 ? [password] : []))
}

/** Whether both URLs have the same origin. False if `a` isn't a URL. */
function isSameServer(a: string, b: string): boolean {
  return URL.canParse(a) && new URL(a).origin === new URL(b).origin
}

/** The server that `opencode` 2 keeps running in the background. */
interface ManagedService {
  readonly url: string
  readonly password: string
}

/** Returns the service whose process is alive. Undefined if none is registered, or if the file can't be read. */
function managedService(env: Environment): ManagedService | undefined {
  const file = registrationOf(env)
  if (file === undefined) return undefined
  try {
    const { url, password, pid }: Readonly<Record<string, unknown>> = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof url !== 'string' || typeof password !== 'string' || typeof pid !== 'number') return undefined
    return URL.canParse(url) && isAlive(pid) ? { url, password } : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the file in which OpenCode 2 writes `{id, version, url, pid, password}`: in `XDG_STATE_HOME`, or else in
 * `.local/state` of the home folder. Undefined without both.
 */
function registrationOf({ XDG_STATE_HOME, HOME, USERPROFILE }: Environment): string | undefined {
  const home = HOME || USERPROFILE
  const state = XDG_STATE_HOME || (home && join(home, '.local', 'state'))
  return state ? join(state, 'opencode', 'service.json') : undefined
}

/** Whether a process with this id runs, also as another user. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
