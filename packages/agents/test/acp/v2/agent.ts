import type { AcpOptions } from '../../../src/acp.ts'
import { type AgentStage, type Message, scripted } from '../agent.ts'
import type { Fake } from '../fake.ts'

/** A scripted agent's session in version 2 of the protocol. */
export interface SessionV2 {
  readonly sessionID: string
  readonly text: string
  /** Sends an update of this session, or of another one. */
  say(update: object, sessionID?: string): void
  /** Accepts the prompt. */
  accept(): void
  refuse(error: { readonly code: number; readonly message: string }): void
  ask(method: string, params: object, sessionID?: string): Promise<unknown>
  readonly fake: Fake
}

export const running = { sessionUpdate: 'state_update', state: 'running' }
export const idle = { sessionUpdate: 'state_update', state: 'idle', stopReason: 'end_turn' }
export const said = (text: string, messageId = 'm1') => ({
  sessionUpdate: 'agent_message_chunk',
  messageId,
  content: { type: 'text', text },
})

const choices = [
  { value: 'build', name: 'Build' },
  { value: 'plan', name: 'Plan' },
]
const configOptions = [
  { configId: 'mode', name: 'Mode', category: 'mode', type: 'select', currentValue: 'build', options: choices },
]

/** A source over an agent in memory that speaks version 2. `act` gets each prompt. `more` may answer other messages. */
export function scriptedV2(
  act: (session: SessionV2) => void | Promise<void>,
  options: Partial<AcpOptions> = {},
  more: (message: Message, fake: Fake) => boolean = () => false,
): AgentStage {
  const asked = new Map<unknown, (message: Message) => void>()
  let prompts = 0
  return scripted(
    () => {},
    { protocol: 2, files: 'none', ...options },
    (message, fake) => {
      const answer = (result: object): true => {
        fake.say({ jsonrpc: '2.0', id: message.id, result })
        return true
      }
      if (more(message, fake)) return true
      switch (message.method) {
        case 'initialize':
          return answer({ protocolVersion: 2, info: { name: 'scripted' }, capabilities: { session: {} } })
        case 'session/list':
          return answer({ sessions: [] })
        case 'session/new':
          return answer({ sessionId: 'ses_1', configOptions })
        case 'session/prompt': {
          prompts += 1
          const messageId = `prompt_${prompts}`
          const sessionID = message.params?.sessionId ?? ''
          void act({
            sessionID,
            text: message.params?.prompt?.[0]?.text ?? '',
            say: (update, sessionId = sessionID) =>
              fake.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } }),
            accept: () => void answer({ messageId }),
            refuse: (error) => fake.say({ jsonrpc: '2.0', id: message.id, error }),
            ask: async (method, params, sessionId = sessionID) => {
              const id = `v2_${asked.size + 1}`
              const replied = new Promise<Message>((resolve) => asked.set(id, resolve))
              fake.say({ jsonrpc: '2.0', id, method, params: { sessionId, ...params } })
              return (await replied).result
            },
            fake,
          })
          return true
        }
        default:
          return false
      }
    },
    (message) => asked.get(message.id)?.(message),
  )
}
