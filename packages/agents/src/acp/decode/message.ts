import type { AnyMessage } from '@agentclientprotocol/sdk'
import { isFields } from './call.ts'
import { initializeResponse, sessionID, steeringResponse } from './schema.ts'
import { initializeResponse as initializeResponseV2 } from './v2/schema.ts'

type Decoded =
  | { readonly type: 'update'; readonly params: unknown }
  | {
      readonly type: 'other'
      readonly message: AnyMessage
      /** Set if the message begins or ends a turn that the agent began by itself. Only Qwen Code says so. */
      readonly turn?: { readonly sessionID: string; readonly type: 'begun' | 'ended' } | undefined
    }

/** Separates session updates from other messages. Undefined if it is neither a call nor a response of JSON-RPC. */
export function decodeMessage(message: unknown): Decoded | undefined {
  if (!isFields(message)) return undefined
  if (message.method === 'session/update' && !('id' in message)) return { type: 'update', params: message.params }
  const isCall = typeof message.method === 'string'
  const isResponse = 'id' in message && ('result' in message || 'error' in message)
  // The SDK checks the rest.
  if (!isCall && !isResponse) return undefined
  return { type: 'other', message: message as unknown as AnyMessage, turn: turnIn(message) }
}

/**
 * Returns the turn that a message of Qwen Code begins or ends. It sends the begin as a request, and answers the refusal by
 * going on (qwen-code 0.21 to 0.24). Undefined for other messages.
 */
function turnIn({ method, params }: Readonly<Record<string, unknown>>) {
  const type = method === '_qwencode/start_turn' ? 'begun' : method === '_qwencode/end_turn' ? 'ended' : undefined
  const { data } = sessionID.safeParse(params)
  return type && data ? ({ sessionID: data.sessionId, type } as const) : undefined
}

/** Name, version and abilities of an agent, from its `initialize` response. */
export interface AcpAgent {
  /** Its name. Absent if it gives none. */
  readonly name?: string | undefined
  /** Its version. Absent if it gives none. */
  readonly version?: string | undefined
  /** The newest protocol version that both sides speak. */
  readonly protocolVersion: number
  /** Whether it can load a session of an earlier process. */
  readonly loadsSessions: boolean
  /** Whether it lists the sessions of earlier processes. */
  readonly listsSessions: boolean
  /** Whether it copies sessions. */
  readonly forksSessions: boolean
  /** Whether its running turn takes more prompts. */
  readonly steers: boolean
  /** Whether it keeps a prompt until the running turn has ended. */
  readonly queuesPrompts: boolean
  /** Whether it connects to MCP servers over HTTP. */
  readonly mcpOverHttp: boolean
  /** Whether prompts may hold images. */
  readonly image: boolean
  /** Whether prompts may hold audio. */
  readonly audio: boolean
  /** Whether prompts may hold PDFs, as embedded files. */
  readonly pdf: boolean
  /** The ways to log in. Empty if it needs none. */
  readonly authMethods: readonly { readonly id: string; readonly name?: string | undefined }[]
}

/** Reads the `initialize` response of any version. Undefined if it is malformed. */
export function readInitialize(response: unknown): AcpAgent | undefined {
  return readInitializeV2(response) ?? readInitializeV1(response)
}

/**
 * The agents whose model gets an embedded PDF, or is told that it can't read one: Gemini CLI 0.61.0, OpenCode 1.18.33 and Kilo 7.7.9.
 * That an agent declares `embeddedContext` does not tell: claude-agent-acp 0.23.1 ("Ignore blob resources") and Kimi Code 2.1.0 drop
 * a PDF without a word, codex-acp 2.6.0 makes a text of its Base64, and Qwen Code 0.24.4 "[document: application/pdf]".
 */
const readsPDFs = /^(?:gemini-cli|OpenCode|Kilo)$/

/** Reads an answer of version 1. What the agent doesn't declare, it can't do. Undefined if it is malformed. */
function readInitializeV1(response: unknown): AcpAgent | undefined {
  const { data } = initializeResponse.safeParse(response)
  if (!data) return undefined
  const { protocolVersion, agentInfo, agentCapabilities, authMethods, _meta } = data
  const rights = agentCapabilities?.promptCapabilities
  return {
    name: agentInfo?.name,
    version: agentInfo?.version ?? undefined,
    protocolVersion,
    loadsSessions: agentCapabilities?.loadSession === true,
    listsSessions: Boolean(agentCapabilities?.sessionCapabilities?.list),
    forksSessions: Boolean(agentCapabilities?.sessionCapabilities?.fork),
    steers: _meta?.steering?.supported === true,
    // Others that get a second prompt end the first one (gemini-cli 0.61), or fail it (qwen-code 0.24).
    queuesPrompts: agentCapabilities?._meta?.claudeCode?.promptQueueing === true,
    mcpOverHttp: agentCapabilities?.mcpCapabilities?.http === true,
    image: rights?.image === true,
    audio: rights?.audio === true,
    pdf: rights?.embeddedContext === true && readsPDFs.test(agentInfo?.name ?? ''),
    authMethods: (authMethods ?? []).map(({ id, name }) => ({ id, name: name ?? undefined })),
  }
}

/**
 * Reads an answer of version 2. An agent with sessions loads, lists and queues. What else it doesn't declare, it can't do.
 * Undefined if it is malformed, or of another version.
 */
function readInitializeV2(response: unknown): AcpAgent | undefined {
  const { data } = initializeResponseV2.safeParse(response)
  if (!data) return undefined
  const { protocolVersion, info, capabilities, authMethods, _meta } = data
  const { prompt, mcp } = capabilities?.session ?? {}
  return {
    name: info.name,
    version: info.version ?? undefined,
    protocolVersion,
    loadsSessions: Boolean(capabilities?.session),
    listsSessions: Boolean(capabilities?.session),
    forksSessions: Boolean(capabilities?.session?.fork),
    steers: _meta?.steering?.supported === true,
    // The response to a prompt says that it was inserted, and not that it was received.
    queuesPrompts: Boolean(capabilities?.session),
    mcpOverHttp: Boolean(mcp?.http),
    image: Boolean(prompt?.image),
    audio: Boolean(prompt?.audio),
    pdf: Boolean(prompt?.embeddedContext) && readsPDFs.test(info.name),
    authMethods: (authMethods ?? []).map(({ methodId, name }) => ({ id: methodId, name: name ?? undefined })),
  }
}

/** Reads what became of a prompt for a running turn, for example `injected`. Undefined if it is malformed. */
export function readSteering(response: unknown): string | undefined {
  return steeringResponse.safeParse(response).data?.outcome
}

/** Reads the id of a new session. Undefined if it is malformed. */
export function readSessionID(response: unknown): string | undefined {
  return sessionID.safeParse(response).data?.sessionId
}
