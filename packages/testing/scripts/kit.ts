import { setTimeout as sleep } from 'node:timers/promises'
import { TestingError } from '../src/error.ts'
import type { Opencode } from '../src/launch.ts'
import type { Model } from '../src/model.ts'
import type { Posted, SessionTruth, Truth } from '../src/recordings.ts'
import { promptFor, type Scenario } from '../src/scenario.ts'
import type { Frame, Tape } from './tape.ts'

/** What a driver plays a scenario with. Everything but reads is noted down. */
export interface Kit {
  readonly opencode: Opencode
  readonly model: Model
  readonly tape: Tape
  readonly scenario: Scenario
  create(): Promise<string>
  /** Counts a session that came about otherwise, say by a fork, as one of the roots. */
  adopt(sessionID: string): void
  /** Neither waits for a session nor puts it into the truth, since the server has forgotten it. */
  forget(sessionID: string): void
  /** Sends a prompt that names a script, by default the scenario's own. */
  prompt(
    sessionID: string,
    options?: { script?: string; words?: string; parts?: readonly unknown[]; more?: object },
  ): Promise<void>
  post(path: string, body?: unknown): Promise<unknown>
  send(method: string, path: string, body?: unknown): Promise<unknown>
  read(path: string): Promise<unknown>
  /** The first event of a type, from frame number `since` on, whose properties fit. */
  event(type: string, fits?: (properties: Frame['properties']) => boolean, since?: number): Promise<Frame['properties']>
  /** Sends a prompt and waits until its session has become idle again. */
  turn(sessionID: string, options?: Parameters<Kit['prompt']>[1]): Promise<void>
  /** Connects the event streams anew, after the server was started again. */
  reconnect(): Promise<void>
  /** Resolves when every session is idle over REST and the stream has been quiet. */
  settled(): Promise<void>
  truth(): Promise<Truth>
}

/** The string at a path of an unknown value, or a failure that names the path. */
export const stringAt = (value: unknown, ...path: readonly string[]): string => {
  const found = path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    value,
  )
  if (typeof found === 'string') return found
  throw new TestingError('scenario', `No string at ${path.join('.')} of ${JSON.stringify(value).slice(0, 300)}.`)
}

export interface KitOptions {
  readonly opencode: Opencode
  readonly model: Model
  readonly tape: Tape
  /** The other streams that are recorded beside it. */
  readonly others: readonly Tape[]
  readonly scenario: Scenario
}

export const createKit = ({ opencode, model, tape, others, scenario }: KitOptions): Kit => {
  const posted: Posted[] = []
  const roots: string[] = []
  const forgotten = new Set<string>()
  const url = (path: string): string =>
    `${opencode.url}${path}${path.includes('?') ? '&' : '?'}directory=${encodeURIComponent(opencode.directory)}`

  const send: Kit['send'] = async (method, path, body) => {
    const init = { method, headers: { 'content-type': 'application/json' } }
    const response = await fetch(url(path), body === undefined ? init : { ...init, body: JSON.stringify(body) })
    const answer = await response.text()
    posted.push({ method, path, ...(body === undefined ? {} : { body }), status: response.status })
    try {
      return answer === '' ? undefined : JSON.parse(answer)
    } catch {
      throw new TestingError(
        'scenario',
        `${method} ${path} answered ${response.status} without JSON: ${answer.slice(0, 100)}`,
      )
    }
  }
  const read: Kit['read'] = async (path) => {
    // The first request on a kept-alive socket fails once after a restart.
    const response = await fetch(url(path)).catch(() => fetch(url(path)))
    if (!response.ok)
      throw new TestingError('scenario', `GET ${path} answered ${response.status}: ${await response.text()}`)
    return response.json()
  }
  const readList = async (path: string): Promise<readonly unknown[]> => {
    const list = await read(path)
    if (Array.isArray(list)) return list
    throw new TestingError('scenario', `GET ${path} did not return a list.`)
  }
  const statuses = async (): Promise<Record<string, unknown>> =>
    (await read('/session/status')) as Record<string, unknown>
  const isIdle = (status: unknown): boolean => status === undefined || stringAt(status, 'type') === 'idle'

  const kit: Kit = {
    opencode,
    model,
    tape,
    scenario,
    send,
    read,
    post: (path, body) => send('POST', path, body),
    create: async () => {
      const id = stringAt(await send('POST', '/session', {}), 'id')
      roots.push(id)
      return id
    },
    adopt: (id) => {
      roots.push(id)
    },
    forget: (id) => {
      forgotten.add(id)
      roots.splice(roots.indexOf(id), 1)
    },
    prompt: async (sessionID, { script = scenario.name, words, parts = [], more = {} } = {}) => {
      const said = { type: 'text', text: promptFor(script, words) }
      await send('POST', `/session/${sessionID}/prompt_async`, { parts: [said, ...parts], ...more })
    },
    event: async (type, fits = () => true, since = 0) => {
      const frame = await tape.seen(
        type,
        (each, index) => index >= since && each.type === type && fits(each.properties),
      )
      return frame.properties
    },
    turn: async (sessionID, options) => {
      const since = tape.frames.length
      await kit.prompt(sessionID, options)
      await kit.event('session.idle', (properties) => properties.sessionID === sessionID, since)
    },
    reconnect: async () => {
      await Promise.all([tape, ...others].map((each) => each.reconnect()))
      if (others.length > 0) await sleep(500)
    },
    settled: async () => {
      do {
        await tape.quiet(400)
        await sleep(20)
      } while (!Object.entries(await statuses()).every(([id, status]) => forgotten.has(id) || isIdle(status)))
      await tape.quiet(400)
    },
    truth: async () => {
      const status = await statuses()
      const sessions: Record<string, SessionTruth> = {}
      const visit = async (id: string): Promise<void> => {
        if (sessions[id] !== undefined) return
        const children = (await readList(`/session/${id}/children`)).map((child) => stringAt(child, 'id'))
        sessions[id] = {
          info: await read(`/session/${id}`),
          messages: await readList(`/session/${id}/message`),
          todos: await readList(`/session/${id}/todo`),
          children,
          ...(status[id] === undefined ? {} : { status: status[id] }),
        }
        for (const child of children) await visit(child)
      }
      for (const id of roots) await visit(id)
      return {
        version: opencode.version,
        scenario: scenario.name,
        directory: opencode.directory,
        roots,
        sessions,
        posted,
      }
    },
  }
  return kit
}
