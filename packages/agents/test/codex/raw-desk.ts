import { once } from 'node:events'
import { WebSocket } from 'ws'
import { listenerToken } from './listener.ts'

/** A client of a listener that is another program, as editors are. */
export interface RawDesk {
  /** Resolves with the response. */
  request(method: string, params: object): Promise<RawMessage>
  close(): void
}

/** A message of the listener, as far as it is needed. */
interface RawMessage {
  readonly id?: number
  readonly method?: string
  readonly result?: { readonly thread?: { readonly id: string } }
  readonly error?: { readonly message: string }
}

/** Connects to a listener. `answer` returns the result of a request of the listener. Undefined leaves it to other clients. */
export async function connectRawDesk(
  url: string,
  answer: (method: string) => object | undefined = () => undefined,
): Promise<RawDesk> {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${listenerToken}` } })
  const waiting = new Map<number, (message: RawMessage) => void>()
  let last = 0
  const send = (message: object): void => socket.send(JSON.stringify(message))
  const request = async (method: string, params: object): Promise<RawMessage> =>
    await new Promise((resolve) => {
      last += 1
      waiting.set(last, resolve)
      send({ id: last, method, params })
    })
  socket.on('message', (data) => {
    const message: RawMessage = JSON.parse(String(data))
    const { id, method } = message
    if (id === undefined) return
    if (method === undefined) return waiting.get(id)?.(message)
    const result = answer(method)
    if (result) send({ id, result })
  })
  await once(socket, 'open')
  const clientInfo = { name: 'desk', title: 'desk', version: '1' }
  await request('initialize', { clientInfo, capabilities: { experimentalApi: true } })
  send({ method: 'initialized' })
  return { request, close: () => socket.close() }
}
