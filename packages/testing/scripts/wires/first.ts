import { TestingError } from '../../src/error.ts'
import { fieldsAt, stringAt } from './json.ts'
import type { Calls, Wire } from './wire.ts'

/** The calls and events of OpenCode 1. */
export const createFirstWire = ({ directory, send, read }: Calls): Wire => {
  /** Resolves with the list at a path. Rejects if it isn't one. */
  const readList = async (path: string): Promise<readonly unknown[]> => {
    const list = await read(path)
    if (Array.isArray(list)) return list
    throw new TestingError('scenario', `GET ${path} did not return a list.`)
  }
  /** Resolves with the statuses by session. Empty if the server has none. */
  const statuses = async (): Promise<Record<string, unknown>> => fieldsAt(await read('/session/status'))
  /** Whether a session with this status is idle. It has none after its run. */
  const isIdle = (status: unknown): boolean => status === undefined || stringAt(status, 'type') === 'idle'
  return {
    stream: `/event?directory=${encodeURIComponent(directory)}`,
    headers: {},
    idleIn: ({ type, properties }) => (type === 'session.idle' ? stringAt(properties, 'sessionID') : undefined),
    askedIn: ({ type, properties }) => {
      if (type !== 'question.asked' && type !== 'permission.asked') return undefined
      const kind = type === 'question.asked' ? 'question' : 'permission'
      return { type: kind, id: stringAt(properties, 'id'), sessionID: stringAt(properties, 'sessionID') }
    },
    isStart: ({ type, properties }) =>
      type === 'message.part.updated' && JSON.stringify(properties).includes('"step-start"'),
    isRetry: ({ type, properties }) =>
      type === 'session.status' && JSON.stringify(properties.status).includes('"retry"'),
    isPrompt: ({ type }) => type === 'message.part.updated',
    isFailure: ({ type }) => type === 'session.error',

    create: async () => stringAt(await send('POST', '/session', {}), 'id'),
    prompt: async (sessionID, { text, parts, more }) => {
      await send('POST', `/session/${sessionID}/prompt_async`, { parts: [{ type: 'text', text }, ...parts], ...more })
    },
    command: async (sessionID, command, words) => {
      await send('POST', `/session/${sessionID}/command`, { command, arguments: words })
    },
    shell: async (sessionID, command) => {
      await send('POST', `/session/${sessionID}/shell`, { agent: 'build', command })
    },
    compact: async (sessionID) => {
      await send('POST', `/session/${sessionID}/summarize`, { providerID: 'fake', modelID: 'm1' })
    },
    abort: async (sessionID) => {
      await send('POST', `/session/${sessionID}/abort`)
    },
    answer: async ({ id }, answers) => {
      await send('POST', `/question/${id}/reply`, { answers })
    },
    dismiss: async ({ id }) => {
      await send('POST', `/question/${id}/reject`)
    },
    permit: async ({ id }, answer) => {
      await send('POST', `/permission/${id}/reply`, answer)
    },
    revert: async (sessionID, messageID) => {
      await send('POST', `/session/${sessionID}/revert`, { messageID })
    },
    unrevert: async (sessionID) => {
      await send('POST', `/session/${sessionID}/unrevert`)
    },
    fork: async (sessionID) => stringAt(await send('POST', `/session/${sessionID}/fork`, {}), 'id'),
    remove: async (sessionID) => {
      await send('DELETE', `/session/${sessionID}`)
    },

    users: async (sessionID) => {
      const messages = await readList(`/session/${sessionID}/message`)
      const users = messages.filter((each) => stringAt(each, 'info', 'role') === 'user')
      return users.map((each) => stringAt(each, 'info', 'id'))
    },
    working: async () => Object.entries(await statuses()).flatMap(([id, status]) => (isIdle(status) ? [] : [id])),
    truth: async (id) => {
      const { [id]: status } = await statuses()
      return {
        info: await read(`/session/${id}`),
        messages: await readList(`/session/${id}/message`),
        todos: await readList(`/session/${id}/todo`),
        children: (await readList(`/session/${id}/children`)).map((child) => stringAt(child, 'id')),
        ...(status === undefined ? {} : { status }),
      }
    },
  }
}
