import { type AgentContext, type AnyMessage, agent as agentApp } from '@agentclientprotocol/sdk'
import { clientOf } from '../../src/acp/client.ts'
import { toSettings } from '../../src/acp/options.ts'
import { createAcpSource } from '../../src/acp/source.ts'
import type { AcpClient, AcpOptions } from '../../src/acp.ts'

/** One prompt, as an agent made with the SDK sees it. */
export interface SdkTurn {
  readonly agent: AgentContext
  readonly sessionId: string
  readonly text: string
  readonly canceled: Promise<void>
}

export interface SdkStage {
  readonly client: AcpClient
  /** Whether the agent was told that it may run commands. */
  readonly offered: () => boolean | undefined
  /** Ends the agent's process. */
  die(): void
}

/** A client of an agent made with the SDK, over messages in memory. */
export function sdkStage(act: (turn: SdkTurn) => Promise<void>, options: Partial<AcpOptions> = {}): SdkStage {
  let offered: boolean | undefined
  let end = (_how: string): void => {}
  let sessions = 0
  const settings = toSettings({ command: 'agent', terminals: true, ...options })
  const source = createAcpSource(settings, open)
  return {
    client: clientOf(source, { command: 'agent', ...options }),
    offered: () => offered,
    die: () => end('exited with code 3'),
  }

  async function open() {
    const toAgent = new TransformStream<AnyMessage, AnyMessage>()
    const toClient = new TransformStream<AnyMessage, AnyMessage>()
    const ended = new Promise<string>((resolve) => {
      end = resolve
    })
    createApp().connect({ readable: toAgent.readable, writable: toClient.writable })
    const writer = toAgent.writable.getWriter()
    const over = ended.then((): undefined => undefined)
    async function* messages() {
      const reader = toClient.readable.getReader()
      for (;;) {
        const next = await Promise.race([reader.read(), over])
        if (!next || next.done) return
        yield next.value
      }
    }
    return {
      messages: messages(),
      send: async (message: unknown) => await writer.write(JSON.parse(JSON.stringify(message))),
      ended,
      close: async () => end('was ended by SIGTERM'),
    }
  }

  function createApp() {
    const cancels = new Map<string, () => void>()
    return agentApp()
      .onRequest('initialize', ({ params }) => {
        offered = params.clientCapabilities?.terminal
        return { protocolVersion: 1, agentCapabilities: {} }
      })
      .onRequest('session/new', () => {
        sessions += 1
        return { sessionId: `ses_${sessions}` }
      })
      .onRequest('session/prompt', async ({ client, params: { sessionId, prompt } }) => {
        const [block] = prompt
        let isCanceled = false
        const canceled = new Promise<void>((resolve) => {
          cancels.set(sessionId, () => {
            isCanceled = true
            resolve()
          })
        })
        await act({ agent: client, sessionId, text: block?.type === 'text' ? block.text : '', canceled })
        return { stopReason: isCanceled ? 'cancelled' : 'end_turn' }
      })
      .onNotification('session/cancel', ({ params }) => cancels.get(params.sessionId)?.())
  }
}
