import { noticeKinds } from '@reply/sink/channel'
import * as z from 'zod'
import { type FollowMode, followModes } from '../config/schema.ts'
import type { ChatPlace } from '../place.ts'
import { type Execution, type LogLine, phases, statuses } from './execution.ts'
import type { ForwardedPress, PressAnswer } from './forwarded-press.ts'
import type { QueuedPrompt } from './queued-prompt.ts'

/**
 * Parses a row or an entry of a queue. Throws if it isn't as the schema says. Returns it with the fields that the schema doesn't have:
 * a member of a newer version may have written them, and they would be lost once this one writes the row again.
 */
function rowAs<Row>(schema: z.ZodType<Row>, text: string): Row {
  const value: unknown = JSON.parse(text)
  schema.parse(value)
  return value as Row
}

/** See `Tried`. */
const tries = z.int().nonnegative()

/** Checks only the fields that all prompts and executions have, because this package wrote them. */
const prompt = z.object({
  id: z.string(),
  channel: z.string(),
  chat: z.object({ id: z.string() }),
  actor: z.object({ id: z.string() }),
  text: z.string(),
  files: z.array(z.object({})),
  messageRef: z.object({ id: z.string() }),
  receivedAt: z.number(),
  tries: tries.optional(),
})

const lines = z.array(z.object({ from: z.string(), text: z.string() }))

const execution = z.object({
  id: z.string(),
  phase: z.enum(phases),
  status: z.enum(statuses),
  server: z.string(),
  startedAt: z.number(),
  tries: tries.optional(),
  prompt,
})

/** Parses an execution. Throws if the text isn't one. Optional fields are not checked. */
export function toExecution(text: string): Execution {
  return rowAs<unknown>(execution, text) as Execution
}

/** Parses a log. Throws if the text isn't one. */
export function toLog(text: string): readonly LogLine[] {
  return rowAs<unknown>(lines, text) as readonly LogLine[]
}

/** Parses a prompt. Throws if the text isn't one. Optional fields are not checked. */
export function toQueuedPrompt(text: string): QueuedPrompt {
  return rowAs<unknown>(prompt, text) as QueuedPrompt
}

/** The server, session, agent and model of a place. People choose all of them but the server. */
export interface Route {
  /** The server's name in the config. */
  readonly server: string
  /** Absent before the first prompt, and after `/new`. */
  readonly sessionID?: string | undefined
  /** The title for the next session, from `/new`. */
  readonly title?: string | undefined
  readonly agent?: string | undefined
  readonly model?: { readonly providerID: string; readonly modelID: string } | undefined
  readonly isVerbose?: boolean | undefined
  /** What the chat shows of runs that were started elsewhere. Default: the config's `follow` of the server. */
  readonly follow?: FollowMode | undefined
}

/** A session that was used in a place. */
export interface UsedSession {
  readonly server: string
  readonly sessionID: string
  /** In ms since the epoch. */
  readonly usedAt: number
  /** The thread of the message, if the row belongs to one. */
  readonly thread?: string | undefined
}

const route = z.object({
  server: z.string(),
  sessionID: z.string().optional(),
  title: z.string().optional(),
  agent: z.string().optional(),
  model: z.object({ providerID: z.string(), modelID: z.string() }).optional(),
  isVerbose: z.boolean().optional(),
  follow: z.enum(followModes).optional(),
})

const used = z.object({
  server: z.string(),
  sessionID: z.string(),
  usedAt: z.number(),
  thread: z.string().optional(),
})

/** Identifies a session. */
export type SessionRef = Pick<UsedSession, 'server' | 'sessionID'>

/** Parses a route. Throws if the text isn't one. */
export function toRoute(text: string): Route {
  return rowAs(route, text)
}

/** Parses a used session. Throws if the text isn't one. */
export function toUsedSession(text: string): UsedSession {
  return rowAs(used, text)
}

const chat = z.object({
  id: z.string(),
  thread: z.string().optional(),
  isThread: z.literal(true).optional(),
  kind: z.enum(['private', 'shared']).optional(),
})

const sessionChat = z.object({ channel: z.string(), chat })

/** Parses the chat that works with a session. Throws if the text isn't one. */
export function toSessionChat(text: string): ChatPlace {
  return rowAs(sessionChat, text)
}

