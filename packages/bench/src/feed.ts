import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { connect, type ReplyObserver } from '@reply/core'

interface StreamLoad {
  readonly sessions: number
  /** Events of each session, per second. */
  readonly perSecond: number
  readonly seconds: number
}

interface LoadListeners {
  /** Returns an observer for each reply. */
  readonly observe: () => ReplyObserver
  /** Called for each received chunk. */
  readonly onChunk?: (() => void) | undefined
  /** Called when the code is compiled: earlier figures don't count. */
  readonly onWarm?: (() => void) | undefined
}

/**
 * Runs `connect()` and `watch()` against a server in another process until all replies have settled, and ends both.
 * Rejects if the server ends early, or if the client doesn't keep up with the load.
 */
export async function underLoad(load: StreamLoad, listening: LoadListeners): Promise<void> {
  const feeder = await startFeeder(load)
  try {
    await watchUntilSettled(feeder.url, load, listening)
  } finally {
    feeder.stop()
  }
}

interface Feeder {
  readonly url: string
  /** Ends its process. */
  stop(): void
}

/** Starts a server in another process that sends the load to each stream, a second after it opens. */
export async function startFeeder(load: StreamLoad): Promise<Feeder> {
  const script = fileURLToPath(new URL('./feeder.js', import.meta.url))
  const numbers = [load.sessions, load.perSecond, load.seconds].map(String)
  const feeder = spawn(process.execPath, [script, ...numbers], { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await new Promise<string>((resolve, reject) => {
    feeder.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()))
    feeder.once('close', (code) => reject(new Error(`The feeder ended with exit code ${code}.`)))
  })
  return { url, stop: () => void feeder.kill() }
}

/**
 * Watches a server until all replies have settled. Rejects if they take much longer than the load, or if a call fails.
 */
async function watchUntilSettled(
  url: string,
  { sessions, seconds }: StreamLoad,
  listening: LoadListeners,
): Promise<void> {
  const client = connect({ url, fetch: fetchReportingChunks(listening.onChunk), onError: rethrow })
  let settled = 0
  const counter: ReplyObserver = {
    replySettled: () => {
      settled += 1
    },
  }
  client.watch({}, { observe: () => [listening.observe(), counter] })
  await client.ready
  const start = performance.now()
  await sleep(1000 + seconds * 300)
  listening.onWarm?.()
  while (settled < sessions) {
    // Half a second for each session's few events that aren't deltas.
    if (performance.now() - start > 1000 * (seconds * 1.1 + 3))
      throw new Error(
        `Only ${settled} of ${sessions} replies settled in time: the client did not keep up with the stream.`,
      )
    await sleep(50)
  }
  await client.close()
}

/** Returns a `fetch` that calls `onChunk` for each chunk of an event stream, before the caller gets it. */
function fetchReportingChunks(onChunk: (() => void) | undefined): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    if (!onChunk || !isStream || !response.body) return response
    return new Response(ReadableStream.from(reportEach(response.body, onChunk)), { headers: response.headers })
  }
}

/** Passes on each chunk after a call of `onChunk`. */
async function* reportEach(body: AsyncIterable<Uint8Array>, onChunk: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    onChunk()
    yield chunk
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}

function rethrow(error: Error): never {
  throw error
}
