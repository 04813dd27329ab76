import { type Fields, fieldsOf } from '../fields.ts'
import { type Frame, isRestart } from './frames.ts'

interface StoredMessage {
  info: Fields
  readonly parts: Map<string, unknown>
}

/**
 * The REST responses of a server after the applied frames, folded from the durable events. As on real servers, deltas
 * are not stored, so a text in progress reads as its last snapshot.
 */
export interface Fold {
  /** Applies the next frame. Ignores types that REST doesn't show. A restart forgets statuses and asks. */
  applyFrame(frame: Frame): void
  sessions(): readonly unknown[]
  /** Undefined if there is no such session. */
  session(id: string): unknown
  /** Undefined if there is no such session. */
  messages(id: string): readonly unknown[] | undefined
  /** The sessions of its sub-agents. Empty if there are none. */
  children(id: string): readonly unknown[]
  /** Empty if there are none. */
  todos(id: string): unknown
  /** By session. Idle sessions have none. */
  statuses(): Fields
  questions(): readonly unknown[]
  permissions(): readonly unknown[]
  /** Whether a session is idle although its last message is a prompt. */
  isBeginning(): boolean
  hasMessage(messageID: string): boolean
  /** Whether a session is idle although an assistant's message is open: most ends pass through this state. */
  isEnding(): boolean
}

/**
 * Returns an empty store of what OpenCode 1 shows over REST. `applyFrame` fills it from a recording, and
 * `createFirstAnswers` answers from it.
 */
export function createFold(): Fold {
  const sessions = new Map<string, Fields>()
  const messages = new Map<string, Map<string, StoredMessage>>()
  const todos = new Map<string, unknown>()
  const statuses = new Map<string, unknown>()
  const questions = new Map<string, unknown>()
  const permissions = new Map<string, unknown>()
  return {
    applyFrame,
    sessions: () => [...sessions.values()],
    session: (id) => sessions.get(id),
    messages: (id) =>
      sessions.has(id)
        ? [...(messages.get(id)?.values() ?? [])].map(({ info, parts }) => ({ info, parts: [...parts.values()] }))
        : undefined,
    children: (id) => [...sessions.values()].filter((session) => session.parentID === id),
    todos: (id) => todos.get(id) ?? [],
    statuses: () => Object.fromEntries(statuses),
    questions: () => [...questions.values()],
    permissions: () => [...permissions.values()],
    hasMessage: (messageID) => [...messages.values()].some((stored) => stored.has(messageID)),
    isBeginning: () =>
      [...messages].some(([id, stored]) => !statuses.has(id) && [...stored.values()].at(-1)?.info.role === 'user'),
    isEnding: () => [...messages].some(([id, stored]) => !statuses.has(id) && [...stored.values()].some(isUnfinished)),
  }

  /**
   * Applies the next frame. A restart forgets statuses and asks, and an idle session its asks. Ignores types that
   * REST doesn't show.
   */
  function applyFrame(frame: Frame): void {
    if (isRestart(frame)) {
      for (const pending of [statuses, questions, permissions]) pending.clear()
      return
    }
    const { properties } = frame
    const sessionID = String(properties.sessionID)
    switch (frame.type) {
      case 'session.created':
      case 'session.updated':
        return void sessions.set(String(fieldsOf(properties.info).id), fieldsOf(properties.info))
      case 'session.deleted':
        return void sessions.delete(String(fieldsOf(properties.info).id))
      case 'message.updated':
        return storeMessage(fieldsOf(properties.info))
      case 'message.part.updated':
        return storePart(fieldsOf(properties.part))
      case 'message.removed':
        return void messages.get(sessionID)?.delete(String(properties.messageID))
      case 'message.part.removed':
        return void messages.get(sessionID)?.get(String(properties.messageID))?.parts.delete(String(properties.partID))
      case 'todo.updated':
        return void todos.set(sessionID, properties.todos)
      case 'session.status':
        if (fieldsOf(properties.status).type === 'idle') statuses.delete(sessionID)
        else statuses.set(sessionID, properties.status)
        return
      case 'question.asked':
        return void questions.set(String(properties.id), properties)
      case 'permission.asked':
        return void permissions.set(String(properties.id), properties)
      case 'question.replied':
      case 'question.rejected':
        return void questions.delete(String(properties.requestID))
      case 'permission.replied':
        return void permissions.delete(String(properties.requestID))
      case 'session.idle':
        return forgetAsks(sessionID)
    }
  }

  /** Adds a message, or replaces its head and keeps its parts. */
  function storeMessage(info: Fields): void {
    const sessionID = String(info.sessionID)
    const ofSession = messages.get(sessionID) ?? new Map<string, StoredMessage>()
    messages.set(sessionID, ofSession)
    const stored = ofSession.get(String(info.id))
    if (stored) stored.info = info
    else ofSession.set(String(info.id), { info, parts: new Map() })
  }

  /** Adds or replaces a part. Ignores parts of unknown messages. */
  function storePart(part: Fields): void {
    messages.get(String(part.sessionID))?.get(String(part.messageID))?.parts.set(String(part.id), part)
  }

  /** Forgets the pending asks of a session: those of an ended run are gone, without an event. */
  function forgetAsks(sessionID: string): void {
    for (const pending of [questions, permissions]) {
      for (const [id, ask] of pending) if (fieldsOf(ask).sessionID === sessionID) pending.delete(id)
    }
  }
}

/** Whether a tool runs in it, or an answer has neither an end nor an error. */
function isUnfinished({ info, parts }: StoredMessage): boolean {
  if ([...parts.values()].some((part) => fieldsOf(fieldsOf(part).state).status === 'running')) return true
  return info.role === 'assistant' && info.error === undefined && fieldsOf(info.time).completed === undefined
}
