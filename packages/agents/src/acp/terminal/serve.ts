import type { ClientApp } from '@agentclientprotocol/sdk'
import { createTerminalRequest, terminalRequest } from '../decode/schema.ts'
import type { Terminals } from './terminals.ts'

/** Offers the agent the terminal methods. */
export function addTerminals(app: ClientApp, terminals: Terminals): void {
  app
    .onRequest('terminal/create', createTerminalRequest, async ({ params }) => ({
      terminalId: await terminals.create(params),
    }))
    .onRequest('terminal/output', terminalRequest, ({ params: { sessionId, terminalId } }) =>
      terminals.find(sessionId, terminalId).output(),
    )
    .onRequest(
      'terminal/wait_for_exit',
      terminalRequest,
      async ({ params: { sessionId, terminalId } }) => await terminals.find(sessionId, terminalId).exited,
    )
    .onRequest('terminal/kill', terminalRequest, async ({ params: { sessionId, terminalId } }) => {
      await terminals.find(sessionId, terminalId).kill()
      return {}
    })
    .onRequest('terminal/release', terminalRequest, async ({ params: { sessionId, terminalId } }) => {
      await terminals.release(sessionId, terminalId)
      return {}
    })
}
