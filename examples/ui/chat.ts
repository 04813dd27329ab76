// The server's side of useChat, as the routes beside this file pass requests on. OPENCODE_URL names the OpenCode server, and CHAT_TOKEN
// is the secret in the cookie "token" of the owner. Without CHAT_TOKEN, everyone is refused with 404.
import { connect } from '@reply/core'
import { createChatHandler } from '@reply/ui'

export const client = connect({ onError: ({ message }) => console.error(message) })

/** The session of each chat of a person. Keep them in your database, so that they outlive a restart. */
const sessions = new Map<string, string>()

export const handle = createChatHandler(client, {
  sessionOf: (request, chatId) => {
    const person = personOf(request)
    if (person === undefined) return undefined
    const chat = JSON.stringify([person, chatId])
    return { sessionID: sessions.get(chat), onCreated: (sessionID) => sessions.set(chat, sessionID) }
  },
  mayAnswer: (request) => personOf(request) === 'owner',
  onError: (error) => console.error(error),
})

/** The person whose token is in the request's cookie. Put your own sign-in here. */
function personOf(request: Request): string | undefined {
  const [, token] = /(?:^|; )token=([^;]+)/.exec(request.headers.get('cookie') ?? '') ?? []
  return token !== undefined && token === process.env.CHAT_TOKEN ? 'owner' : undefined
}
