import type { SessionInfo } from '@reply/core/source'
import * as z from 'zod'

const thread = z.object({
  id: z.string(),
  cwd: z.string().optional(),
  name: z.string().nullish(),
  /** The beginning of its first prompt. */
  preview: z.string().default(''),
  /** In seconds since the epoch. */
  createdAt: z.number().optional(),
  updatedAt: z.number().optional(),
  parentThreadId: z.string().nullish(),
})

const turn = z.object({
  id: z.string(),
  status: z.string(),
  error: z.object({ message: z.string() }).nullish(),
  /** In seconds since the epoch. */
  startedAt: z.number().nullish(),
  /** Absent if it has not ended, and if its process was killed. */
  completedAt: z.number().nullish(),
  items: z.array(z.unknown()).default([]),
})

/** A turn of the past, or the one that is going on. */
export type CodexTurn = z.infer<typeof turn>

const ofThread = z.object({ thread })
const ofTurn = z.object({ turn: z.object({ id: z.string() }) })
const about = z.object({ threadId: z.string() })
const loaded = z.object({ data: z.array(z.string()) })
const withStatus = z.object({ thread: z.object({ status: z.object({ activeFlags: z.array(z.string()) }) }) })
const resumed = z.object({ thread: z.object({ turns: z.array(turn).default([]) }) })
const threads = z.object({ data: z.array(z.unknown()), nextCursor: z.string().nullish() })
const turns = z.object({ data: z.array(turn), nextCursor: z.string().nullish() })

/** A page of a list, with the cursor of the next one. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

/** The thread of a response, as a session. Throws if the response has none. */
export const sessionIn = (value: unknown): SessionInfo => sessionOf(ofThread.parse(value).thread)

/** The id of the turn that a response names. Throws if it names none. */
export const turnIDIn = (value: unknown): string => ofTurn.parse(value).turn.id

/** The page of sessions of a list of threads. Leaves out malformed ones. Throws if the response has no list. */
export function sessionsIn(value: unknown): Page<SessionInfo> {
  const { data, nextCursor } = threads.parse(value)
  const items = data.flatMap((one) => {
    const found = thread.safeParse(one).data
    return found ? [sessionOf(found)] : []
  })
  return { items, next: nextCursor ?? undefined }
}

/** The page of a thread's turns. Throws if the response is malformed. */
export function turnsIn(value: unknown): Page<CodexTurn> {
  const { data, nextCursor } = turns.parse(value)
  return { items: data, next: nextCursor ?? undefined }
}

/** The id of the thread that a notification or request is about. Undefined if it names none. */
export const threadIDOf = (params: unknown): string | undefined => about.safeParse(params).data?.threadId

/** The ids of the threads that are open. Throws if the response has no list. */
export const threadIDsIn = (value: unknown): readonly string[] => loaded.parse(value).data

/** The turns of a resumed thread, oldest first. None if the response has no list of them. Throws if it is malformed. */
export const turnsOfResumed = (value: unknown): readonly CodexTurn[] => resumed.parse(value).thread.turns

/** Whether the turn of a response's thread waits for people, by flags such as `waitingOnApproval`. */
export function isWaitingIn(value: unknown): boolean {
  const { thread: { status } = {} } = withStatus.safeParse(value).data ?? {}
  return status?.activeFlags.some((flag) => flag.startsWith('waitingOn')) === true
}

/**
 * Returns a thread as a session. Its title is the thread's name, otherwise the first line of its first prompt, up to 100
 * characters. Absent if both are empty.
 */
function sessionOf({
  id,
  cwd,
  name,
  preview,
  createdAt,
  updatedAt,
  parentThreadId,
}: z.infer<typeof thread>): SessionInfo {
  const [firstLine = ''] = preview.trim().split('\n')
  const title = name ?? [...firstLine].slice(0, 100).join('')
  return {
    sessionID: id,
    directory: cwd,
    parentID: parentThreadId ?? undefined,
    ...(title !== '' && { title }),
    ...(createdAt !== undefined && { createdAt: createdAt * 1000 }),
    ...(updatedAt !== undefined && { updatedAt: updatedAt * 1000 }),
  }
}
