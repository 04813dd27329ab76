import { acp } from '../../src/acp/client.ts'
import { toSettings } from '../../src/acp/options.ts'
import { createAcpSource } from '../../src/acp/source.ts'
import type { AcpOptions, AcpSource } from '../../src/acp.ts'
import { createFake, type Fake } from './fake.ts'

export { acp }

export interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly sessionId?: string; readonly prompt?: readonly { readonly text?: string }[] }
  readonly result?: unknown
  readonly error?: unknown
}

/** What a scripted agent does with a prompt: `say` sends updates, `ask` requests, `end` the response. */
export interface Turn {
  readonly text: string
  readonly sessionID: string
  /** Sends an update of the prompt's session, or of another one. */
  say(update: object, sessionID?: string): void
  ask(method: string, params: object): Promise<unknown>
  end(result: object): void
  fail(error: { readonly code: number; readonly message: string; readonly data?: unknown }): void
  readonly canceled: Promise<void>
}

export interface AgentStage {
  readonly source: AcpSource
  /** What the client sent, newest process included. */
  readonly heard: readonly Message[]
  /** The running agents, in order of their start. */
  readonly fakes: readonly Fake[]
}

export const chunk = (text: string, messageId?: string): object => ({
  sessionUpdate: 'agent_message_chunk',
  messageId,
  content: { type: 'text', text },
})

const modes = {
  currentModeId: 'build',
  availableModes: [
    { id: 'build', name: 'Build' },
    { id: 'plan', name: 'Plan' },
  ],
}
const models = [
  { value: 'p/m1', name: 'M1' },
  { value: 'p/m2', name: 'M2' },
]
const configOptions = [
  { id: 'm', name: 'Model', category: 'model', type: 'select', currentValue: 'p/m1', options: models },
]

/** A source over an agent in memory that answers all but prompts by itself, unless `more` does. */
export function scripted(
  act: (turn: Turn) => void | Promise<void>,
  options: Partial<AcpOptions> = {},
  more: (message: Message, fake: Fake) => boolean = () => false,
  onAnswer: (message: Message) => void = () => {},
): AgentStage {
  const heard: Message[] = []
  const fakes: Fake[] = []
  const replies = new Map<unknown, (message: Message) => void>()
  const cancels = new Map<string, () => void>()
  let sessions = 0
  let asked = 0
  const hear = (message: Message, fake: Fake): void => {
    heard.push(message)
    if (message.method === undefined) {
      onAnswer(message)
      return void replies.get(message.id)?.(message)
    }
    if (more(message, fake)) return
    const answer = (result: object): void => fake.say({ jsonrpc: '2.0', id: message.id, result })
    const sessionId = message.params?.sessionId ?? ''
    switch (message.method) {
      case 'initialize':
        return answer({ protocolVersion: 1, agentCapabilities: { promptCapabilities: { image: true } } })
      case 'session/new':
        sessions += 1
        return answer({ sessionId: `ses_${sessions}`, modes, configOptions })
      case 'session/cancel':
        return cancels.get(sessionId)?.()
      case 'session/prompt':
        return void act(turnOf(message, fake))
      default:
        return answer({})
    }
  }
  const turnOf = (message: Message, fake: Fake): Turn => {
    const sessionId = message.params?.sessionId ?? ''
    return {
      text: message.params?.prompt?.[0]?.text ?? '',
      sessionID: sessionId,
      say: (update, id = sessionId) =>
        fake.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: id, update } }),
      ask: async (method, params) => {
        asked += 1
        const id = `a${asked}`
        const replied = new Promise<Message>((resolve) => replies.set(id, resolve))
        fake.say({ jsonrpc: '2.0', id, method, params: { sessionId, ...params } })
        const { result, error } = await replied
        return result ?? error
      },
      end: (result) => fake.say({ jsonrpc: '2.0', id: message.id, result }),
      fail: (error) => fake.say({ jsonrpc: '2.0', id: message.id, error }),
      canceled: new Promise((resolve) => cancels.set(sessionId, resolve)),
    }
  }
  const settings = toSettings({ command: 'agent', cwd: '/project', ...options })
  const open = async () => {
    const fake = createFake(hear)
    fakes.push(fake)
    return fake.transport
  }
  return { source: createAcpSource(settings, open), heard, fakes }
}
