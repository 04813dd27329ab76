import * as z from 'zod'
import { type Execution, type LogLine, phases, statuses } from './execution.ts'
import type { QueuedPrompt } from './queued-prompt.ts'

/** Checks what every prompt and execution has: the store holds what this package wrote, unless it was damaged. */
const prompt = z.looseObject({
  id: z.string(),
  channel: z.string(),
  chat: z.looseObject({ id: z.string() }),
  actor: z.looseObject({ id: z.string() }),
  text: z.string(),
  files: z.array(z.looseObject({})),
  messageRef: z.looseObject({ id: z.string() }),
  receivedAt: z.number(),
})

const lines = z.array(z.looseObject({ from: z.string(), text: z.string() }))

const execution = z.looseObject({
  id: z.string(),
  phase: z.enum(phases),
  status: z.enum(statuses),
  server: z.string(),
  startedAt: z.number(),
  prompt,
})

/** Throws if the text isn't an execution. */
export function toExecution(text: string): Execution {
  const value: unknown = JSON.parse(text)
  execution.parse(value)
  return value as Execution
}

/** Throws if the text isn't a log. */
export function toLog(text: string): readonly LogLine[] {
  const value: unknown = JSON.parse(text)
  lines.parse(value)
  return value as readonly LogLine[]
}

/** Throws if the text isn't a prompt. */
export function toQueuedPrompt(text: string): QueuedPrompt {
  const value: unknown = JSON.parse(text)
  prompt.parse(value)
  return value as QueuedPrompt
}

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

/** An answer that its chat does not show, or may not show. It is kept for 30 days, or until it is posted again. */
const delivery = z.readonly(
  z.object({
    type: z.literal('delivery'),
    /** The id that people know the run by. */
    id: z.string(),
    /** The channel's name in the config. */
    channel: z.string(),
    chat: z.object({
      id: z.string(),
      thread: z.string().optional(),
      isThread: z.literal(true).optional(),
      kind: z.enum(['private', 'shared']).optional(),
    }),
    /** The server's name in the config. */
    server: z.string(),
    /** Absent if it ended before it had a session. */
    sessionID: z.string().optional(),
    /** How many of its messages are missing. */
    missing: z.number(),
    /** Why the first of them is. */
    reason: z.string(),
    /** The whole answer, in Markdown. */
    text: z.string(),
    /** In ms since the epoch. */
    at: z.number(),
    /** Whether the chat was informed. */
    isReported: z.literal(true).optional(),
  }),
)

/** A row of the state that could not be read, and was taken out of the way. */
const row = z.readonly(
  z.object({
    type: z.literal('row'),
    /** Where it was: its key, or the name of its queue. */
    key: z.string(),
    /** Its id in the queue. Absent for a row that was not in one. */
    id: z.string().optional(),
    /** As it was. */
    value: z.string(),
    /** What is wrong with it. */
    reason: z.string(),
    /** In ms since the epoch. */
    at: z.number(),
  }),
)

export type FailedDelivery = z.infer<typeof delivery>
export type UnreadableRow = z.infer<typeof row>

/** What failed for good. */
export type Failure = FailedDelivery | UnreadableRow

/** Throws if the text isn't a failure. */
export function toFailure(text: string): Failure {
  return z.union([delivery, row]).parse(JSON.parse(text))
}

/** What is wrong with a row, without what is in it. */
export function faultOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'it is not JSON'
  if (error instanceof z.ZodError) {
    const [first] = error.issues
    const path = first?.path.join('.') ?? ''
    return path === '' ? 'it is not what was expected' : `its field "${path}" is not what was expected`
  }
  return 'it is not what was expected'
}

/** What a person allowed for always. */
const grant = z.readonly(
  z.object({
    /** Short and unique. */
    id: z.string(),
    /** The server's name in the config. */
    server: z.string(),
    /** As `PermissionAsk.permission`. */
    permission: z.string(),
    /** What it covers: the ask's `always`. */
    patterns: z.readonly(z.array(z.string())),
    /** Who allowed it: the channel's name in the config, the id and name on its platform. */
    by: z.readonly(z.object({ channel: z.string(), actorID: z.string(), name: z.string() })),
    /** In ms since the epoch. */
    at: z.number(),
    /** Whether the server is known to have it. */
    isConfirmed: z.boolean(),
  }),
)

export type Grant = z.infer<typeof grant>

/** Throws if the text isn't a grant. */
export function toGrant(text: string): Grant {
  return grant.parse(JSON.parse(text))
}
