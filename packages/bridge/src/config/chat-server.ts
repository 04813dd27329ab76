import { type ChatPlace, entryFor } from '../place.ts'

/** The names of the servers, and the `routes` of a config from `parseConfig`. */
export interface ChatServers {
  readonly servers: readonly string[]
  readonly routes: Readonly<Record<string, string>>
  /** As in `ChatMigrations`. */
  readonly withFirstID?: ((place: ChatPlace) => ChatPlace) | undefined
}

/**
 * Returns the server that a place uses by `routes`. If the config has no routes at all, returns its only server. Undefined
 * otherwise.
 */
export function serverOfChat({ servers, routes, withFirstID }: ChatServers, place: ChatPlace): string | undefined {
  const server = entryFor(routes, place, withFirstID)
  if (server !== undefined) return server
  return servers.length === 1 && Object.keys(routes).length === 0 ? servers[0] : undefined
}
