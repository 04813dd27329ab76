import type { MessageHead } from '../../../event.ts'
import type { SummaryStep } from '../../../reply.ts'
import { putNewest } from '../../decode/newest.ts'
import type { SessionInfo } from '../../port.ts'
import type { Frame } from './frame.ts'
import type { WireForm, WirePrompt } from './schema.ts'

/** A prompt that was accepted but may not be in the session yet. */
export interface InboxItem {
  /** `user` is a prompt; the server adds others by itself. */
  readonly type: string
  readonly text?: string | undefined
  readonly files?: WirePrompt['files']
  readonly metadata?: WirePrompt['metadata']
}

/** A tool call: later events name neither the tool nor the input again. */
export interface Call {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** The input is complete: the server said what it runs. */
  readonly isCalled: boolean
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly startedAt?: number | undefined
}

/** Tokens and cost, in US dollars. */
export type Spent = Omit<SummaryStep, 'messageID'>

/** A compaction at work. Its end doesn't repeat its message, nor what it cost. */
interface SummaryMemory {
  readonly messageID: string
  /** What the newest call of the model cost. Undefined until one has ended since the compaction began. */
  call: Spent | undefined
}

export interface SessionMemory {
  info: SessionInfo
  /** The session was introduced by an event or a read, so its parent is known. */
  isKnown: boolean
  readonly inbox: Map<string, InboxItem>
  /** The newest messages, in the order of the wire. */
  readonly messageIDs: Set<string>
  /** When the newest prompts were accepted, by their message, in ms since the epoch by the server's clock. */
  readonly acceptedAt: Map<string, number>
  readonly calls: Map<string, Call>
  readonly forms: Map<string, WireForm>
  /**
   * `empty`: the execution began on this connection, and nothing has run in it so far. `ran`: a prompt or a step was
   * reported in it. `unseen`: whether there is one, and what ran in it, is unknown.
   */
  execution: 'unseen' | 'empty' | 'ran'
  /** A person rejected something in this step: the execution's end is then called a shutdown. */
  isRejected: boolean
  /** A rejection ended the newest step, so the run is over with the next sign of another. */
  isStopped: boolean
  /** The prompt that was delivered last: the steps after it answer it. */
  promptID: string | undefined
  /** Counts the compactions of the run since that prompt. */
  compactions: number
  /** What all calls of the model cost so far, those for titles and summaries included. Undefined until it was told. */
  spent: Spent | undefined
  /** The compaction at work. */
  summary: SummaryMemory | undefined
  /** The steps of the execution, by their messages. */
  readonly steps: Map<string, Pick<MessageHead, 'agent' | 'createdAt' | 'parentID'>>
  /** Steps that were cut off with their server. */
  readonly cutIDs: Set<string>
  /** The count of the newest stored event of this connection. */
  seq: number | undefined
  /** The same, of all connections. */
  heardSeq: number | undefined
}

/** What must be remembered of sessions, because events don't repeat it. Forgets the sessions that were quiet longest. */
export interface Memory {
  of(sessionID: string): SessionMemory
  forget(sessionID: string): void
  /** Events may have been missed: what was known of executions may be over. */
  reconnected(): void
}

const maxSessions = 5000
const maxPrompts = 100
const maxMessages = 2000

export function createMemory(): Memory {
  const sessions = new Map<string, SessionMemory>()
  /** The one that was asked for last, which mostly is the next one, too: comparing takes less than looking it up. */
  let last: SessionMemory | undefined
  return {
    of,
    forget: (sessionID) => {
      sessions.delete(sessionID)
      last = undefined
    },
    reconnected: () => {
      for (const session of sessions.values()) {
        session.execution = 'unseen'
        session.seq = undefined
        session.spent = undefined
        session.summary = undefined
      }
    },
  }

  function of(sessionID: string): SessionMemory {
    if (last?.info.sessionID === sessionID) return last
    last = sessions.get(sessionID) ?? freshOf(sessionID)
    putNewest(sessions, { key: sessionID, value: last, max: maxSessions })
    return last
  }
}

function freshOf(sessionID: string): SessionMemory {
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
    spent: undefined,
    summary: undefined,
    steps: new Map(),
    cutIDs: new Set(),
    seq: undefined,
    heardSeq: undefined,
  }
}

/** Remembers when a prompt was accepted. Forgets the oldest of many. */
export function accept({ acceptedAt }: SessionMemory, messageID: string, at: number | undefined): void {
  if (at === undefined) return
  acceptedAt.set(messageID, at)
  if (acceptedAt.size <= maxPrompts) return
  const [oldest] = acceptedAt.keys()
  if (oldest !== undefined) acceptedAt.delete(oldest)
}

/** Remembers a message and its place. Forgets the oldest of many. */
export function noteMessage({ messageIDs }: SessionMemory, messageID: string): void {
  messageIDs.add(messageID)
  if (messageIDs.size <= maxMessages) return
  const [oldest] = messageIDs
  if (oldest !== undefined) messageIDs.delete(oldest)
}

/** Forgets a message and all after it. Gives their ids. */
export function forgetFrom({ messageIDs }: SessionMemory, messageID: string): readonly string[] {
  const known = [...messageIDs]
  const at = known.indexOf(messageID)
  const gone = at === -1 ? [messageID] : known.slice(at)
  for (const id of gone) messageIDs.delete(id)
  return gone
}

/** The session whose stored events before this one are missing. Undefined if there are none, as nearly always. */
export function missedBefore({ type, data, seq }: Frame, memory: Memory): string | undefined {
  const { sessionID } = data
  if (seq === undefined || typeof sessionID !== 'string' || type === 'session.deleted') return undefined
  const session = memory.of(sessionID)
  const { seq: before } = session
  // What a fork copies is counted and not sent.
  session.seq = type === 'session.forked' ? undefined : Math.max(seq, before ?? seq)
  session.heardSeq = session.seq
  const missing = before === undefined ? 0 : seq - before - 1
  return missing > (hasUnsent(type) ? 1 : 0) ? sessionID : undefined
}

/** The usage of a call for a title or a summary is stored and not sent, right before what the call gave. */
function hasUnsent(type: string): boolean {
  return type === 'session.renamed' || type === 'session.compaction.ended' || type === 'session.compaction.failed'
}
