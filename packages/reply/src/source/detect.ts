import { ReplyError } from '../error.ts'
import type { ReplyEvent } from '../event.ts'
import { createFetcher } from './http/fetcher.ts'
import { createOpenCode1, type OpenCode1Options } from './opencode1/source.ts'
import { createOpenCode2 } from './opencode2/source.ts'
import type { ConnectionOptions, OpenCodeSource, Reading } from './port.ts'

/**
 * Creates a source for a server of either OpenCode generation. Each connection first tries the generation that answered
 * last (initially version 1), and then the other one if something else answers. A call before the first connection
 * requests `GET /api/health`.
 */
export function createOpenCode(options: OpenCode1Options): OpenCodeSource {
  const { address } = options
  const openCode1 = createOpenCode1(options)
  const openCode2 = createOpenCode2(options)
  const fetcher = createFetcher({ ...options, isLong: () => false })
  let current = openCode1
  let isDetected = false
  let healthRequest: Promise<void> | undefined
  return {
    name: address.url,
    connect,
    startReading,
    learn: async () => await (await detectSource()).learn(),
    session: async (place) => await (await detectSource()).session(place),
    message: async (place, messageID) => await (await detectSource()).message(place, messageID),
    children: async (place) => await (await detectSource()).children(place),
    working: async (directory) => await (await detectSource()).working(directory),
    asks: async (directory) => await (await detectSource()).asks(directory),
    sessions: async (query) => await (await detectSource()).sessions(query),
    newestTime: async (directory) => await (await detectSource()).newestTime(directory),
    spelled: async (directory) => await (await detectSource()).spelled(directory),
    create: async (input) => await (await detectSource()).create(input),
    guard: async (target) => await (await detectSource()).guard(target),
    prompt: async (place, prompt, signal) => await (await detectSource()).prompt(place, prompt, signal),
    command: async (place, command, signal) => await (await detectSource()).command(place, command, signal),
    waiting: async (place) => (await (await detectSource()).waiting?.(place)) ?? [],
    withdraw: async (place, messageID) => (await (await detectSource()).withdraw?.(place, messageID)) ?? false,
    answer: async (ask, answer, signal) => await (await detectSource()).answer(ask, answer, signal),
    reject: async (ask, message, signal) => await (await detectSource()).reject(ask, message, signal),
    abort: async (place) => await (await detectSource()).abort(place),
    models: async (directory) => await (await detectSource()).models(directory),
    takes: async (target) => await (await detectSource()).takes(target),
    agents: async (directory) => await (await detectSource()).agents(directory),
    commands: async (directory) => await (await detectSource()).commands(directory),
    savedRules: async () => (await (await detectSource()).savedRules?.()) ?? throwUnsupported('savedRules'),
    removeRule: async (id) => {
      const { removeRule = () => throwUnsupported('removeRule') } = await detectSource()
      await removeRule(id)
    },
    fork: async (place, messageID) => await (await detectSource()).fork(place, messageID),
    revert: async (place, messageID) => await (await detectSource()).revert(place, messageID),
    unrevert: async (place) => await (await detectSource()).unrevert(place),
    compact: async (place, model) => await (await detectSource()).compact(place, model),
    close: () => {
      fetcher.close()
      openCode1.close()
      openCode2.close()
    },
  }

  /** Throws `unsupported` for a call that only version 2 has. */
  function throwUnsupported(call: string): never {
    throw new ReplyError(
      'unsupported',
      `${address.url} has no "${call}": OpenCode 1 keeps its "always" rules in memory until it exits.`,
    )
  }

  /**
   * Yields the events of the likely version's connection. If this server isn't of that version, tries the other one,
   * and throws the first error if it isn't of that version either.
   */
  async function* connect(connection: ConnectionOptions): AsyncGenerator<readonly ReplyEvent[], void, undefined> {
    const [likely, other] = current === openCode1 ? [openCode1, openCode2] : [openCode2, openCode1]
    try {
      return yield* connectTo(likely, connection)
    } catch (error) {
      if (!isNotThisVersion(error)) throw error
      // If the other one fails too, the first error explains the problem.
      yield* connectTo(other, connection, error)
    }
  }

  /**
   * Yields a source's events, and selects the source at the first of them. Throws the earlier error, if there is one,
   * instead of an error that the server isn't of the source's version either.
   */
  async function* connectTo(
    source: OpenCodeSource,
    connection: ConnectionOptions,
    earlierError?: unknown,
  ): AsyncGenerator<readonly ReplyEvent[], void, undefined> {
    try {
      for await (const events of source.connect(connection)) {
        current = source
        isDetected = true
        yield events
      }
    } catch (error) {
      throw earlierError !== undefined && isNotThisVersion(error) ? earlierError : error
    }
  }

  /** Begins a reading of the detected source, at its first call. */
  function startReading(): Reading {
    let started: Promise<Reading> | undefined
    const reading = (): Promise<Reading> => {
      started ??= detectSource().then((source) => source.startReading())
      return started
    }
    return {
      working: async (directory) => await (await reading()).working(directory),
      session: async (place, reach) => await (await reading()).session(place, reach),
    }
  }

  /**
   * Returns the source of the server's version. Requests its health first if the version is unknown, once for
   * simultaneous calls. Returns the likely one if that tells nothing.
   */
  async function detectSource(): Promise<OpenCodeSource> {
    if (!isDetected) {
      healthRequest ??= selectByHealth().finally(() => {
        healthRequest = undefined
      })
      await healthRequest
    }
    return current
  }

  /**
   * Requests `GET /api/health` and selects version 1 or 2 by the response. Selects nothing if the server doesn't answer
   * or a connection has selected a version meanwhile: then the call itself reports the problem. A response with an
   * error status is only trusted until the next call. Version 1 answers with its web app, or from 1.18 on with a health
   * response without a process id.
   */
  async function selectByHealth(): Promise<void> {
    const { authorization } = address
    const headers = { accept: 'application/json', ...(authorization !== undefined && { authorization }) }
    const request = new Request(`${address.url}/api/health`, { headers })
    const response = await fetcher.fetch(request).catch(() => undefined)
    if (!response || isDetected) return
    const health: unknown = await response.json().catch(() => undefined)
    current = typeof health === 'object' && health !== null && 'pid' in health ? openCode2 : openCode1
    isDetected = response.ok
  }
}

/** Whether the error means that the server isn't OpenCode of the source's version. */
function isNotThisVersion(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'not-opencode'
}
