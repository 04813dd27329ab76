import type { Client, Reply } from '@reply/core'
import { collectReplies } from '../collect-replies.ts'
import { connectRawDesk } from './raw-desk.ts'
import { dot } from './scenes.ts'

/** A client of a listener that brings a tool of its own, as editors do. */
interface ToolDesk {
  /** Begins a turn in a thread of its own. */
  prompt(text: string): Promise<void>
  close(): void
}

/** Connects to a listener. The tool `shoot` returns a text and a picture. */
export async function connectToolDesk(url: string, cwd: string): Promise<ToolDesk> {
  const { request, close } = await connectRawDesk(url, (method) => {
    const picture = { type: 'inputImage', imageUrl: `data:image/png;base64,${dot}` }
    const contentItems = [{ type: 'inputText', text: 'Shot.' }, picture]
    return method === 'item/tool/call' ? { success: true, contentItems } : undefined
  })
  return {
    prompt: async (text) => {
      const inputSchema = { type: 'object', properties: { zoom: { type: 'integer' } } }
      const tool = { type: 'function', name: 'shoot', description: 'Takes a photo.', inputSchema }
      const { result } = await request('thread/start', { cwd, dynamicTools: [tool] })
      await request('turn/start', { threadId: result?.thread?.id, input: [{ type: 'text', text }] })
    },
    close,
  }
}

/** One run of such a client, in which the model calls its tool. Without a desk on a recording. */
export async function playToolDesk(chat: Client, directory: string, desk?: ToolDesk): Promise<Reply | undefined> {
  const { settled } = collectReplies(chat, directory)
  await desk?.prompt('[scenario:shoot] Go.')
  const [reply] = await settled((replies) => replies.length === 1)
  return reply
}
