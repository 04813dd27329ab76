import { fieldsOf } from '../fields.ts'
import { createFold, type Fold } from './fold.ts'
import type { Frame } from './frames.ts'
import { createSecondFold } from './second-fold.ts'

/** The REST answers of a server of one generation, folded from the events of a recording. */
interface RestAnswers {
  /** The frame that opens each stream. */
  readonly greeting: string
  /** Whether a path opens an event stream. */
  isStream(pathname: string): boolean
  /** Applies the next frame, so that later answers include it. */
  applyFrame(frame: Frame): void
  /** Answers a GET as of the frames that were applied. Not found for routes that a client doesn't need. */
  get(url: URL): Response
  /** Answers a POST. The recording continues unchanged, so it has no effect. */
  post(pathname: string): Response
  /** Whether no real server stays long in this state, if this event is the next. */
  isPassing(next: Frame): boolean
}

/** A response with a JSON body. */
export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } })
}

/** OpenCode 1's response for an unknown path. */
function firstNotFound(pathname: string): Response {
  return json({ name: 'NotFoundError', data: { message: `Nothing at ${pathname}.` } }, 404)
}

/**
 * Returns what answers REST like OpenCode 1, as of the applied frames. A client that creates a session gets the first
 * root of `frames`.
 */
export function createFirstAnswers(version: string, frames: readonly Frame[]): RestAnswers {
  const fold = createFold()
  return {
    greeting: '{"type":"server.connected","properties":{}}',
    isStream: (pathname) => pathname === '/global/event' || pathname === '/event',
    applyFrame: fold.applyFrame,
    get: ({ pathname }) => get(pathname),
    post: (pathname) => {
      if (pathname === '/session') return json(recordedRoot())
      return pathname.endsWith('/prompt_async') ? new Response(null, { status: 204 }) : json(true)
    },
    isPassing: (next) => fold.isBeginning() || (fold.isEnding() && !beginsAnother(next, fold)),
  }

  /** Answers a GET as of the frames that were applied. Not found for routes that a client doesn't need. */
  function get(pathname: string): Response {
    const [, first, id = '', resource, messageID] = pathname.split('/')
    if (pathname === '/global/health') return json({ healthy: true, version })
    if (pathname === '/session/status') return json(fold.statuses())
    if (pathname === '/question') return json(fold.questions())
    if (pathname === '/permission') return json(fold.permissions())
    if (pathname === '/config/providers') return json({ providers: [], default: {} })
    if (pathname === '/session' || pathname === '/experimental/session') return json(fold.sessions())
    if (pathname === '/project') return json(projects())
    if (first !== 'session' || fold.session(id) === undefined) return firstNotFound(pathname)
    if (resource === undefined) return json(fold.session(id))
    if (resource === 'message' && messageID === undefined) return json(fold.messages(id))
    if (resource === 'message') return getMessage(id, messageID)
    if (resource === 'todo') return json(fold.todos(id))
    return resource === 'children' ? json(fold.children(id)) : firstNotFound(pathname)
  }

  /** Answers with a message. Not found if the session doesn't have it. */
  function getMessage(sessionID: string, messageID: string | undefined): Response {
    const message = fold.messages(sessionID)?.find((stored) => fieldsOf(fieldsOf(stored).info).id === messageID)
    return message === undefined ? firstNotFound(`/session/${sessionID}/message/${messageID}`) : json(message)
  }

  /** Returns the directories of the sessions, each as a project with the same id. */
  function projects(): readonly unknown[] {
    const directories = new Set(fold.sessions().map((session) => fieldsOf(session).directory))
    return [...directories].map((worktree) => ({ id: 'global', worktree }))
  }

  /** Returns the first root session of the recording, as of its first event. Undefined if there is none. */
  function recordedRoot(): unknown {
    const sessions = frames.filter((frame) => frame.type === 'session.created' || frame.type === 'session.updated')
    return sessions.map((frame) => fieldsOf(frame.properties.info)).find((info) => info.parentID === undefined)
  }
}

/**
 * Whether another run begins with this event, by a busy session or a new prompt, so that the current one can't end any
 * more.
 */
function beginsAnother(frame: Frame, fold: Fold): boolean {
  if (frame.type === 'session.status') return fieldsOf(frame.properties.status).type !== 'idle'
  const { id, role } = fieldsOf(frame.properties.info)
  return frame.type === 'message.updated' && role === 'user' && !fold.hasMessage(String(id))
}

/** Returns what answers REST like OpenCode 2, as of the applied frames: `{ data }`, or `{ data, cursor }` for pages. */
export function createSecondAnswers(version: string): RestAnswers {
  const fold = createSecondFold()
  const lists = new Map(
    Object.entries({ message: fold.messages, permission: fold.permissions, form: fold.forms, pending: fold.pending }),
  )
  return {
    greeting: '{"id":"evt_0","type":"server.connected","data":{}}',
    isStream: (pathname) => pathname === '/api/event',
    applyFrame: fold.applyFrame,
    get,
    post: (pathname) => {
      if (pathname === '/api/session') return json({ data: fold.sessions()[0] })
      return pathname.endsWith('/prompt') ? json({ data: {} }) : new Response(null, { status: 204 })
    },
    isPassing: () => false,
  }

  /** Answers a GET as of the frames that were applied. Not found for routes that a client doesn't need. */
  function get({ pathname, searchParams }: URL): Response {
    if (pathname === '/api/health') return json({ healthy: true, version, pid: 1 })
    if (pathname === '/api/location') return json({ directory: searchParams.get('location[directory]') })
    if (pathname === '/api/model') return json({ data: [] })
    if (pathname === '/api/permission/request') return json({ data: fold.permissions() })
    if (pathname === '/api/form/request') return json({ data: fold.forms() })
    if (pathname === '/api/session/active') return json({ data: fold.active() })
    if (pathname === '/api/session') return json({ data: sessionsUnder(searchParams.get('parentID')), cursor: {} })
    const [, api, route, id = '', resource, item] = pathname.split('/')
    const session = fold.session(id)
    if (api !== 'api' || route !== 'session' || session === undefined) return secondNotFound(pathname)
    if (resource === undefined) return json({ data: session })
    if (resource === 'message' && item === undefined) return pageOf(fold.messages(id), searchParams)
    const list = lists.get(resource)?.(id)
    if (list === undefined) return secondNotFound(pathname)
    if (item === undefined) return json({ data: list })
    const found = list.find((one) => fieldsOf(one).id === item)
    return found === undefined ? secondNotFound(pathname) : json({ data: found })
  }

  /** Returns the sessions of a parent, those without one for the text "null", or all for null. */
  function sessionsUnder(parentID: string | null): readonly unknown[] {
    const wanted = parentID === 'null' ? undefined : (parentID ?? undefined)
    return fold.sessions().filter((session) => parentID === null || fieldsOf(session).parentID === wanted)
  }
}

/**
 * Answers with a page of 50 messages, or as many as the query asks for, newest first unless it asks for `asc`. The
 * cursor is where the next page begins. Empty at the last one.
 */
function pageOf(messages: readonly unknown[], search: URLSearchParams): Response {
  const limit = Number(search.get('limit') ?? 50)
  const ordered = search.get('order') === 'asc' ? messages : messages.toReversed()
  const from = Number(search.get('cursor') ?? 0)
  const end = from + limit
  const next = end < ordered.length ? { next: String(end) } : {}
  return json({ data: ordered.slice(from, end), cursor: next })
}

/** OpenCode 2's response for an unknown path. */
function secondNotFound(pathname: string): Response {
  return json({ _tag: 'NotFoundError', message: `Nothing at ${pathname}.` }, 404)
}
