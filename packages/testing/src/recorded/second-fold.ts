import { type Fields, fieldsOf } from '../fields.ts'
import { type Frame, isRestart } from './frames.ts'

interface StoredSession {
  info: Fields
  messages: Fields[]
}

/**
 * The REST answers of OpenCode 2 after the applied frames. As on real servers, deltas and progress are not stored, so a
 * text in progress reads as "".
 */
interface SecondFold {
  /** Applies the next frame. Ignores types that REST doesn't show. A restart forgets running sessions and asks. */
  applyFrame(frame: Frame): void
  sessions(): readonly Fields[]
  /** Undefined if there is no such session. */
  session(id: string): Fields | undefined
  /** Empty if there is no such session. */
  messages(id: string): readonly Fields[]
  /** The running sessions, by id. */
  active(): Fields
  /** Of one session, or of all. */
  permissions(sessionID?: string): readonly Fields[]
  forms(sessionID?: string): readonly Fields[]
  /** The prompts that a session has accepted and not delivered, oldest first. */
  pending(sessionID: string): readonly Fields[]
}

/**
 * Returns an empty store of what OpenCode 2 shows over REST. `applyFrame` fills it from a recording, and
 * `createSecondAnswers` answers from it.
 */
export function createSecondFold(): SecondFold {
  const sessions = new Map<string, StoredSession>()
  const inbox = new Map<string, Fields>()
  const active = new Set<string>()
  const permissions = new Map<string, Fields>()
  const forms = new Map<string, Fields>()
  /** Returns the asks of a session, or of all if it is undefined. */
  const pendingOf = (asks: ReadonlyMap<string, Fields>, sessionID: string | undefined): readonly Fields[] =>
    [...asks.values()].filter((ask) => sessionID === undefined || ask.sessionID === sessionID)
  return {
    applyFrame,
    sessions: () => [...sessions.values()].map(({ info }) => info),
    session: (id) => sessions.get(id)?.info,
    messages: (id) => sessions.get(id)?.messages ?? [],
    active: () => Object.fromEntries([...active].map((id) => [id, { type: 'running' }])),
    permissions: (sessionID) => pendingOf(permissions, sessionID),
    forms: (sessionID) => pendingOf(forms, sessionID),
    pending: (sessionID) => pendingOf(inbox, sessionID),
  }

  /**
   * Applies the next frame. A restart forgets running sessions and asks, and the end of a run its permissions. Every
   * event of a session sets when it was updated. Ignores types that REST doesn't show.
   */
  function applyFrame(frame: Frame): void {
    if (isRestart(frame)) {
      for (const passing of [active, permissions, forms]) passing.clear()
      return
    }
    const { type, properties: data, created } = frame
    const sessionID = String(data.sessionID)
    if (type.startsWith('session.')) touchSession(sessionID, created)
    if (applyAskEvent(type, data)) return
    switch (type) {
      case 'session.created':
        return void sessions.set(sessionID, { info: sessionInfo(sessionID, data, created), messages: [] })
      case 'session.forked': {
        const origin = sessions.get(String(data.parentID))
        // The copies have ids of their own.
        const copies = (origin?.messages ?? []).map((message) => ({ ...message, id: `${message.id}_${sessionID}` }))
        const info = { ...origin?.info, parentID: undefined, id: sessionID, time: { created, updated: created } }
        return void sessions.set(sessionID, { info, messages: copies })
      }
      case 'session.renamed':
        return changeSession(sessionID, { title: data.title })
      case 'session.deleted':
        active.delete(sessionID)
        return void sessions.delete(sessionID)
      case 'session.input.admitted':
        return void inbox.set(String(data.inputID), {
          ...fieldsOf(data.input),
          id: data.inputID,
          sessionID,
          timeCreated: created,
        })
      case 'session.input.promoted':
        return deliverPrompt(sessionID, String(data.inputID), created)
      case 'session.execution.started':
        return void active.add(sessionID)
      case 'session.execution.succeeded':
      case 'session.execution.failed':
      case 'session.execution.interrupted':
        active.delete(sessionID)
        // The pending permissions of an ended run are gone, without an event.
        for (const [id, ask] of permissions) if (ask.sessionID === sessionID) permissions.delete(id)
        return
      case 'session.revert.staged':
        return changeSession(sessionID, { revert: data.revert })
      case 'session.revert.cleared':
        return changeSession(sessionID, { revert: undefined })
      case 'session.revert.committed':
        return commitRevert(sessionID, String(data.to))
      default:
        return applyStepEvent(frame)
    }
  }

  /** Opens or closes an ask. Returns whether the event did: false for the reply to an unknown one. */
  function applyAskEvent(type: string, data: Fields): boolean {
    switch (type) {
      case 'permission.asked':
        permissions.set(String(data.id), data)
        return true
      case 'permission.replied':
        return permissions.delete(String(data.requestID))
      case 'form.created':
        forms.set(String(fieldsOf(data.form).id), fieldsOf(data.form))
        return true
      case 'form.replied':
      case 'form.cancelled':
        return forms.delete(String(data.id))
      default:
        return false
    }
  }

  /**
   * Changes the assistant's message that the event names. The start of a step adds it, or empties it if it is there.
   * Ignores other events of unknown sessions and messages.
   */
  function applyStepEvent({ type, properties: data, created }: Frame): void {
    const { sessionID, assistantMessageID: id } = data
    const session = sessions.get(String(sessionID))
    if (!session || id === undefined) return
    const index = session.messages.findIndex((message) => message.id === id)
    if (type === 'session.step.started') {
      const { agent, model } = data
      const fresh = { id, type: 'assistant', agent, model, content: [], time: { created } }
      if (index === -1) session.messages.push(fresh)
      else session.messages[index] = { ...fresh, time: session.messages[index]?.time }
      return
    }
    const message = session.messages[index]
    if (message) session.messages[index] = messageAfter(message, type, data, created)
  }

  /** Moves a pending prompt into its session's messages. Other inputs are dropped. Ignores unknown ones. */
  function deliverPrompt(sessionID: string, inputID: string, created: number | undefined): void {
    const item = inbox.get(inputID)
    inbox.delete(inputID)
    if (item?.type !== 'user' && item?.type !== 'synthetic') return
    const message = { ...fieldsOf(item.data), id: inputID, type: item.type, time: { created } }
    sessions.get(sessionID)?.messages.push(message)
  }

  /** Removes the messages from this id on, and the staged revert. Ignores unknown sessions. */
  function commitRevert(sessionID: string, firstRemovedID: string): void {
    changeSession(sessionID, { revert: undefined })
    const session = sessions.get(sessionID)
    if (session) session.messages = session.messages.filter(({ id }) => String(id) < firstRemovedID)
  }

  /** Replaces fields of a session's info. Ignores unknown sessions. */
  function changeSession(sessionID: string, changes: Fields): void {
    const session = sessions.get(sessionID)
    if (session) session.info = { ...session.info, ...changes }
  }

  /** Sets when a session was updated. Ignores unknown sessions. */
  function touchSession(sessionID: string, updated: number | undefined): void {
    const { info } = sessions.get(sessionID) ?? {}
    if (info) changeSession(sessionID, { time: { ...fieldsOf(info.time), updated } })
  }
}

