import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { realClock } from '../clock.ts'
import { freePort } from '../port.ts'
import { isStreamFault, type ProxyFault, type RequestFault, type StreamFault } from './fault.ts'
import { createFaultyStream, type FaultyStream, type Outlet, type StreamedFrame, type Timer } from './faulty-stream.ts'

/** The server behind the proxy, and the faults on the way. */
export interface ProxyOptions {
  /** The server behind it, such as "http://127.0.0.1:4096". */
  readonly target: string
  /** The initial faults. Places count from the beginning of each connection. */
  readonly faults?: readonly ProxyFault[]
  /**
   * Called with each frame after it went out to a client. You can cut or stall the stream here, or restart the server.
   */
  readonly onFrame?: (frame: PassedFrame) => void
  /** For delays. Default: the system's. */
  readonly clock?: Timer
}

/** A frame that went out to a client. */
export interface PassedFrame extends StreamedFrame {
  /** The number of the event stream, from 1. */
  readonly connection: number
}

/** A request as the proxy saw it. */
export interface ProxiedRequest {
  /** `GET`, `POST`, … in capitals. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /**
   * The server's response status, even if it didn't reach the client. Absent if the server never got the request, or
   * never answered.
   */
  readonly status?: number
}

/** A proxy between a client and a server that injects faults. */
export interface FaultProxy {
  /** Its address, to use in place of the server's. */
  readonly url: string
  /** How many event streams were opened. */
  readonly streams: number
  /** How many of them are open. */
  readonly openStreams: number
  /** Every request so far, in order of arrival. */
  readonly requests: readonly ProxiedRequest[]
  /** How many requests with this method and path the server answered. */
  count(method: string, path: RegExp): number
  /**
   * Adds a fault. On open streams, places count from here. On later ones they count from the beginning, unless the
   * fault names its connection.
   */
  inject(fault: ProxyFault): void
  /** Cuts the open streams. */
  cut(how?: 'break' | 'end'): void
  /** Stops the flow on the open streams, which stay open. */
  stall(): void
  /** Breaks all connections and refuses new ones. */
  refuse(): Promise<void>
  /** Resumes stalled streams, including everything held back, and accepts connections again. */
  resume(): Promise<void>
  /** Breaks all connections and stops listening. */
  close(): Promise<void>
}

interface OpenStream {
  readonly connection: number
  readonly faulty: FaultyStream
}

/** Hop-by-hop headers, which the proxy sets itself. */
const ownHeaders = ['connection', 'keep-alive', 'transfer-encoding', 'host']

/**
 * Starts an HTTP proxy on loopback in front of a real server. Changes nothing except for its faults. While the server
 * is down, it breaks the client's connections. Rejects if it can't get a port.
 */
