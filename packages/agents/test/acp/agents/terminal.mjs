// An agent of the SDK that runs the prompt's text in a terminal, and ends the turn when the command has ended.
import { Readable, Writable } from 'node:stream'
import { agent, ndJsonStream } from '@agentclientprotocol/sdk'

agent()
  .onRequest('initialize', () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest('session/new', () => ({ sessionId: 's1' }))
  .onRequest('session/prompt', async ({ client, params: { sessionId, prompt } }) => {
    const terminal = await client.createTerminal({ sessionId, command: prompt[0].text })
    const content = [{ type: 'terminal', terminalId: terminal.id }]
    const call = { toolCallId: 'c1', title: 'Run', kind: 'execute', content }
    await client.notify('session/update', {
      sessionId,
      update: { sessionUpdate: 'tool_call', ...call, status: 'in_progress' },
    })
    const { exitCode } = await terminal.waitForExit()
    await client.notify('session/update', {
      sessionId,
      update: {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'c1',
        status: exitCode === 0 ? 'completed' : 'failed',
      },
    })
    await terminal.release()
    return { stopReason: 'end_turn' }
  })
  .onNotification('session/cancel', () => {})
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))
