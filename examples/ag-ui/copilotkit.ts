// The endpoint of a CopilotKit page. OPENCODE_URL names the OpenCode server, AGENT_TOKEN is the secret of your front end's server.
// In Next.js, app/api/agent/route.ts is: export { handle as POST, handle as DELETE } from './copilotkit.ts'
// In CopilotKit's runtime, the agent is: new HttpAgent({ url: 'https://…/api/agent', headers: { authorization: `Bearer ${token}` } })
import { createAgUiHandler } from '@reply/ag-ui'
import { connect } from '@reply/core'

export const client = connect({ onError: ({ message }) => console.error(message) })

/** The session of each thread. Keep them in your database, so that they outlive a restart. */
const sessions = new Map<string, string>()

export const handle = createAgUiHandler(client, {
  sessionOf: (request, threadId) => {
    if (!isOurs(request)) return undefined
    return { sessionID: sessions.get(threadId), onCreated: (sessionID) => sessions.set(threadId, sessionID) }
  },
  mayAnswer: isOurs,
  onError: (error) => console.error(error),
})

/** Whether the request has the token. With several people, give each one a token and keep their threads apart. */
function isOurs(request: Request): boolean {
  const token = process.env.AGENT_TOKEN
  return token !== undefined && request.headers.get('authorization') === `Bearer ${token}`
}
