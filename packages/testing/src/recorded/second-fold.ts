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
  apply(frame: Frame): void
  sessions(): readonly Fields[]
  session(id: string): Fields | undefined
  messages(id: string): readonly Fields[]
  /** The running sessions. */
  active(): Fields
  /** Of one session, or of all. */
  permissions(sessionID?: string): readonly Fields[]
  forms(sessionID?: string): readonly Fields[]
  /** The prompts that a session has accepted and not delivered, oldest first. */
  pending(sessionID: string): readonly Fields[]
}

export function createSecondFold(): SecondFold {
  const sessions = new Map<string, StoredSession>()
  const inbox = new Map<string, Fields>()
  const active = new Set<string>()
  const permissions = new Map<string, Fields>()
  const forms = new Map<string, Fields>()
  const pending = (asks: ReadonlyMap<string, Fields>, sessionID: string | undefined): readonly Fields[] =>
    [...asks.values()].filter((ask) => sessionID === undefined || ask.sessionID === sessionID)
  return {
    apply,
    sessions: () => [...sessions.values()].map(({ info }) => info),
    session: (id) => sessions.get(id)?.info,
    messages: (id) => sessions.get(id)?.messages ?? [],
    active: () => Object.fromEntries([...active].map((id) => [id, { type: 'running' }])),
    permissions: (sessionID) => pending(permissions, sessionID),
    forms: (sessionID) => pending(forms, sessionID),
    pending: (sessionID) => pending(inbox, sessionID),
  }

  function apply(frame: Frame): void {
    if (isRestart(frame)) {
      for (const passing of [active, permissions, forms]) passing.clear()
      return
    }
    const { type, properties: data, created } = frame
    const sessionID = String(data.sessionID)
    if (type.startsWith('session.')) touch(sessionID, created)
    if (applyAsk(type, data)) return
    switch (type) {
      case 'session.created':
        return void sessions.set(sessionID, { info: infoOf(sessionID, data, created), messages: [] })
      case 'session.forked': {
        const origin = sessions.get(String(data.parentID))
        // The copies have ids of their own.
        const copies = (origin?.messages ?? []).map((message) => ({ ...message, id: `${message.id}_${sessionID}` }))
        const info = { ...origin?.info, parentID: undefined, id: sessionID, time: { created, updated: created } }
        return void sessions.set(sessionID, { info, messages: copies })
      }
      case 'session.renamed':
        return change(sessionID, { title: data.title })
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
        return deliver(sessionID, { inputID: String(data.inputID), created })
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
        return change(sessionID, { revert: data.revert })
      case 'session.revert.cleared':
        return change(sessionID, { revert: undefined })
      case 'session.revert.committed':
        return commit(sessionID, String(data.to))
      default:
        return applyStep(frame)
    }
  }

  function applyAsk(type: string, data: Fields): boolean {
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

  function applyStep({ type, properties: data, created }: Frame): void {
    const { sessionID, assistantMessageID: id } = data
    const session = sessions.get(String(sessionID))
    if (!session || id === undefined) return
    const at = session.messages.findIndex((message) => message.id === id)
    if (type === 'session.step.started') {
      const { agent, model } = data
      const fresh = { id, type: 'assistant', agent, model, content: [], time: { created } }
      if (at === -1) session.messages.push(fresh)
      else session.messages[at] = { ...fresh, time: session.messages[at]?.time }
      return
    }
    const message = session.messages[at]
    if (message) session.messages[at] = nextMessage(message, type, { data, created })
  }

  function deliver(sessionID: string, { inputID, created }: { inputID: string; created: number | undefined }): void {
    const item = inbox.get(inputID)
    inbox.delete(inputID)
    if (item?.type !== 'user' && item?.type !== 'synthetic') return
    const message = { ...fieldsOf(item.data), id: inputID, type: item.type, time: { created } }
    sessions.get(sessionID)?.messages.push(message)
  }

  function commit(sessionID: string, to: string): void {
    change(sessionID, { revert: undefined })
    const session = sessions.get(sessionID)
    if (session) session.messages = session.messages.filter(({ id }) => String(id) < to)
  }

  function change(sessionID: string, more: Fields): void {
    const session = sessions.get(sessionID)
    if (session) session.info = { ...session.info, ...more }
  }

  function touch(sessionID: string, created: number | undefined): void {
    const { info } = sessions.get(sessionID) ?? {}
    if (info) change(sessionID, { time: { ...fieldsOf(info.time), updated: created } })
  }
}

/** Preview builds nest it. */
function infoOf(id: string, data: Fields, created: number | undefined): Fields {
  const { info, ...flat } = data
  return { time: { created, updated: created }, ...flat, ...fieldsOf(info), id }
}

interface Happened {
  readonly data: Fields
  readonly created: number | undefined
}

function nextMessage(message: Fields, type: string, { data, created }: Happened): Fields {
  const content: readonly Fields[] = Array.isArray(message.content) ? message.content : []
  const [, kind, ...rest] = type.split('.')
  const what = rest.join('.')
  if (kind === 'step') {
    const { cost, tokens, error } = data
    // The event of a failed step has none.
    const finish = data.finish ?? (what === 'failed' ? 'error' : undefined)
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
    if (what === 'started') return { ...message, content: [...content, { type: kind, text: '' }] }
    if (what !== 'ended') return message
    let ordinal = 0
    const changed = content.map((item) =>
      item.type === kind && ordinal++ === data.ordinal ? { ...item, text: data.text } : item,
    )
    return { ...message, content: changed }
  }
  return kind === 'tool' ? { ...message, content: nextCalls(content, what, { data, created }) } : message
}

function nextCalls(content: readonly Fields[], what: string, { data, created }: Happened): readonly Fields[] {
  const id = data.callID ?? data.id
  if (what === 'input.started') {
    const call = { type: 'tool', id, name: data.name, executed: false }
    return [...content, { ...call, state: { status: 'streaming', input: '' }, time: { created } }]
  }
  return content.map((item) => {
    if (item.type !== 'tool' || item.id !== id) return item
    const state = fieldsOf(item.state)
    const time = fieldsOf(item.time)
    const { metadata, error, content: output, input, text } = data
    switch (what) {
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