/** An answer that its chat may not show. Stored for 30 days, or until it is posted again. */
const delivery = z.readonly(
  z.object({
    type: z.literal('delivery'),
    /** The id of the run, as people see it. */
    id: z.string(),
    /** The channel's name in the config. */
    channel: z.string(),
    chat,
    /** The server's name in the config. */
    server: z.string(),
    /** Absent if it ended before it had a session. */
    sessionID: z.string().optional(),
    /** How many of its messages are missing. */
    missing: z.number(),
    /** Why the first of them is missing. */
    reason: z.string(),
    /** The whole answer, in Markdown. Empty if only files are missing. */
    text: z.string(),
    /** The missing files, and the folder of the session that they are from. */
    files: z
      .array(
        z.object({
          id: z.string(),
          mime: z.string(),
          /** Empty if it is the content, and too long to be stored. */
          url: z.string(),
          filename: z.string().optional(),
          caption: z.string().optional(),
        }),
      )
      .optional(),
    directory: z.string().optional(),
    /** In ms since the epoch. */
    at: z.number(),
    /** Whether the chat was informed, or is not to be. */
    isReported: z.literal(true).optional(),
    /** Whether informing the chat ended the process each time, so that it was given up. */
    isUntold: z.literal(true).optional(),
    /** How many processes tried to inform the chat, see `Tried`. */
    tries: tries.optional(),
  }),
)

/** A row of the state that could not be read, and was put aside. */
const row = z.readonly(
  z.object({
    type: z.literal('row'),
    /** The key of the row, or the name of its queue. */
    key: z.string(),
    /** Its id in the queue. Absent for a row that was not in a queue. */
    id: z.string().optional(),
    /** The unchanged value. */
    value: z.string(),
    /** Why it could not be read. */
    reason: z.string(),
    /** In ms since the epoch. */
    at: z.number(),
  }),
)

/** A message or run that was put aside, because the process ended each time it was handled. Stored for 30 days. */
const poison = z.readonly(
  z.object({
    type: z.literal('poison'),
    /** The name of the queue that had the message, or the key of the run. */
    key: z.string(),
    /** Its id in the queue. Absent for a run. */
    id: z.string().optional(),
    /** The unchanged value. */
    value: z.string(),
    /** How many processes handled it. */
    tries,
    /** In ms since the epoch. */
    at: z.number(),
  }),
)

/** What is known of a row that earlier processes handled, see `Tries`. Stored for a day. */
const suspicion = z.readonly(
  z.object({
    /** How long a process has outlived it, as the number of times that this doubled. */
    level: z.number().int().min(0),
    /** How many processes have ended that soon after they began it, less those that ended at other times. */
    points: z.number().int().min(0),
    /**
     * How far the process has come that handles it. `paused`: it is about to begin it. `begun`: it has begun it. `late`: its end
     * would count. Absent if it is not being handled.
     */
    stage: z.enum(['paused', 'begun', 'late']).optional(),
    /** The process that is at this stage. */
    by: z.string().optional(),
  }),
)

/** What is known of a row that earlier processes handled. */
export type Suspicion = z.infer<typeof suspicion>

/** Parses a suspicion. Throws if the text isn't one. */
export function toSuspicion(text: string): Suspicion {
  return rowAs(suspicion, text)
}

/** An answer that its chat may not show. */
export type FailedDelivery = z.infer<typeof delivery>
/** A row that was put aside because it could not be read. */
export type UnreadableRow = z.infer<typeof row>
/** A message or run that was put aside, because the process ended each time it was handled. */
export type PoisonRow = z.infer<typeof poison>

/** A failure that needs a person. */
export type Failure = FailedDelivery | UnreadableRow | PoisonRow

const failure = z.union([delivery, row, poison])

/** Parses a failure. Throws if the text isn't one. */
export function toFailure(text: string): Failure {
  return rowAs(failure, text)
}

/** Describes why a row can't be read, without its content: it is not JSON, or which field of it is wrong. */
export function faultOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'it is not JSON'
  if (error instanceof z.ZodError) {
    const [first] = error.issues
    const path = first?.path.join('.') ?? ''
    return path === '' ? 'it is not what was expected' : `its field "${path}" is not what was expected`
  }
  return 'it is not what was expected'
}

