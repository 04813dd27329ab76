import { fieldsOf } from '../fields.ts'
import type { Answers } from './answers.ts'
import { json } from './response.ts'
import { createSecondFold } from './second-fold.ts'

/** OpenCode 2, whose responses are `{ data }`, or `{ data, cursor }` for pages. */
export function createSecondAnswers({ version }: { readonly version: string }): Answers {
  const fold = createSecondFold()
  const lists = new Map(
    Object.entries({ message: fold.messages, permission: fold.permissions, form: fold.forms, pending: fold.pending }),
  )
  return {
    greeting: '{"id":"evt_0","type":"server.connected","data":{}}',
    isStream: (pathname) => pathname === '/api/event',
    apply: fold.apply,
    read,
    post: (pathname) => {
      if (pathname === '/api/session') return json({ data: fold.sessions()[0] })
      return pathname.endsWith('/prompt') ? json({ data: {} }) : new Response(null, { status: 204 })
    },
    isPassing: () => false,
  }

  function read({ pathname, searchParams }: URL): Response {
    if (pathname === '/api/health') return json({ healthy: true, version, pid: 1 })
    if (pathname === '/api/location') return json({ directory: searchParams.get('location[directory]') })
    if (pathname === '/api/model') return json({ data: [] })
    if (pathname === '/api/permission/request') return json({ data: fold.permissions() })
    if (pathname === '/api/form/request') return json({ data: fold.forms() })
    if (pathname === '/api/session/active') return json({ data: fold.active() })
    if (pathname === '/api/session') return json({ data: listed(searchParams.get('parentID')), cursor: {} })
    const [, api, route, id = '', rest, item] = pathname.split('/')
    const session = fold.session(id)
    if (api !== 'api' || route !== 'session' || session === undefined) return gone(pathname)
    if (rest === undefined) return json({ data: session })
    if (rest === 'message' && item === undefined) return page(fold.messages(id), searchParams)
    const list = lists.get(rest)?.(id)
    if (list === undefined) return gone(pathname)
    if (item === undefined) return json({ data: list })
    const found = list.find((one) => fieldsOf(one).id === item)
    return found === undefined ? gone(pathname) : json({ data: found })
  }

  /** `null` asks for the sessions without a parent. */
  function listed(parentID: string | null): readonly unknown[] {
    const wanted = parentID === 'null' ? undefined : (parentID ?? undefined)
    return fold.sessions().filter((session) => parentID === null || fieldsOf(session).parentID === wanted)
  }
}

/** A page, newest first unless asked otherwise. Its cursor is where the next one begins. */
function page(messages: readonly unknown[], search: URLSearchParams): Response {
  const limit = Number(search.get('limit') ?? 50)
  const ordered = search.get('order') === 'asc' ? messages : messages.toReversed()
  const from = Number(search.get('cursor') ?? 0)
  const end = from + limit
  const next = end < ordered.length ? { next: String(end) } : {}
  return json({ data: ordered.slice(from, end), cursor: next })
}

function gone(pathname: string): Response {
  return json({ _tag: 'NotFoundError', message: `Nothing at ${pathname}.` }, 404)
}
