import type { MessageHead } from '../../../event.ts'
import type { CompactionPart } from '../../../part.ts'
import type { SummaryStep } from '../../../reply.ts'
import { setNewest } from '../../decode/newest.ts'
import type { SessionInfo } from '../../port.ts'
import type { Frame } from './frame.ts'
import type { WireForm, WirePrompt } from './schema.ts'

/** An accepted prompt that may not be in the session yet. */
export interface InboxItem {
  /** `user` is a prompt. The server adds other types itself. */
  readonly type: string
  readonly text?: string | undefined
  readonly files?: WirePrompt['files']
  readonly agents?: WirePrompt['agents']
  readonly metadata?: WirePrompt['metadata']
}

/** A tool call, because later events repeat neither its tool nor its input. */
export interface Call {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** Whether the input is complete. */
  readonly isCalled: boolean
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly startedAt?: number | undefined
}

/** Tokens and cost, in US dollars. */
export type Spent = Omit<SummaryStep, 'messageID'>

/** A running compaction. Its end doesn't repeat its message or its cost. */
interface SummaryMemory {
  readonly messageID: string
  /** The cost of the newest model call. Undefined until one has ended since the compaction began. */
  call: Spent | undefined
}

export interface SessionMemory {
  info: SessionInfo
  /** Whether an event or a read introduced the session, so its parent is known. */
  isKnown: boolean
  readonly inbox: Map<string, InboxItem>
  /** The newest messages, in the order of the wire. */
  readonly messageIDs: Set<string>
  /**
   * When the newest prompts were accepted, by the ids of their messages, in ms since the epoch by the server's clock.
   */
  readonly acceptedAt: Map<string, number>
  readonly calls: Map<string, Call>
  readonly forms: Map<string, WireForm>
  /**
   * - `empty`: the execution began on this connection, and nothing has run in it so far.
   * - `ran`: it reported a prompt or a step.
   * - `unseen`: unknown, even whether there is one.
   */
  execution: 'unseen' | 'empty' | 'ran'
  /** Whether a person rejected something in this step. The server then reports the execution's end as a shutdown. */
  isRejected: boolean
  /** Whether a rejection ended the newest step, so the run has ended once another one shows. */
  isStopped: boolean
  /** The id of the prompt that was delivered last. Later steps answer it. */
  promptID: string | undefined
  /** The number of compactions of the run since that prompt. */
  compactions: number
  /** The part of the newest compaction. Undefined if that failed, was requested by a person, or has no known prompt. */
  compactionPart: CompactionPart | undefined
  /** The cost of all model calls so far, including those for titles and summaries. Undefined until it is known. */
  spent: Spent | undefined
  /** The running compaction. */
  summary: SummaryMemory | undefined
  /** The steps of the execution, by the ids of their messages. */
  readonly steps: Map<string, Pick<MessageHead, 'agent' | 'createdAt' | 'parentID'>>
  /** The ids of steps that were cut off with their server. */
  readonly cutIDs: Set<string>
  /** The number of the newest stored event of this connection. */
  seq: number | undefined
  /** The number of the newest stored event of all connections. */
  lastSeq: number | undefined
}

/** State of sessions that events don't repeat. Drops the sessions without events for the longest time. */
export interface Memory {
  /**
   * Returns a session's memory. Adds an empty one if there is none, and drops the session without events for the
   * longest time if there are too many.
   */
  of(sessionID: string): SessionMemory
  /** Drops a session's memory. */
  forget(sessionID: string): void
  /**
   * Call it when a connection begins, with the server's time if that is known: events may have been missed, and executions may have
   * ended.
   */
  reconnected(at: number | undefined): void
  /** The server's time when the newest connection began, in ms since the epoch. Undefined if it is unknown. */
  connectedAt(): number | undefined
}

const maxSessions = 5000
const maxPrompts = 100
const maxMessages = 2000

