import { fieldsOf } from '../fields.ts'
import type { Answers } from './answers.ts'
import { createFold, type Fold } from './fold.ts'
import type { Frame } from './frames.ts'
import { json, missing } from './response.ts'

export interface FirstAnswersOptions {
  readonly version: string
  readonly frames: readonly Frame[]
}

/** OpenCode 1. */
export function createFirstAnswers({ version, frames }: FirstAnswersOptions): Answers {
  const fold = createFold()
  return {
    greeting: '{"type":"server.connected","properties":{}}',
    isStream: (pathname) => pathname === '/global/event' || pathname === '/event',
    apply: fold.apply,
    read: ({ pathname }) => read(pathname),
    post: (pathname) => {
      if (pathname === '/session') return json(firstSession())
      return pathname.endsWith('/prompt_async') ? new Response(null, { status: 204 }) : json(true)
    },
    isPassing: (next) => fold.isBeginning() || (fold.isEnding() && !beginsAnother(next, fold)),
  }

  function read(pathname: string): Response {
    const [, first, id = '', rest, messageID] = pathname.split('/')
    if (pathname === '/global/health') return json({ healthy: true, version })
    if (pathname === '/session/status') return json(fold.statuses())
    if (pathname === '/question') return json(fold.questions())
    if (pathname === '/permission') return json(fold.permissions())
    if (pathname === '/config/providers') return json({ providers: [], default: {} })
    if (pathname === '/session' || pathname === '/experimental/session') return json(fold.sessions())
    if (pathname === '/project') return json(projects())
    if (first !== 'session' || fold.session(id) === undefined) return missing(pathname)
    if (rest === undefined) return json(fold.session(id))
    if (rest === 'message' && messageID === undefined) return json(fold.messages(id))
    if (rest === 'message') return oneMessage(id, messageID)
    if (rest === 'todo') return json(fold.todos(id))
    return rest === 'children' ? json(fold.children(id)) : missing(pathname)
  }

  function oneMessage(sessionID: string, messageID: string | undefined): Response {
    const message = fold.messages(sessionID)?.find((stored) => fieldsOf(fieldsOf(stored).info).id === messageID)
    return message === undefined ? missing(`/session/${sessionID}/message/${messageID}`) : json(message)
  }

  /** Each directory counts as a project. */
  function projects(): readonly unknown[] {
    const directories = new Set(fold.sessions().map((session) => fieldsOf(session).directory))
    return [...directories].map((worktree) => ({ id: 'global', worktree }))
  }

  function firstSession(): unknown {
    const sessions = frames.filter((frame) => frame.type === 'session.created' || frame.type === 'session.updated')
    return sessions.map((frame) => fieldsOf(frame.properties.info)).find((info) => info.parentID === undefined)
  }
}

/** Whether another run begins here, so that the current one can't end any more. */
function beginsAnother(frame: Frame, fold: Fold): boolean {
  if (frame.type === 'session.status') return fieldsOf(frame.properties.status).type !== 'idle'
  const { id, role } = fieldsOf(frame.properties.info)
  return frame.type === 'message.updated' && role === 'user' && !fold.knows(String(id))
}
