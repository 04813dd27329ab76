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
  const first = createOpenCode1(options)
  const second = createOpenCode2(options)
  const fetcher = createFetcher({ ...options, isLong: () => false })
  let current = first
  let isKnown = false
  let asked: Promise<void> | undefined
  return {
    name: address.url,
    connect,
    startReading,
    learn: async () => await (await chosen()).learn(),
    session: async (place) => await (await chosen()).session(place),
    message: async (place, messageID) => await (await chosen()).message(place, messageID),
    children: async (place) => await (await chosen()).children(place),
    working: async (directory) => await (await chosen()).working(directory),
    asks: async (directory) => await (await chosen()).asks(directory),
    sessions: async (query) => await (await chosen()).sessions(query),
    newestTime: async (directory) => await (await chosen()).newestTime(directory),
    spelled: async (directory) => await (await chosen()).spelled(directory),
    create: async (input) => await (await chosen()).create(input),
    guard: async (target) => await (await chosen()).guard(target),
    prompt: async (place, prompt) => await (await chosen()).prompt(place, prompt),
    command: async (place, command) => await (await chosen()).command(place, command),
    waiting: async (place) => (await (await chosen()).waiting?.(place)) ?? [],
    withdraw: async (place, messageID) => (await (await chosen()).withdraw?.(place, messageID)) ?? false,
    answer: async (ask, answer, signal) => await (await chosen()).answer(ask, answer, signal),
    reject: async (ask, message, signal) => await (await chosen()).reject(ask, message, signal),
    abort: async (place) => await (await chosen()).abort(place),
    models: async (directory) => await (await chosen()).models(directory),
    agents: async (directory) => await (await chosen()).agents(directory),
    commands: async (directory) => await (await chosen()).commands(directory),
    savedRules: async () => (await (await chosen()).savedRules?.()) ?? lacks('savedRules'),
    removeRule: async (id) => {
      const { removeRule = () => lacks('removeRule') } = await chosen()
      await removeRule(id)
    },
    fork: async (place, messageID) => await (await chosen()).fork(place, messageID),
    revert: async (place, messageID) => await (await chosen()).revert(place, messageID),
    unrevert: async (place) => await (await chosen()).unrevert(place),
    compact: async (place, model) => await (await chosen()).compact(place, model),
    close: () => {
      fetcher.close()
      first.close()
      second.close()
    },
  }

  function lacks(call: string): never {
    throw new ReplyError(
      'unsupported',
      `${address.url} has no "${call}": OpenCode 1 keeps its "always" rules in memory until it exits.`,
    )
  }

  /** Tries the likely version first, and the other one if the error shows that this server isn't of the likely version. */
  async function* connect(connection: ConnectionOptions): AsyncGenerator<readonly ReplyEvent[], void, undefined> {
    const [likely, other] = current === first ? [first, second] : [second, first]
    try {
      return yield* opened(likely, connection)
    } catch (error) {
      if (!isOfAnother(error)) throw error
      // If the other one fails too, the first error explains the problem.
      yield* opened(other, connection, error)
    }
  }

  async function* opened(
    source: OpenCodeSource,
    connection: ConnectionOptions,
    before?: unknown,
  ): AsyncGenerator<readonly ReplyEvent[], void, undefined> {
    try {
      for await (const events of source.connect(connection)) {
        current = source
        isKnown = true
        yield events
      }
    } catch (error) {
      throw before !== undefined && isOfAnother(error) ? before : error
    }
  }

  function startReading(): Reading {
    let started: Promise<Reading> | undefined
    const reading = (): Promise<Reading> => {
      started ??= chosen().then((source) => source.startReading())
      return started
    }
    return {
      working: async (directory) => await (await reading()).working(directory),
      session: async (place, reach) => await (await reading()).session(place, reach),
    }
  }

  async function chosen(): Promise<OpenCodeSource> {
    if (!isKnown) {
      asked ??= ask().finally(() => {
        asked = undefined
      })
      await asked
    }
    return current
  }

  /**
   * Version 1 answers with its web app, or from 1.18 on with a health response without a process id. If nothing
   * answers, the call itself will report the problem.
   */
  async function ask(): Promise<void> {
    const { authorization } = address
    const headers = { accept: 'application/json', ...(authorization !== undefined && { authorization }) }
    const request = new Request(`${address.url}/api/health`, { headers })
    const response = await fetcher.fetch(request).catch(() => undefined)
    if (!response || isKnown) return
    const health: unknown = await response.json().catch(() => undefined)
    current = typeof health === 'object' && health !== null && 'pid' in health ? second : first
    isKnown = response.ok
  }
}

function isOfAnother(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'not-opencode'
}
