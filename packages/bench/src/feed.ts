import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { connect, type ReplyObserver } from '@reply/core'

interface Load {
  readonly sessions: number
  /** Events of each session, per second. */
  readonly perSecond: number
  readonly seconds: number
}

interface Listening {
  /** Returns an observer for each reply. */
  readonly observe: () => ReplyObserver
  /** Called for each received chunk. */
  readonly onChunk?: (() => void) | undefined
  /** Called when the code is compiled: earlier figures don't count. */
  readonly onWarm?: (() => void) | undefined
}

/** Runs `connect()` and `watch()` against a server in another process until it has sent the whole load. */
export async function underLoad(load: Load, listening: Listening): Promise<void> {
  const script = fileURLToPath(new URL('./feeder.js', import.meta.url))
  const numbers = [load.sessions, load.perSecond, load.seconds].map(String)
  const feeder = spawn(process.execPath, [script, ...numbers], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const url = await new Promise<string>((resolve, reject) => {
      feeder.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()))
      feeder.once('close', (code) => reject(new Error(`The feeder ended with exit code ${code}.`)))
    })
    await listen(url, load, listening)
  } finally {
    feeder.kill()
  }
}

async function listen(url: string, { sessions, seconds }: Load, listening: Listening): Promise<void> {
  const opencode = connect({ url, fetch: fetchNoting(listening.onChunk), onError: fail })
  let settled = 0
  const counter: ReplyObserver = {
    replySettled: () => {
      settled += 1
    },
  }
  opencode.watch({}, { observe: () => [listening.observe(), counter] })
  await opencode.ready
  const start = performance.now()
  await passed(1000 + seconds * 300)
  listening.onWarm?.()
  while (settled < sessions) {
    // Half a second for each session's few events that aren't deltas.
    if (performance.now() - start > 1000 * (seconds * 1.1 + 3))
      throw new Error(
        `Only ${settled} of ${sessions} replies settled in time: the client did not keep up with the stream.`,
      )
    await passed(50)
  }
  await opencode.close()
}

function fetchNoting(onChunk: (() => void) | undefined): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    if (!onChunk || !isStream || !response.body) return response
    return new Response(ReadableStream.from(noting(response.body, onChunk)), { headers: response.headers })
  }
}

async function* noting(body: AsyncIterable<Uint8Array>, onChunk: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    onChunk()
    yield chunk
  }
}

function passed(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}

function fail(error: Error): never {
  throw error
}
