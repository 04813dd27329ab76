import { setTimeout as sleep } from 'node:timers/promises'
import { TestingError } from '../src/error.ts'
import { isOpenCode2 } from '../src/generation.ts'
import type { OpencodeServer } from '../src/launch.ts'
import type { ScriptedModel } from '../src/model/start.ts'
import type { RecordedPost, RecordedSession, RecordedState } from '../src/recordings.ts'
import { promptFor, type Scenario } from '../src/scenario.ts'
import type { Frame, Tape } from './tape.ts'
import { createFirstWire } from './wires/first.ts'
import { createSecondWire } from './wires/second.ts'
import type { Calls, Wire } from './wires/wire.ts'

/** The calls and waits that a driver plays a scenario with. Every call but a read is recorded. */
export interface Kit {
  readonly opencode: OpencodeServer
  readonly model: ScriptedModel
  readonly tape: Tape
  readonly scenario: Scenario
  readonly wire: Wire
  /** Creates a session, counts it as one of the roots, and resolves with its id. */
  create(): Promise<string>
  /** Counts a session that was made otherwise, for example by a fork, as one of the roots. */
  adopt(sessionID: string): void
  /** Removes a session that the server deleted from the roots. `settled` doesn't wait for it. */
  forget(sessionID: string): void
  /** Sends a prompt that names a script, by default the scenario's own. Resolves when the server has accepted it. */
  prompt(
    sessionID: string,
    options?: { script?: string; words?: string; parts?: readonly unknown[]; more?: object },
  ): Promise<void>
  /** Runs a slash command. */
  command(sessionID: string, name: string, words: string): Promise<void>
  /**
   * Calls the server and records the call, whatever its status. Resolves with the JSON response, or undefined if it has
   * no body. Rejects if the body isn't JSON.
   */
  send(method: string, path: string, body?: unknown): Promise<unknown>
  /** Resolves with the JSON response to a GET, which isn't recorded. Rejects for a status other than 2xx. */
  read(path: string): Promise<unknown>
  /**
   * Resolves with the first event that fits, from frame number `since` on, which may have come before. Rejects with
   * `what` after a minute.
   */
  event(what: string, fits: (frame: Frame) => boolean, since?: number): Promise<Frame>
  /** Waits until a session, by default any, is reported as idle, from frame number `since` on. Resolves with its id. */
  idle(sessionID?: string, since?: number): Promise<string>
  /** Sends a prompt and waits until its session has become idle again. */
  turn(sessionID: string, options?: Parameters<Kit['prompt']>[1]): Promise<void>
  /** Connects the event streams again, after the server was restarted. */
  reconnect(): Promise<void>
  /** Resolves when every session is idle over REST and the stream has been quiet. */
  settled(): Promise<void>
  /** Resolves with the state of every root and its sub-agents over REST, and the calls so far. */
  truth(): Promise<RecordedState>
}

/** A server with its model and streams, and the scenario to play on it. */
interface Recorded {
  readonly opencode: OpencodeServer
  readonly model: ScriptedModel
  readonly tape: Tape
  /** The other streams that are recorded beside it. */
  readonly others: readonly Tape[]
  readonly scenario: Scenario
}

/** Returns the calls and events of a server's generation. */
export const createWire = (version: string, calls: Calls): Wire =>
  isOpenCode2(version) ? createSecondWire(calls) : createFirstWire(calls)

/** Returns the kit of one scenario on one server, with no calls and no roots at first. */
export const createKit = ({ opencode, model, tape, others, scenario }: Recorded): Kit => {
  const posted: RecordedPost[] = []
  const roots: string[] = []
  const forgotten = new Set<string>()
  const { version, directory } = opencode
  /** The address of a path. Version 1 needs the project's directory in each. */
  const url = (path: string): string => {
    const query = `directory=${encodeURIComponent(directory)}`
    return isOpenCode2(version)
      ? `${opencode.url}${path}`
      : `${opencode.url}${path}${path.includes('?') ? '&' : '?'}${query}`
  }

  /**
   * Calls the server and records the call, whatever its status. Resolves with the JSON response, or undefined without
   * a body. Rejects if the body isn't JSON.
   */
  const send: Kit['send'] = async (method, path, body) => {
    const headers = { ...wire.headers, 'content-type': 'application/json' }
    const init = { method, headers }
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
  /**
   * Resolves with the JSON response to a GET, which isn't recorded. Tries once more if the connection fails. Rejects
   * for a status other than 2xx.
   */
  const read: Kit['read'] = async (path) => {
    const init = { headers: wire.headers }
    // The first request on a kept-alive socket fails once after a restart.
    const response = await fetch(url(path), init).catch(() => fetch(url(path), init))
    if (!response.ok)
      throw new TestingError('scenario', `GET ${path} answered ${response.status}: ${await response.text()}`)
    return response.json()
  }
  const wire = createWire(version, { directory, send, read })

  const kit: Kit = {
    opencode,
    model,
    tape,
    scenario,
    wire,
    send,
    read,
    create: async () => {
      const id = await wire.create()
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
    prompt: (sessionID, { script = scenario.name, words, parts = [], more = {} } = {}) =>
      wire.prompt(sessionID, { text: promptFor(script, words), parts, more }),
    command: wire.command,
    event: (what, fits, since = 0) => tape.seen(what, (frame, index) => index >= since && fits(frame)),
    idle: async (sessionID, since) => {
      const isIt = (id: string | undefined): boolean => (sessionID === undefined ? id !== undefined : id === sessionID)
      const frame = await kit.event(`${sessionID ?? 'a session'} is idle`, (each) => isIt(wire.idleIn(each)), since)
      return wire.idleIn(frame) ?? ''
    },
    turn: async (sessionID, options) => {
      const since = tape.frames.length
      await kit.prompt(sessionID, options)
      await kit.idle(sessionID, since)
    },
    reconnect: async () => {
      await Promise.all([tape, ...others].map((each) => each.reconnect()))
      if (others.length > 0) await sleep(500)
    },
    settled: async () => {
      do {
        await tape.quiet(400)
        await sleep(20)
      } while (!(await wire.working()).every((id) => forgotten.has(id)))
      await tape.quiet(400)
    },
    truth: async () => {
      const sessions: Record<string, RecordedSession> = {}
      /** Reads a session and its sub-agents, unless it was read. */
      const visit = async (id: string): Promise<void> => {
        if (sessions[id] !== undefined) return
        const session = await wire.truth(id)
        sessions[id] = session
        for (const child of session.children) await visit(child)
      }
      for (const id of roots) await visit(id)
      return {
        version,
        scenario: scenario.name,
        directory,
        roots,
        sessions,
        posted,
      }
    },
  }
  return kit
}
