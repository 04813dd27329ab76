import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { TestingError, type TestingFailure } from '../error.ts'
import { type AnswerFault, type ConnectionFault, isAnswerFault, isConnectionFault } from './fault.ts'
import type { Timers } from './timers.ts'

/** A server on loopback that a fake answers with. */
interface FakeServer {
  readonly server: Server
  /** `http://127.0.0.1:…`, once it listens. */
  readonly origin: string
  listen(): Promise<void>
  /** Breaks open connections and stops listening. */
  close(): Promise<void>
}

/** Answers a request. `gone` aborts when the client disconnects. */
export type Handler = (request: IncomingMessage, response: ServerResponse, gone: AbortSignal) => Promise<void>

export function createFakeServer(platform: TestingFailure, handle: Handler): FakeServer {
  const server = createServer((request, response) => {
    // The client may disconnect while a response is being written.
    response.on('error', () => {})
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    // Errors of a call are answered, so the client has disconnected.
    handle(request, response, gone.signal).catch(() => response.destroy())
  })
  // Never times out idle connections: closing one just as it is reused would be an unplanned fault.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  let origin = ''
  return {
    server,
    get origin() {
      return origin
    },
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(0, '127.0.0.1', () => {
          const address = server.address()
          if (address === null || typeof address !== 'object')
            return reject(new TestingError(platform, `The fake ${platform} could not get a port on 127.0.0.1.`))
          origin = `http://127.0.0.1:${address.port}`
          resolve()
        })
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The response to a call. */
export interface HttpAnswer {
  readonly status: number
  /** Absent for a response without content. */
  readonly body?: string
  /** The content type. Default "application/json". */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

export function sendAnswer(response: ServerResponse, { status, body, type, headers }: HttpAnswer): void {
  if (response.destroyed) return
  response.writeHead(status, { ...headers, ...(body !== undefined && { 'content-type': type ?? 'application/json' }) })
  response.end(body)
}

interface TakenCall<Fault, Answer> {
  readonly response: ServerResponse
  readonly timers: Timers
  /** The fault that is due for this call. */
  readonly fault: Fault | undefined
  /** Does the call. */
  run(): Answer | Promise<Answer>
  /** The platform's own answer for a fault. Undefined to do the call as usual. */
  answerTo(fault: AnswerFault<Fault>): Answer | undefined
  /** Writes the server's answer into the log of calls, whether or not the client gets it. */
  log(answer: Answer): void
}

/** Does a call and answers it, unless a fault prevents either. */
export async function answerCall<
  Fault extends { readonly type: string; readonly isTaken?: boolean },
  Answer extends HttpAnswer,
>({ response, timers, fault, run, answerTo, log }: TakenCall<Fault, Answer>): Promise<void> {
  const done = async (): Promise<Answer> => {
    const answer = await run()
    log(answer)
    return answer
  }
  if (fault === undefined) return sendAnswer(response, await done())
  if (isConnectionFault(fault)) return await breakConnection(fault, done, { response, timers })
  if (!isAnswerFault(fault)) return
  const answer = answerTo(fault)
  if (answer === undefined) return sendAnswer(response, await done())
  if (fault.isTaken) await done()
  else log(answer)
  sendAnswer(response, answer)
}

async function breakConnection(
  fault: ConnectionFault,
  done: () => Promise<HttpAnswer>,
  { response, timers }: { readonly response: ServerResponse; readonly timers: Timers },
): Promise<void> {
  switch (fault.type) {
    case 'refuse':
      response.socket?.destroy()
      return
    case 'accept-then-drop':
      await done()
      response.socket?.destroy()
      return
    case 'stall':
      return
    case 'accept-then-stall':
      await done()
      return
    case 'delay':
      await timers.wait(fault.delayMs)
      return sendAnswer(response, await done())
    default:
      return fault satisfies never
  }
}
