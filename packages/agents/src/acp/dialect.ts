import type { McpServer } from '@agentclientprotocol/sdk'
import { askedCall as askedCallV1, type Call } from './decode/call.ts'
import type { ToolUpdate } from './decode/schema.ts'
import type { AcpSession } from './decode/session.ts'
import {
  beginsTurn,
  decodeUpdate as decodeV1,
  type RunState,
  readSession as readSessionV1,
} from './decode/v1/update.ts'
import { askedCall as askedCallV2 } from './decode/v2/call.ts'
import { readSession as readSessionV2 } from './decode/v2/session.ts'
import { type DecodedV2, decodeUpdate as decodeV2, type SessionState } from './decode/v2/update.ts'

/** What differs between the versions of the protocol. */
export interface Dialect {
  readonly version: 1 | 2
  /** Decodes one session update. Undefined if it is malformed. */
  decode(update: { readonly sessionUpdate: string }, known: RunState & SessionState): DecodedV2 | undefined
  /** Whether an update of an idle session begins work that no prompt began. Always false if the agent reports its states. */
  beginsTurn(update: { readonly sessionUpdate: string }, known: Pick<RunState, 'calls'>): boolean
  /** Reads the settings in the response to a new or opened session. */
  readSession(response: unknown): Partial<AcpSession>
  /** Returns the call of a permission request, from its updates so far and the request. */
  askedCall(known: Call | undefined, request: ToolUpdate): Call
  /** The methods that differ: to log in, and to open an earlier session without its history being needed. */
  readonly methods: { readonly login: string; readonly open: string }
  /** Returns the value of a setting for `session/set_config_option`. */
  settingOf(value: string): object
  /** The field that asks for the history of a session when it is opened. Undefined if the history can't be read here. */
  readonly replaying: object | undefined
  /** Converts the MCP servers of a session. */
  serversOf(servers: readonly McpServer[]): readonly object[]
}

/** The version that most agents speak. */
const version1: Dialect = {
  version: 1,
  decode: decodeV1,
  beginsTurn,
  readSession: readSessionV1,
  askedCall: askedCallV1,
  methods: { login: 'authenticate', open: 'session/load' },
  settingOf: (value) => ({ value }),
  replaying: undefined,
  serversOf: (servers) => servers,
}

/** The draft of `@agentclientprotocol/sdk` 2.4.0. */
const version2: Dialect = {
  version: 2,
  decode: decodeV2,
  beginsTurn: () => false,
  readSession: readSessionV2,
  askedCall: askedCallV2,
  methods: { login: 'auth/login', open: 'session/resume' },
  settingOf: (value) => ({ type: 'id', value }),
  replaying: { replayFrom: { type: 'start' } },
  // Only version 1 leaves out the type of a program.
  serversOf: (servers) => servers.map((server) => ('type' in server ? server : { ...server, type: 'stdio' })),
}

export const dialects = { 1: version1, 2: version2 } as const
