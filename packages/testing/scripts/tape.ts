import { setTimeout as sleep } from 'node:timers/promises'
import { TestingError } from '../src/error.ts'

/** One event as it was on the wire. Its fields are not checked here. */
export interface Frame {
  readonly type: string
  /** Version 2 calls them `data`. */
  readonly properties: Readonly<Record<string, unknown>>
}

/** A recording of one event stream. */
export interface Tape {
  /** Everything received so far, over all connections. */
  text(): string
  readonly frames: readonly Frame[]
  /**
   * Resolves with the first frame that fits, which may have come before. Rejects with `what` and the last frames after
   * `timeoutMs`, by default a minute.
   */
  seen(what: string, fits: (frame: Frame, index: number) => boolean, timeoutMs?: number): Promise<Frame>
  /** Resolves when nothing but heartbeats has come for this long. */
  quiet(ms: number): Promise<void>
  /** Connects again, and resolves at `server.connected`. The frames before stay. Rejects if the server refuses. */
  reconnect(): Promise<void>
  /** Disconnects. The frames stay. */
  stop(): Promise<void>
}

interface Wired extends Partial<Frame> {
  readonly type: string
  readonly data?: Frame['properties']
}

/** Returns the event of a line, of either generation or of the global stream. Undefined for a line without data. */
const frameOf = (line: string): Frame | undefined => {
  if (!line.startsWith('data:')) return undefined
  const { payload, ...direct } = JSON.parse(line.slice(5)) as { payload?: Wired } & Wired
  const { type, properties, data } = payload ?? direct
  return { type, properties: properties ?? data ?? {} }
}

/** Opens an event stream with plain fetch, and keeps every byte. Resolves at its `server.connected`. */
export const startTape = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<Tape> => {
  const frames: Frame[] = []
  const watchers = new Set<() => void>()
  let text = ''
  let lastAt = Date.now()
  let disconnect = async (): Promise<void> => {}

  /** Adds the frame of a line, and wakes those who wait for one. Ignores a line without data. */
  const addLine = (line: string): void => {
    const frame = frameOf(line)
    if (frame === undefined) return
    frames.push(frame)
    if (frame.type !== 'server.heartbeat') lastAt = Date.now()
    for (const watcher of watchers) watcher()
  }
  /** Adds a connection's bytes and frames. Resolves when it has ended or is broken. */
  const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const chunk of body) {
        const received = decoder.decode(chunk, { stream: true })
        text += received
        const lines = (rest + received).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) addLine(line)
      }
    } catch {
      // The server was killed, or we disconnected. The frames so far stay.
    }
    // A crash leaves half a frame. The next connection must not continue it.
    if (rest !== '') text += '\n\n'
  }
  /**
   * Resolves with the first frame that fits, which may have come before. Rejects with the last frames after
   * `timeoutMs`, and with what `fits` throws.
   */
  const seen: Tape['seen'] = (what, fits, timeoutMs = 60_000) =>
    new Promise((resolve, reject) => {
      /** Resolves if a frame fits. Rejects with what `fits` throws, which would else look like a broken connection. */
      const look = (): void => {
        try {
          const frame = frames.find(fits)
          if (frame === undefined) return
          resolve(frame)
        } catch (error) {
          reject(error)
        }
        clearTimeout(timer)
        watchers.delete(look)
      }
      const timer = setTimeout(() => {
        watchers.delete(look)
        const last = frames.slice(-5).map((frame) => JSON.stringify(frame).slice(0, 300))
        reject(
          new TestingError(
            'scenario',
            `Not seen on the stream within ${timeoutMs} ms: ${what}. The last frames:\n${last.join('\n')}`,
          ),
        )
      }, timeoutMs)
      watchers.add(look)
      look()
    })
  /** Disconnects, connects again, and resolves at `server.connected`. Rejects if the server refuses. */
  const reconnect = async (): Promise<void> => {
    await disconnect()
    const before = frames.length
    const leave = new AbortController()
    const response = await fetch(url, { headers, signal: leave.signal })
    if (!response.ok || response.body === null)
      throw new TestingError('scenario', `The event stream answered ${response.status}: is the server up?`)
    const done = read(response.body)
    disconnect = async () => {
      leave.abort()
      await done
    }
    await seen('server.connected', (frame) => frame.type === 'server.connected' && frames.indexOf(frame) >= before)
  }
  await reconnect()
  return {
    text: () => text,
    frames,
    seen,
    reconnect,
    quiet: async (ms) => {
      while (Date.now() - lastAt < ms) await sleep(ms - (Date.now() - lastAt) + 1)
    },
    stop: () => disconnect(),
  }
}
