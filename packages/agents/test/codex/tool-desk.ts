import { once } from 'node:events'
import type { Client, Reply } from '@reply/core'
import { WebSocket } from 'ws'
import { collectReplies } from '../collect-replies.ts'
import { listenerToken } from './listener.ts'
import { dot } from './scenes.ts'

/** A client of a listener that brings a tool of its own, as editors do. */
interface ToolDesk {
  /** Begins a turn in a thread of its own. */
  prompt(text: string): Promise<void>
  close(): void
}

/** The thread of a response, as far as it is needed. */
interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: { readonly thread?: { readonly id: string } }
}

/** Connects to a listener. The tool `shoot` returns a text and a picture. */
export async function connectToolDesk(url: string, cwd: string): Promise<ToolDesk> {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${listenerToken}` } })
  const waiting = new Map<number, (message: Message) => void>()
  let last = 0
  const send = (message: object): void => socket.send(JSON.stringify(message))
  const request = async (method: string, params: object): Promise<Message> =>
    await new Promise((resolve) => {
      last += 1
      waiting.set(last, resolve)
      send({ id: last, method, params })
    })
  socket.on('message', (data) => {
    const message: Message = JSON.parse(String(data))
    if (message.method === 'item/tool/call') {
      const picture = { type: 'inputImage', imageUrl: `data:image/png;base64,${dot}` }
      send({ id: message.id, result: { success: true, contentItems: [{ type: 'inputText', text: 'Shot.' }, picture] } })
    } else if (message.method === undefined && message.id !== undefined) waiting.get(message.id)?.(message)
  })
  await once(socket, 'open')
  const clientInfo = { name: 'desk', title: 'desk', version: '1' }
  await request('initialize', { clientInfo, capabilities: { experimentalApi: true } })
  send({ method: 'initialized' })
  return {
    prompt: async (text) => {
      const inputSchema = { type: 'object', properties: { zoom: { type: 'integer' } } }
      const tool = { type: 'function', name: 'shoot', description: 'Takes a photo.', inputSchema }
      const { result } = await request('thread/start', { cwd, dynamicTools: [tool] })
      await request('turn/start', { threadId: result?.thread?.id, input: [{ type: 'text', text }] })
    },
    close: () => socket.close(),
  }
}

/** One run of such a client, in which the model calls its tool. Without a desk on a recording. */
export async function playToolDesk(chat: Client, directory: string, desk?: ToolDesk): Promise<Reply | undefined> {
  const { settled } = collectReplies(chat, directory)
  await desk?.prompt('[scenario:shoot] Go.')
  const [reply] = await settled((replies) => replies.length === 1)
  return reply
}
