import { readFileSync } from 'node:fs'
import { type Clock, systemClock } from '@reply/core'
import type { AcpClient } from '../../src/acp/client.ts'
import { clientOf } from '../../src/acp/client.ts'
import { type AcpOptions, toSettings } from '../../src/acp/options.ts'
import { createAcpSource } from '../../src/acp/source.ts'
import { createFake } from './fake.ts'

interface Line {
  readonly from: 'agent' | 'client'
  readonly message: { readonly id?: unknown; readonly method?: string; readonly result?: unknown }
}

export function readRecording(name: string, agent = 'opencode-1.18.33'): readonly Line[] {
  const path = new URL(`../../recordings/acp/${agent}/${name}.jsonl`, import.meta.url)
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map((line): Line => JSON.parse(line))
}

interface Replayed {
  readonly client: AcpClient
  readonly sent: readonly Line['message'][]
  /** A client of the next process that was recorded. */
  readonly restart: () => AcpClient
}

/** The default of `quietMs`. */
const quietMs = 10_000

/**
 * A client of a recorded agent: what the agent said comes in the recorded order, each time after what it followed. If it can
 * list its sessions, but was not asked to when it was recorded, it lists none: these recordings are of a new home.
 */
export function replayed(name: string, agent?: string, protocol?: AcpOptions['protocol']): Replayed {
  const lines = readRecording(name, agent)
  const sent: Line['message'][] = []
  const clock: Clock = { ...systemClock, after }
  const options = { command: 'opencode', cwd: '/project', files: 'none', protocol, clock, quietMs } as const
  const isListed = lines.some(({ message }) => message.method === 'session/list')
  let at = 0
  return { client: start(), sent, restart }

  /** The recorded silence of the agent is over once nothing of it is left to send for some turns of the loop. */
  function after(delayMs: number, run: () => void): () => void {
    if (delayMs !== quietMs) return systemClock.after(delayMs, run)
    let left = 200
    let isStopped = false
    const wait = (before: number): void => {
      if (isStopped) return
      left = at === before ? left - 1 : 200
      if (left === 0) run()
      else setImmediate(() => wait(at))
    }
    wait(at)
    return () => {
      isStopped = true
    }
  }

  function restart(): AcpClient {
    at = lines.findIndex(({ message }, index) => index > 0 && message.method === 'initialize')
    return start()
  }

  function start(): AcpClient {
    const heard: Line['message'][] = []
    /** The ids of the requests here, by those of the recording. */
    const ids = new Map<unknown, unknown>()
    let isInitialized = false
    const fake = createFake((message: Line['message']) => {
      if (message.method === 'session/list' && !isListed)
        return fake.say({ jsonrpc: '2.0', id: message.id, result: { sessions: [] } })
      sent.push(message)
      heard.push(message)
      goOn()
    })
    return clientOf(
      createAcpSource(toSettings(options), async () => fake.transport),
      options,
    )

    function goOn(): void {
      for (let line = lines[at]; line; line = lines[at]) {
        const isNextProcess = at > 0 && line.message.method === 'initialize' && isInitialized
        if (isNextProcess) return
        if (line.from === 'client' && !isHeard(line.message)) return
        at += 1
        if (line.from === 'agent') fake.say(withID(line.message))
      }
    }

    /** Whether the client has sent this. A request counts once, and may have another id than in the recording. */
    function isHeard(recorded: Line['message']): boolean {
      const isRequest = recorded.method !== undefined && recorded.id !== undefined
      if (!isRequest) return heard.some((message) => isSame(message, recorded))
      const found = heard.findIndex(({ method }) => method === recorded.method)
      const [message] = found === -1 ? [] : heard.splice(found, 1)
      if (message) ids.set(recorded.id, message.id)
      if (message?.method === 'initialize') isInitialized = true
      return message !== undefined
    }

    /** A response has the id of the request here. */
    function withID(message: Line['message']): Line['message'] {
      const isResponse = message.method === undefined && ids.has(message.id)
      return isResponse ? { ...message, id: ids.get(message.id) } : message
    }
  }
}

function isSame(a: Line['message'], b: Line['message']): boolean {
  return a.method === b.method && a.id === b.id
}