export async function startProxy(options: ProxyOptions): Promise<FaultProxy> {
  const { target, clock = realClock } = options
  const requests: ProxiedRequest[] = []
  const streams = new Set<OpenStream>()
  const aborts = new Set<() => void>()
  let streamFaults: readonly StreamFault[] = (options.faults ?? []).filter(isStreamFault)
  let requestFaults: readonly { readonly fault: RequestFault; readonly left: number }[] = []
  for (const fault of options.faults ?? []) if (!isStreamFault(fault)) addRequestFault(fault)
  let opened = 0
  const server = createServer(forward)
  const port = await freePort()
  await listen()
  return {
    url: `http://127.0.0.1:${port}`,
    get streams() {
      return opened
    },
    get openStreams() {
      return streams.size
    },
    requests,
    count: (method, path) =>
      requests.filter((each) => each.status !== undefined && each.method === method && path.test(each.path)).length,
    inject: (fault) => {
      if (!isStreamFault(fault)) return addRequestFault(fault)
      streamFaults = [...streamFaults, fault]
      for (const { connection, faulty } of streams) if (appliesTo(fault, connection)) faulty.inject(fault)
    },
    cut: (how = 'break') => {
      for (const { faulty } of streams) faulty.cut(how)
    },
    stall: () => {
      for (const { faulty } of streams) faulty.stall()
    },
    refuse: stopListening,
    resume: async () => {
      for (const { faulty } of streams) faulty.resume()
      if (!server.listening) await listen()
    },
    close: stopListening,
  }

  /** Listens on the port. Rejects if another program has taken it. */
  function listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  }

  /** Breaks all connections, and resolves when they are closed. */
  function stopListening(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve())
      for (const abort of aborts) abort()
      server.closeAllConnections()
    })
  }

  /** Adds a fault for as many of the next matching requests as it says, by default one. */
  function addRequestFault(fault: RequestFault): void {
    requestFaults = [...requestFaults, { fault, left: fault.times ?? 1 }]
  }

  /** Returns the first fault for this request, and uses up one of its times. Undefined if there is none. */
  function takeRequestFault(method: string, path: string): RequestFault | undefined {
    const found = requestFaults.find(
      ({ fault, left }) => left > 0 && (fault.method ?? method) === method && fault.path.test(path),
    )
    requestFaults = requestFaults.map((each) => (each === found ? { ...each, left: each.left - 1 } : each))
    return found?.fault
  }

  /**
   * Logs a request, and passes it to the server and its answer to the client, unless a fault prevents that. Breaks the
   * client's connection if the server's fails.
   */
  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const method = incoming.method ?? 'GET'
    const path = (incoming.url ?? '/').split('?')[0] ?? '/'
    const index = requests.push({ method, path }) - 1
    const fault = takeRequestFault(method, path)
    // The client may disconnect while a response is being written.
    outgoing.on('error', () => {})
    if (fault?.type === 'reset') {
      incoming.socket.destroy()
      return
    }
    if (fault?.type === 'answer') return answerWithFailure(fault.with, outgoing)
    const upstream = request(
      `${target}${incoming.url ?? '/'}`,
      // Keeps no connection: one that broke with a restarted server would be an unplanned fault.
      { method, headers: endToEndHeaders(incoming), agent: false },
      (answer) => {
        requests[index] = { method, path, status: answer.statusCode ?? 0 }
        if (fault?.type === 'lose-answer') {
          answer.resume()
          answer.on('close', () => incoming.socket.destroy())
          return
        }
        outgoing.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer))
        if (answer.headers['content-type']?.startsWith('text/event-stream')) forwardStream(answer, outgoing)
        else {
          answer.on('error', () => outgoing.destroy())
          answer.pipe(outgoing)
        }
      },
    )
    // The server is or went down: the client sees the same as without the proxy.
    upstream.on('error', () => outgoing.destroy())
    const abort = (): void => {
      aborts.delete(abort)
      upstream.destroy()
    }
    aborts.add(abort)
    outgoing.on('close', abort)
    incoming.pipe(upstream)
  }

  /** Passes an event stream to the client through its faults, and counts it as opened. */
  function forwardStream(answer: IncomingMessage, outgoing: ServerResponse): void {
    opened += 1
    const connection = opened
    const outlet: Outlet = {
      write: (bytes) => outgoing.write(bytes),
      end: (how) => {
        streams.delete(stream)
        answer.destroy()
        if (how === 'end') outgoing.end()
        // Data already written is sent before the socket closes.
        else outgoing.socket?.destroySoon()
      },
    }
    const faulty = createFaultyStream(outlet, clock, (frame) => options.onFrame?.({ ...frame, connection }))
    const stream: OpenStream = { connection, faulty }
    streams.add(stream)
    outgoing.flushHeaders()
    for (const fault of streamFaults) if (appliesTo(fault, connection)) faulty.inject(fault)
    answer.on('data', faulty.receive)
    answer.on('end', () => faulty.end('end'))
    answer.on('error', () => faulty.end('break'))
    outgoing.on('close', () => {
      streams.delete(stream)
      faulty.discard()
    })
  }
}

/** Whether a fault is for this event stream. */
function appliesTo(fault: StreamFault, connection: number): boolean {
  return fault.connection === undefined || fault.connection === connection
}

/** The headers of a message, without those that the proxy sets itself. */
function endToEndHeaders(message: IncomingMessage): Record<string, string | string[]> {
  const entries = Object.entries(message.headers).flatMap(([name, value]): [string, string | string[]][] =>
    value === undefined || ownHeaders.includes(name) ? [] : [[name, value]],
  )
  return Object.fromEntries(entries)
}

/** Answers as a failing server, or as a web app that answers unknown routes. */
function answerWithFailure(how: 500 | 'html', outgoing: ServerResponse): void {
  if (how === 'html') {
    outgoing.writeHead(200, { 'content-type': 'text/html' })
    outgoing.end('<!doctype html><title>OpenCode</title>')
    return
  }
  outgoing.writeHead(500, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ name: 'UnknownError', data: { message: 'An injected failure.' } }))
}
