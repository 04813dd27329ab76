import { type Client, observerOf, promptOf, type Reply } from '@reply/core'
import { readUIMessageStream, type UIMessage } from 'ai'
import { type ChatSession, createUIProjection } from '../../src/index.ts'

/** The chats of the demo, in memory. Your app has a table for what is here: the session of each chat, and its ended replies. */
export interface Chats {
  /** Returns the session of a chat. A chat that is not known gets a new one. */
  sessionOf(chatId: string): ChatSession
  /** Resolves with the messages of a chat, oldest first, with those of the reply that runs. */
  messagesOf(chatId: string): Promise<readonly UIMessage[]>
}

/** Creates the chats of a client, and watches their sessions. */
export function createChats(client: Pick<Client, 'watch'>): Chats {
  const sessions = new Map<string, string>()
  /** The newest state of each reply, by its session and its first prompt. */
  const replies = new Map<string, Map<string, Reply>>()
  const keep = (reply: Reply): void => {
    const [first] = reply.promptIDs
    if (first === undefined) return
    const known = replies.get(reply.sessionID) ?? new Map<string, Reply>()
    replies.set(reply.sessionID, known.set(first, reply))
  }
  client.watch(
    {},
    {
      observe: (reply) => {
        keep(reply)
        return [observerOf(({ reply: newest }) => keep(newest))]
      },
    },
  )
  return {
    sessionOf: (chatId) => {
      const sessionID = sessions.get(chatId)
      return sessionID === undefined ? { onCreated: (created) => sessions.set(chatId, created) } : { sessionID }
    },
    messagesOf: async (chatId) => {
      const known = replies.get(sessions.get(chatId) ?? '') ?? new Map<string, Reply>()
      return (await Promise.all([...known.values()].map(messagesOfReply))).flat()
    },
  }
}

/** Resolves with what a person wrote in a reply, and with the answer as the front end would have it after its stream. */
async function messagesOfReply(reply: Reply): Promise<readonly UIMessage[]> {
  const asked = reply.promptIDs.map((id): UIMessage => {
    const { text = '', files = [] } = promptOf(reply, id) ?? {}
    return { id, role: 'user', parts: [{ type: 'text', text: [text, ...files].join('\n') }] }
  })
  const chunks = createUIProjection().next(reply)
  const stream = new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  let answer: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream })) answer = message
  return answer ? [...asked, answer] : asked
}
