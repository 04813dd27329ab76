import type { LocalEnding } from '@reply/core/source'
import * as z from 'zod'
import { type CodexCall, type CodexItem, decodeItem } from './item.ts'
import { type ThreadSettings, updatedSettings } from './settings.ts'

/**
 * An event of a turn, from a notification of `codex app-server`. `turn` is the first of each turn. Recorded with versions
 * 0.150.0 and 0.169.0, whose `codex app-server generate-json-schema` describes the whole protocol.
 */
export type CodexEvent = {
  readonly threadID: string
  readonly turnID: string
} & (
  | { readonly type: 'turn' }
  /** The turn takes this prompt, from this client or another one. */
  | {
      readonly type: 'prompt'
      readonly messageID: string
      readonly clientID: string | undefined
      readonly text: string
    }
  | { readonly type: 'delta'; readonly kind: 'text' | 'reasoning'; readonly partID: string; readonly delta: string }
  /** The whole text of a part that may have been streamed. */
  | { readonly type: 'message'; readonly kind: 'text' | 'reasoning'; readonly partID: string; readonly text: string }
  | ({ readonly type: 'call' } & CodexCall)
  | { readonly type: 'output'; readonly callID: string; readonly delta: string }
  | { readonly type: 'todos'; readonly todos: readonly { readonly content: string; readonly status: string }[] }
  | { readonly type: 'usage'; readonly tokens: CodexTokens; readonly contextLimit?: number }
  | { readonly type: 'retry'; readonly message: string }
  | { readonly type: 'compaction' }
  /** `answer` is the last text of the turn, if the message has it. */
  | { readonly type: 'end'; readonly ending: LocalEnding; readonly answer?: CodexText | undefined }
)

/** A whole text, by the id of its part. */
export interface CodexText {
  readonly partID: string
  readonly text: string
}

/** What a notification says of a thread. */
export type CodexNotice =
  | { readonly type: 'event'; readonly event: CodexEvent }
  /** A request was withdrawn or answered. */
  | { readonly type: 'ask-gone'; readonly threadID: string; readonly requestID: string }
  /** A turn of the thread is going on. */
  | { readonly type: 'active'; readonly threadID: string }
  /** The thread has a goal, towards which Codex goes on by itself. */
  | { readonly type: 'goal'; readonly threadID: string; readonly objective: string }
  /** The thread has these settings from its next turn on. */
  | { readonly type: 'settings'; readonly threadID: string; readonly settings: ThreadSettings }