/** Creates the decoder's memory: what it must keep of each session because later frames don't repeat it. */
export function createMemory(): Memory {
  const sessions = new Map<string, SessionMemory>()
  /** The last session that was looked up. It is mostly the next one too, and a comparison is faster than a lookup. */
  let last: SessionMemory | undefined
  let connectedAt: number | undefined
  return {
    of: memoryOf,
    forget: (sessionID) => {
      sessions.delete(sessionID)
      last = undefined
    },
    connectedAt: () => connectedAt,
    reconnected: (at) => {
      connectedAt = at
      for (const session of sessions.values()) {
        session.execution = 'unseen'
        session.seq = undefined
        session.spent = undefined
        session.summary = undefined
      }
    },
  }

  /** Returns a session's memory as the newest one. Adds an empty one if there is none. */
  function memoryOf(sessionID: string): SessionMemory {
    if (last?.info.sessionID === sessionID) return last
    last = sessions.get(sessionID) ?? emptyMemory(sessionID)
    setNewest(sessions, sessionID, last, maxSessions)
    return last
  }
}

/** Returns the memory of a session that nothing is known of. */
function emptyMemory(sessionID: string): SessionMemory {
  return {
    info: { sessionID },
    isKnown: false,
    inbox: new Map(),
    messageIDs: new Set(),
    acceptedAt: new Map(),
    calls: new Map(),
    forms: new Map(),
    execution: 'unseen',
    isRejected: false,
    isStopped: false,
    promptID: undefined,
    compactions: 0,
    compactionPart: undefined,
    spent: undefined,
    summary: undefined,
    steps: new Map(),
    cutIDs: new Set(),
    seq: undefined,
    lastSeq: undefined,
  }
}

/** Stores when a prompt was accepted. Drops the oldest if there are more than 100. Does nothing without a time. */
export function storeAcceptedAt({ acceptedAt }: SessionMemory, messageID: string, time: number | undefined): void {
  if (time === undefined) return
  acceptedAt.set(messageID, time)
  if (acceptedAt.size <= maxPrompts) return
  const [oldest] = acceptedAt.keys()
  if (oldest !== undefined) acceptedAt.delete(oldest)
}

/** Stores a message's id, as the newest if it is new. Drops the oldest if there are more than 2,000. */
export function storeMessageID({ messageIDs }: SessionMemory, messageID: string): void {
  messageIDs.add(messageID)
  if (messageIDs.size <= maxMessages) return
  const [oldest] = messageIDs
  if (oldest !== undefined) messageIDs.delete(oldest)
}

/**
 * Removes the ids of a message and all later ones, and returns them. Returns the message's own id if it isn't stored.
 */
export function removeMessagesFrom({ messageIDs }: SessionMemory, messageID: string): readonly string[] {
  const ids = [...messageIDs]
  const at = ids.indexOf(messageID)
  const removed = at === -1 ? [messageID] : ids.slice(at)
  for (const id of removed) messageIDs.delete(id)
  return removed
}

/**
 * Stores the number of a stored event. Returns its session's id if events before it on this connection are missing, and
 * undefined in nearly all cases. Undefined for an event without a number or a session, and for the first of a session.
 * Starts anew after a fork.
 */
export function checkSequence({ type, data, seq }: Frame, memory: Memory): string | undefined {
  const { sessionID } = data
  if (seq === undefined || typeof sessionID !== 'string' || type === 'session.deleted') return undefined
  const session = memory.of(sessionID)
  const { seq: before } = session
  // Events that a fork copies are numbered but not sent.
  session.seq = type === 'session.forked' ? undefined : Math.max(seq, before ?? seq)
  session.lastSeq = session.seq
  const missing = before === undefined ? 0 : seq - before - 1
  return missing > (followsUnsentEvent(type) ? 1 : 0) ? sessionID : undefined
}

/**
 * Whether the server stores an event right before this type that it doesn't send: the usage of a call for a title or a
 * summary.
 */
function followsUnsentEvent(type: string): boolean {
  return type === 'session.renamed' || type === 'session.compaction.ended' || type === 'session.compaction.failed'
}
