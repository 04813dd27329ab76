import { once } from 'node:events'
import { WebSocketServer } from 'ws'

export interface ScriptedListener {
  readonly url: string
  /** The methods of the requests that arrived, oldest first. */
  readonly methods: readonly string[]
  /** Answers the prompts that arrived, each with a turn of its own. */
  takePrompts(): void
  /** Sends a message that responds to nothing. */
  push(message: object): void
  /** Breaks the connections. */
  drop(): void
  close(): void
}

/** The result or error with which a listener responds to a method about a thread, if any. Undefined if it responds as usual. */
export type Respond = (
  method: string,
  threadID: string | undefined,
) => { readonly result: object } | { readonly error: object } | undefined

/**
 * Starts a listener with the thread `thread_1`, which takes prompts when told to, unless `respond` responds to them. It needs no
 * token.
 */
export async function scriptedListener(respond: Respond = () => undefined): Promise<ScriptedListener> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const methods: string[] = []
  const prompts: (() => void)[] = []
  const thread = { thread: { id: 'thread_1', cwd: '/project' } }
  server.on('connection', (socket) =>
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse(String(data))
      const send = (response: object): void => socket.send(JSON.stringify({ id, ...response }))
      const answer = (result: object): void => send({ result })
      if (id === undefined) return
      methods.push(method)
      const response = respond(method, params?.threadId)
      if (response) send(response)
      else if (method === 'turn/start') prompts.push(() => answer({ turn: { id: `turn_${methods.length}` } }))
      else answer(/^thread\/(start|resume|read)$/.test(method) ? thread : { data: [] })
    }),
  )
  const address = server.address()
  const drop = (): void => {
    for (const client of server.clients) client.terminate()
  }
  return {
    url: `ws://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}`,
    methods,
    takePrompts: () => {
      for (const take of prompts.splice(0)) take()
    },
    push: (message) => {
      for (const client of server.clients) client.send(JSON.stringify(message))
    },
    drop,
    close: () => {
      drop()
      server.close()
    },
  }
}
