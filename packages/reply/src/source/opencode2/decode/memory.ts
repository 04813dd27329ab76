import type { SessionInfo } from '../../port.ts'
import type { WireForm, WirePrompt } from './schema.ts'

/** A prompt that was accepted but may not be in the session yet. */
export interface InboxItem {
  readonly text?: string | undefined
  readonly files?: WirePrompt['files']
  /** When it was accepted, by the server's clock. */
  readonly acceptedAt: number | undefined
}

/** A tool call: later events name neither the tool nor the input again. */
export interface Call {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly startedAt?: number | undefined
}

export interface SessionMemory {
  info: SessionInfo
  /** The session was introduced by an event or a read, so its parent is known. */
  isKnown: boolean
  readonly inbox: Map<string, InboxItem>
  readonly calls: Map<string, Call>
  readonly forms: Map<string, WireForm>
  /** A run was reported as begun, and its end not yet. */
  isBusy: boolean
  /** A person rejected something in this execution: its end is then called a shutdown. */
  isRejected: boolean
  /** The step that is open, by its message. */
  readonly steps: Map<string, { readonly agent?: string | undefined; readonly createdAt?: number | undefined }>
}

/** What must be remembered of sessions, because events don't repeat it. Forgets the sessions that were quiet longest. */
export interface Memory {
  of(sessionID: string): SessionMemory
  forget(sessionID: string): void
}

const maxSessions = 5000

export function createMemory(): Memory {
  const sessions = new Map<string, SessionMemory>()
  return { of, forget: (sessionID) => sessions.delete(sessionID) }

  function of(sessionID: string): SessionMemory {
    const known = sessions.get(sessionID)
    if (known) return known
    const fresh: SessionMemory = {
      info: { sessionID },
      isKnown: false,
      inbox: new Map(),
      calls: new Map(),
      forms: new Map(),
      isBusy: false,
      isRejected: false,
      steps: new Map(),
    }
    sessions.set(sessionID, fresh)
    if (sessions.size > maxSessions) sessions.delete([...sessions.keys()][0] ?? sessionID)
    return fresh
  }
}
