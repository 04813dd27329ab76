import * as z from 'zod'

/** What a place works with. Everything but the server is chosen by people. */
export interface Route {
  /** The server's name in the config. */
  readonly server: string
  /** Absent until a first prompt began one, and after `/new`. */
  readonly sessionID?: string | undefined
  /** The title that `/new` gave to the session to come. */
  readonly title?: string | undefined
  readonly agent?: string | undefined
  readonly model?: { readonly providerID: string; readonly modelID: string } | undefined
  readonly isVerbose?: boolean | undefined
}

/** A session that was used in a place. */
export interface UsedSession {
  readonly server: string
  readonly sessionID: string
  /** In ms since the epoch. */
  readonly usedAt: number
  /** With a message: the thread that it is in. */
  readonly thread?: string | undefined
}

const route = z.object({
  server: z.string(),
  sessionID: z.string().optional(),
  title: z.string().optional(),
  agent: z.string().optional(),
  model: z.object({ providerID: z.string(), modelID: z.string() }).optional(),
  isVerbose: z.boolean().optional(),
})

const used = z.object({
  server: z.string(),
  sessionID: z.string(),
  usedAt: z.number(),
  thread: z.string().optional(),
})

/** A session, as others name it. */
export type SessionRef = Pick<UsedSession, 'server' | 'sessionID'>

/** Throws if the text isn't a route. */
export function toRoute(text: string): Route {
  return route.parse(JSON.parse(text))
}

/** Throws if the text isn't a used session. */
export function toUsedSession(text: string): UsedSession {
  return used.parse(JSON.parse(text))
}
