import { openCode2Password } from '../../src/launch.ts'
import { fieldsAt, listAt, stringAt } from './json.ts'
import type { Calls, Request, Wire } from './wire.ts'

const ends = /^session\.execution\.(?:succeeded|failed|interrupted)$/

/** The calls and events of OpenCode 2's preview builds. */
export const createSecondWire = ({ directory, send, read }: Calls): Wire => {
  const at = (sessionID: string): string => `/api/session/${sessionID}`
  /** Resolves with the `data` of a response. Undefined if it has none. */
  const data = async (path: string): Promise<unknown> => fieldsAt(await read(path)).data
  /** Resolves with all messages of a session, page by page, oldest first. */
  const messages = async (sessionID: string): Promise<readonly unknown[]> => {
    const found: unknown[] = []
    for (let query = 'order=asc&limit=200'; ; ) {
      const page = fieldsAt(await read(`${at(sessionID)}/message?${query}`))
      found.push(...listAt(page.data))
      const { next } = fieldsAt(page.cursor)
      if (typeof next !== 'string' || listAt(page.data).length < 200) return found
      query = `limit=200&cursor=${encodeURIComponent(next)}`
    }
  }
  /** The path of a question's form or of a permission. */
  const askPath = ({ sessionID, type, id }: Request): string =>
    `${at(sessionID)}/${type === 'question' ? 'form' : 'permission'}/${id}`
  return {
    stream: '/api/event',
    headers: { authorization: `Basic ${Buffer.from(`opencode:${openCode2Password}`).toString('base64')}` },
    idleIn: ({ type, properties }) => (ends.test(type) ? stringAt(properties, 'sessionID') : undefined),
    askedIn: ({ type, properties }) => {
      if (type !== 'form.created' && type !== 'permission.asked') return undefined
      const [kind, ask] =
        type === 'form.created' ? (['question', properties.form] as const) : (['permission', properties] as const)
      return { type: kind, id: stringAt(ask, 'id'), sessionID: stringAt(ask, 'sessionID') }
    },
    // A step begins with the first output.
    isStart: ({ type }) => type === 'session.input.promoted',
    isRetry: ({ type }) => type === 'session.retry.scheduled',
    isPrompt: ({ type }) => type === 'session.input.admitted',
    isFailure: ({ type }) => type === 'session.execution.failed',

    create: async () => stringAt(await send('POST', '/api/session', { location: { directory } }), 'data', 'id'),
    prompt: async (sessionID, { text, parts, more }) => {
      const { noReply, agent, model, ...rest } = fieldsAt(more)
      if (agent !== undefined) await send('POST', `${at(sessionID)}/agent`, { agent })
      const { providerID, modelID: id } = fieldsAt(model)
      if (model !== undefined) await send('POST', `${at(sessionID)}/model`, { model: { id, providerID } })
      const files = parts.map((part) => ({ uri: stringAt(part, 'url'), name: stringAt(part, 'filename') }))
      await send('POST', `${at(sessionID)}/prompt`, {
        text,
        ...(files.length > 0 && { files }),
        ...(noReply === true && { resume: false }),
        ...rest,
      })
    },
    command: async (sessionID, command, words) => {
      await send('POST', `${at(sessionID)}/command`, { command, arguments: words })
    },
    shell: async (sessionID, command) => {
      await send('POST', `${at(sessionID)}/shell`, { command })
    },
    compact: async (sessionID) => {
      await send('POST', `${at(sessionID)}/compact`, {})
    },
    abort: async (sessionID) => {
      await send('POST', `${at(sessionID)}/interrupt`)
    },
    answer: async (request, answers) => {
      const form = fieldsAt(await data(askPath(request)))
      const pairs = listAt(form.fields).map((field, index) => {
        const given = answers[index] ?? []
        return [stringAt(field, 'key'), fieldsAt(field).type === 'multiselect' ? given : given[0]] as const
      })
      await send('POST', `${askPath(request)}/reply`, { answer: Object.fromEntries(pairs) })
    },
    dismiss: async (request) => {
      await send('POST', `${askPath(request)}/cancel`)
    },
    permit: async (request, answer) => {
      await send('POST', `${askPath(request)}/reply`, answer)
    },
    revert: async (sessionID, messageID) => {
      await send('POST', `${at(sessionID)}/revert/stage`, { messageID, files: true })
    },
    unrevert: async (sessionID) => {
      await send('POST', `${at(sessionID)}/revert/clear`)
    },
    fork: async (sessionID) => stringAt(await send('POST', `${at(sessionID)}/fork`, {}), 'data', 'id'),
    remove: async (sessionID) => {
      await send('DELETE', at(sessionID))
    },

    users: async (sessionID) =>
      (await messages(sessionID)).flatMap((each) => (stringAt(each, 'type') === 'user' ? [stringAt(each, 'id')] : [])),
    working: async () => Object.keys(fieldsAt(await data('/api/session/active'))),
    truth: async (id) => ({
      info: await data(at(id)),
      messages: await messages(id),
      todos: [],
      children: listAt(await data(`/api/session?parentID=${id}&limit=100`)).map((child) => stringAt(child, 'id')),
    }),
  }
}