/** The info of a new session. Preview builds nest it. */
function sessionInfo(id: string, data: Fields, created: number | undefined): Fields {
  const { info, ...flat } = data
  return { time: { created, updated: created }, ...flat, ...fieldsOf(info), id }
}

/**
 * Returns an assistant's message after an event of its step, a retry, its texts or its tools. The same object for any
 * other event, and for deltas of texts.
 */
function messageAfter(message: Fields, type: string, data: Fields, created: number | undefined): Fields {
  const content: readonly Fields[] = Array.isArray(message.content) ? message.content : []
  const [, kind, ...rest] = type.split('.')
  const stage = rest.join('.')
  if (kind === 'step') {
    const { cost, tokens, error } = data
    // The event of a failed step has none.
    const finish = data.finish ?? (stage === 'failed' ? 'error' : undefined)
    return {
      ...message,
      finish,
      cost,
      tokens,
      error,
      retry: undefined,
      time: { ...fieldsOf(message.time), completed: created },
    }
  }
  if (kind === 'retry') return { ...message, retry: { attempt: data.attempt, at: data.at, error: data.error } }
  if (kind === 'text' || kind === 'reasoning') {
    if (stage === 'started') return { ...message, content: [...content, { type: kind, text: '' }] }
    if (stage !== 'ended') return message
    let ordinal = 0
    const changed = content.map((item) =>
      item.type === kind && ordinal++ === data.ordinal ? { ...item, text: data.text } : item,
    )
    return { ...message, content: changed }
  }
  return kind === 'tool' ? { ...message, content: contentAfterToolEvent(content, stage, data, created) } : message
}

/** Returns a message's content after a tool's event: with a new call, or a change of only the call that it names. */
function contentAfterToolEvent(
  content: readonly Fields[],
  stage: string,
  data: Fields,
  created: number | undefined,
): readonly Fields[] {
  const id = data.callID ?? data.id
  if (stage === 'input.started') {
    const call = { type: 'tool', id, name: data.name, executed: false }
    return [...content, { ...call, state: { status: 'streaming', input: '' }, time: { created } }]
  }
  return content.map((item) => {
    if (item.type !== 'tool' || item.id !== id) return item
    const state = fieldsOf(item.state)
    const time = fieldsOf(item.time)
    const { metadata, error, content: output, input, text } = data
    switch (stage) {
      case 'input.ended':
        return { ...item, state: { ...state, input: text } }
      case 'called':
        return { ...item, state: { status: 'running', input }, time: { ...time, ran: created } }
      case 'success':
        return {
          ...item,
          state: { ...state, status: 'completed', content: output, metadata },
          time: { ...time, completed: created },
        }
      case 'failed':
        return {
          ...item,
          state: { ...state, status: 'error', content: output, metadata, error },
          time: { ...time, completed: created },
        }
      default:
        return item
    }
  })
}