/** Tokens of one model call. */
export interface CodexTokens {
  readonly input: number
  readonly output: number
  readonly reasoning: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

const thread = { threadId: z.string() }
const place = { ...thread, turnId: z.string() }
const delta = z.object({ ...place, itemId: z.string(), delta: z.string() })
const count = z.number().default(0)
const failure = z.object({ message: z.string() })
const itemEvent = z.object({
  ...place,
  item: z.unknown(),
  startedAtMs: z.number().optional(),
  completedAtMs: z.number().optional(),
})
const plan = z.object({ ...place, plan: z.array(z.object({ step: z.string(), status: z.string() })) })
const retry = z.object({ ...place, error: failure, willRetry: z.literal(true) })
const resolved = z.object({ ...thread, requestId: z.union([z.string(), z.number()]) })
const status = z.object({ ...thread, status: z.object({ type: z.literal('active') }) })
const goal = z.object({ ...thread, goal: z.object({ objective: z.string() }) })
const settingsUpdated = z.object({ ...thread, threadSettings: z.unknown() })
const turnStarted = z.object({ ...thread, turn: z.object({ id: z.string() }) })
// A turn always ends, whatever is told of its end.
const turnEnd = z.object({
  id: z.string(),
  status: z.string().catch('over for an unknown reason'),
  error: failure.nullish().catch(undefined),
  items: z.array(z.unknown()).catch([]),
})
const turnCompleted = z.object({ ...thread, turn: turnEnd })

/** A decoder for each notification that is an event of a turn. */
const turnEvents: Readonly<Record<string, (params: unknown) => CodexEvent | undefined>> = {
  'item/agentMessage/delta': (params) => deltaEvent(params, 'text'),
  'item/reasoning/summaryTextDelta': (params) => deltaEvent(params, 'reasoning'),
  'item/reasoning/textDelta': (params) => deltaEvent(params, 'reasoning'),
  'item/commandExecution/outputDelta': (params) => {
    const found = delta.safeParse(params).data
    return found && { type: 'output', ...idsIn(found), callID: found.itemId, delta: found.delta }
  },
  'item/started': (params) => itemEventIn(params, false),
  'item/completed': (params) => itemEventIn(params, true),
  'turn/plan/updated': (params) => {
    const found = plan.safeParse(params).data
    const todos = found?.plan.map((one) => ({
      content: one.step,
      status: one.status === 'inProgress' ? 'in_progress' : one.status,
    }))
    return found && { type: 'todos', ...idsIn(found), todos: todos ?? [] }
  },
  'thread/tokenUsage/updated': usageEventIn,
  error: (params) => {
    const found = retry.safeParse(params).data
    return found && { type: 'retry', ...idsIn(found), message: found.error.message }
  },
  'turn/started': (params) => {
    const found = turnStarted.safeParse(params).data
    return found && { type: 'turn', threadID: found.threadId, turnID: found.turn.id }
  },
  'turn/completed': (params) => {
    const found = turnCompleted.safeParse(params).data
    if (!found) return undefined
    const { id, items } = found.turn
    const answer = items.flatMap((item) => decodeItem(item, true) ?? []).findLast(isText)
    return { type: 'end', threadID: found.threadId, turnID: id, ending: endingOf(found.turn), answer }
  },
}

/** Reads one notification. Undefined if it changes no reply: if its kind is unknown, or a field that is needed is malformed. */
export function decodeNotification(method: string, params: unknown): CodexNotice | undefined {
  const event = Object.hasOwn(turnEvents, method) ? turnEvents[method]?.(params) : undefined
  if (event) return { type: 'event', event }
  if (method === 'serverRequest/resolved') {
    const found = resolved.safeParse(params).data
    return found && { type: 'ask-gone', threadID: found.threadId, requestID: String(found.requestId) }
  }
  if (method === 'thread/status/changed') {
    const found = status.safeParse(params).data
    return found && { type: 'active', threadID: found.threadId }
  }
  if (method === 'thread/settings/updated') {
    const found = settingsUpdated.safeParse(params).data
    const settings = updatedSettings(found?.threadSettings)
    return found && settings && { type: 'settings', threadID: found.threadId, settings }
  }
  if (method !== 'thread/goal/updated') return undefined
  const found = goal.safeParse(params).data
  return found && { type: 'goal', threadID: found.threadId, objective: found.goal.objective }
}

const sent = z.object({ emittedAtMs: z.number() })

/** When Codex sent a notification, in ms since the epoch by its clock. Undefined if it doesn't tell. */
export const sentAtIn = (value: unknown): number | undefined => sent.safeParse(value).data?.emittedAtMs

/** Whether an item is a text of the answer. */
const isText = (item: CodexItem): item is CodexItem & CodexText => item.type === 'message' && item.kind === 'text'

/** The ids of an event's thread and turn. */
function idsIn({ threadId: threadID, turnId: turnID }: { readonly threadId: string; readonly turnId: string }) {
  return { threadID, turnID }
}

/** The event of a text that grows. Undefined if the notification is malformed. */
function deltaEvent(params: unknown, kind: 'text' | 'reasoning'): CodexEvent | undefined {
  const found = delta.safeParse(params).data
  return found && { type: 'delta', ...idsIn(found), kind, partID: found.itemId, delta: found.delta }
}

/** The event of an item that began or is done. Undefined if it changes no reply, or if the notification is malformed. */
function itemEventIn(params: unknown, isDone: boolean): CodexEvent | undefined {
  const found = itemEvent.safeParse(params).data
  if (!found) return undefined
  const decoded = decodeItem(found.item, isDone, { startedAt: found.startedAtMs, endedAt: found.completedAtMs })
  return decoded && eventOf(decoded, isDone, idsIn(found))
}

/**
 * The event of an item that begins or is done. Calls have both. A prompt is an event when it begins, and all others when they
 * are done. Undefined otherwise.
 */
export function eventOf(
  decoded: CodexItem,
  isDone: boolean,
  ids: { readonly threadID: string; readonly turnID: string },
): CodexEvent | undefined {
  const isShown = decoded.type === 'call' || (decoded.type === 'prompt' ? !isDone : isDone)
  return isShown ? { ...decoded, ...ids } : undefined
}

const tokenCounts = z.object({
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count,
  outputTokens: count,
  reasoningOutputTokens: count,
})

const usage = z.object({
  ...place,
  tokenUsage: z.object({ last: tokenCounts, modelContextWindow: z.number().nullish() }),
})

/** The event of a model call's tokens. `input` is without those that were cached. Undefined if it is malformed. */
function usageEventIn(params: unknown): CodexEvent | undefined {
  const found = usage.safeParse(params).data
  if (!found) return undefined
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens, reasoningOutputTokens } =
    found.tokenUsage.last
  const tokens = {
    input: inputTokens - cachedInputTokens - cacheWriteInputTokens,
    output: outputTokens,
    reasoning: reasoningOutputTokens,
    cacheRead: cachedInputTokens,
    cacheWrite: cacheWriteInputTokens,
  }
  const limit = found.tokenUsage.modelContextWindow
  return { type: 'usage', ...idsIn(found), tokens, ...(typeof limit === 'number' && { contextLimit: limit }) }
}

/** How a turn ended that has this status. A failed one without a message tells its status. */
export function endingOf({
  status,
  error,
}: {
  readonly status: string
  readonly error?: { readonly message: string } | null | undefined
}): LocalEnding {
  if (status === 'interrupted') return { type: 'aborted' }
  if (status === 'completed') return { type: 'completed' }
  return {
    type: 'failed',
    error: { name: 'CodexError', message: error?.message ?? `The turn is ${status}.`, raw: error },
  }
}
