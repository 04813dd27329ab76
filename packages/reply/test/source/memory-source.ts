import type { ReplyEvent } from '../../src/index.ts'
import { ReplyError } from '../../src/index.ts'
import type { Capabilities, SessionInfo, Source } from '../../src/source.ts'

export interface MemorySource {
  readonly source: Source
  /** The texts of the prompts, in order. */
  readonly prompts: readonly string[]
  readonly aborted: readonly string[]
  /** How many sessions were read. */
  readonly reads: number
  /** Sends events of a session. */
  send(...events: readonly ReplyEvent[]): void
  /** Breaks the connection. */
  cut(): void
}

/** An agent in this process: it has nothing but its events, unless `capabilities` and `calls` say more. */
export function createMemorySource(
  capabilities: Partial<Capabilities> = {},
  calls: Partial<Source> = {},
): MemorySource {
  const prompts: string[] = []
  const aborted: string[] = []
  const sessions = new Map<string, SessionInfo>()
  let reads = 0
  let queue: (readonly ReplyEvent[])[] = []
  let wake = (): void => {}
  let isCut = false
  const refused = async (): Promise<never> => {
    reads += 1
    throw new ReplyError('refused', 'It shows no state of sessions.')
  }
  const source: Source = {
    name: 'an agent in memory',
    async *connect({ signal }) {
      isCut = false
      queue = []
      signal.addEventListener('abort', () => wake(), { once: true })
      yield [{ type: 'connected', at: 1 }]
      while (!signal.aborted && !isCut) {
        const next = queue.shift()
        if (next) yield next
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
      if (isCut) throw new ReplyError('unreachable', 'The agent died.')
    },
    learn: async () => ({
      canRead: false,
      takesPromptsWhileBusy: false,
      queuesPrompts: false,
      showsNotes: false,
      listsEverywhere: false,
      ...capabilities,
    }),
    startReading: () => ({ working: refused, session: refused }),
    session: async ({ sessionID }) => sessions.get(sessionID) ?? gone(sessionID),
    message: refused,
    children: async () => [],
    working: async () => new Map(),
    asks: async () => ({ asks: [], isWhole: true }),
    sessions: async () => [...sessions.values()],
    newestTime: async () => undefined,
    spelled: async (directory) => directory,
    create: async ({ directory, title }) => {
      const info = { sessionID: `ses_${sessions.size + 1}`, directory, title }
      sessions.set(info.sessionID, info)
      return info
    },
    prompt: async (_, { text = '' }) => void prompts.push(text),
    command: async (_, { command }) => void prompts.push(`/${command}`),
    answer: async () => {},
    reject: async () => {},
    abort: async ({ sessionID }) => void aborted.push(sessionID),
    models: async () => [],
    close: () => wake(),
    ...calls,
  }
  return {
    source,
    prompts,
    aborted,
    get reads() {
      return reads
    },
    send: (...events) => {
      queue.push(events)
      wake()
    },
    cut: () => {
      isCut = true
      wake()
    },
  }
}

function gone(sessionID: string): never {
  throw new ReplyError('gone', `There is no session ${sessionID}.`)
}