/** A notice that is not confirmed yet. Stored for an hour. */
const storedNotice = z.readonly(
  z.object({
    /** See `Notice.id`. */
    id: z.string(),
    kind: z.enum(noticeKinds),
    title: z.string(),
    text: z.string(),
    link: z.string().optional(),
    /** The channel for notices, by its name in the config. */
    to: z.string(),
    /** The run that it is about, and the channel and chat of that run. */
    executionID: z.string(),
    channel: z.string(),
    chat: z.object({ id: z.string(), thread: z.string().optional() }),
    /** The ask that it is about. Absent for the end of a run. */
    requestID: z.string().optional(),
    /** In ms since the epoch. */
    at: z.number(),
    /** Set while a call may be under way. */
    isBegun: z.literal(true).optional(),
    /** How many calls had no result. */
    doubtful: z.number(),
  }),
)

/** A notice that is not confirmed yet. */
export type StoredNotice = z.infer<typeof storedNotice>

/** Parses a stored notice. Throws if the text isn't one. */
export function toStoredNotice(text: string): StoredNotice {
  return rowAs(storedNotice, text)
}

/**
 * Parses what is stored of the message that tells that an ask waits: how many posts of it have no result, or `told` if none is to be
 * made any more. Throws if the text is neither.
 */
export function toHint(text: string): number | 'told' {
  return rowAs(z.union([z.number().int().min(1), z.literal('told')]), text)
}

/** A permission that a person always allowed. */
const grant = z.readonly(
  z.object({
    /** Short and unique. */
    id: z.string(),
    /** The server's name in the config. */
    server: z.string(),
    /** See `PermissionAsk.permission`. */
    permission: z.string(),
    /** The patterns that it covers: the ask's `always`. */
    patterns: z.readonly(z.array(z.string())),
    /** Who allowed it: the channel's name in the config, the id and name on its platform. */
    by: z.readonly(z.object({ channel: z.string(), actorID: z.string(), name: z.string() })),
    /** In ms since the epoch. */
    at: z.number(),
    /** Whether the server confirmed it. */
    isConfirmed: z.boolean(),
  }),
)

/** A permission that a person always allowed. */
export type Grant = z.infer<typeof grant>

/** Parses a grant. Throws if the text isn't one. */
export function toGrant(text: string): Grant {
  return rowAs(grant, text)
}

const forwardedPress = z.object({
  id: z.string(),
  member: z.string(),
  channel: z.string(),
  inbound: z.object({
    type: z.enum(['press', 'stop', 'page']),
    chat: z.object({ id: z.string() }),
    actor: z.object({ id: z.string() }),
  }),
})

const pressAnswer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('claimed') }),
  z.object({ type: z.literal('refused') }),
  z.object({ type: z.literal('answered'), text: z.string().optional() }),
  z.object({ type: z.literal('open'), form: z.object({ token: z.string() }) }),
])

/** Parses a press that a member forwarded. Throws if the text isn't one. Optional fields are not checked. */
export function toForwardedPress(text: string): ForwardedPress {
  return rowAs<unknown>(forwardedPress, text) as ForwardedPress
}

/** Returns the server and the session in the key of a session that was handed to a shard. Throws if the key isn't one. */
export function toWoken(key: string): { readonly server: string; readonly sessionID: string } {
  const [, server, sessionID] = key.split('/').map(decodeURIComponent)
  if (!server || !sessionID) throw new Error('Its key names no session.')
  return { server, sessionID }
}

/** Parses the answer to a forwarded press. Throws if the text isn't one. The fields of a form are not checked. */
export function toPressAnswer(text: string): PressAnswer {
  return rowAs<unknown>(pressAnswer, text) as PressAnswer
}

const sharedFact = z.object({ channel: z.string(), fact: z.unknown() })

/** Parses a fact that a member shared, see `Facts`. Throws if the text isn't one. The channel checks the fact itself. */
export function toSharedFact(text: string): z.infer<typeof sharedFact> {
  return rowAs(sharedFact, text)
}

/** The schemas of rows with fields that are kept for longer than a minute, by the beginnings of their keys or queues. */
export const rowSchemas = {
  'execution/': execution,
  'newest/': execution,
  'page/': execution,
  'stopping/': execution,
  'log/': lines,
  'route/': route,
  'session/': used,
  'message/': used,
  'session-chat/': sessionChat,
  'allowed/': grant,
  'notice/': storedNotice,
  'suspect/': suspicion,
  'failed/': failure,
  'unknown/': prompt,
  'inbox/': prompt,
  'prompts/': prompt,
  'backlog/': prompt,
} as const
