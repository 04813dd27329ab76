import type { Environment } from '../terminal/surface.ts'

export const DEFAULT_URL = 'http://127.0.0.1:4096'

/** The server, and the project on it. */
export interface ServerOptions {
  /** Default: `OPENCODE_URL` of the environment, else `DEFAULT_URL`. */
  readonly url?: string | undefined
  readonly directory?: string | undefined
}

export function urlOf({ url }: ServerOptions, env: Environment): string {
  return url ?? (env.OPENCODE_URL || DEFAULT_URL)
}

/** The URL without its credentials. */
export function shownUrl(options: ServerOptions, env: Environment): string {
  return urlOf(options, env).replace(/\/\/[^/\s@]+@/, '//')
}

/** Credentials from the environment. Empty for a URL that has its own. */
export function credentialsOf(
  url: string,
  env: Environment,
): { readonly username?: string; readonly password?: string } {
  if (URL.canParse(url) && new URL(url).password !== '') return {}
  const { OPENCODE_SERVER_PASSWORD: password, OPENCODE_SERVER_USERNAME: username } = env
  return { ...(password && { password }), ...(username && { username }) }
}
