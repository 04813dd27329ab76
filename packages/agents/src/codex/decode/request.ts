import { type ModelInfo, takenKinds } from '@reply/core/source'
import * as z from 'zod'
import { formSchema } from '../../forms/decode.ts'
import type { Form } from '../../forms/form.ts'
import type { RpcMessage } from '../../process/json-rpc.ts'
import type { Page } from './thread.ts'

const id = z.union([z.string(), z.number()])

const message = z.union([
  z.object({ id, method: z.string(), params: z.unknown().optional() }),
  z.object({ method: z.string(), params: z.unknown().optional() }),
  z.object({ id, error: z.object({ message: z.string().default('it gave no reason') }) }),
  z.object({ id, result: z.unknown() }),
])

/** Reads one message. Undefined if it is not a JSON-RPC message. An error without a message gets one. */
export function decodeRpc(value: unknown): RpcMessage | undefined {
  const found = message.safeParse(value)
  if (!found.success) return undefined
  const { data } = found
  if ('method' in data && 'id' in data)
    return { type: 'request', id: data.id, method: data.method, params: data.params }
  if ('method' in data) return { type: 'notification', method: data.method, params: data.params }
  if ('error' in data) return { type: 'response', id: data.id, error: data.error.message }
  return { type: 'response', id: data.id, result: data.result }
}

/** A request from Codex to a person. `turnID` is undefined if Codex knows of no turn that it belongs to. */
export type CodexRequest = { readonly threadID: string; readonly turnID: string | undefined } & (
  | {
      readonly type: 'permission'
      readonly callID: string
      readonly permission: 'bash' | 'edit'
      readonly reason: string
      /**
       * Further rights that it would grant: a folder to write to, a network host, another folder or environment to run in.
       */
      readonly more: Readonly<Record<string, unknown>>
      /** The decision to send for "always", and what it allows. Absent if Codex offers none. */
      readonly always?: { readonly decision: unknown; readonly pattern: string }
    }
  /** A permission for a call of an MCP server's tool. */
  | {
      readonly type: 'mcp-permission'
      readonly server: string
      /** Undefined for Codex 0.150.0, which names it in the message alone. */
      readonly tool: string | undefined
      readonly arguments: unknown
      readonly message: string
      readonly more: Readonly<Record<string, unknown>>
      /** Whether it can be allowed until the end of the session. */
      readonly lastsForSession: boolean
    }
  /** A permission for rights beyond the sandbox, without a call. */
  | {
      readonly type: 'rights'
      readonly callID: string
      /** What is asked for, as Codex sends it. */
      readonly rights: Readonly<Record<string, unknown>>
      /** Where and why: the folder, the environment and the reason. */
      readonly more: Readonly<Record<string, unknown>>
    }
  | {
      readonly type: 'question'
      readonly callID: string
      readonly questions: readonly {
        readonly id: string
        readonly header: string
        readonly question: string
        readonly options: readonly { readonly label: string; readonly description: string }[]
      }[]
    }
  /** A form of an MCP server, or an address to visit. */
  | ({ readonly type: 'form' } & Form & { readonly server: string })
)

const of = { threadId: z.string(), turnId: z.string(), itemId: z.string() }

const approval = z.object({
  ...of,
  // A command to run, or what is written to one that runs. Others need other answers.
  kind: z.enum(['command', 'writeStdin']).nullish(),
  reason: z.string().nullish(),
  grantRoot: z.unknown().optional(),
  networkApprovalContext: z.unknown().optional(),
  additionalPermissions: z.unknown().optional(),
  command: z.unknown().optional(),
  cwd: z.unknown().optional(),
  environmentId: z.unknown().optional(),
  availableDecisions: z.array(z.unknown()).nullish(),
})

const amendment = z.object({
  acceptWithExecpolicyAmendment: z.object({ execpolicy_amendment: z.array(z.string()) }),
})

const input = z.object({
  ...of,
  questions: z.array(
    z.object({
      id: z.string(),
      header: z.string().default(''),
      question: z.string(),
      options: z.array(z.object({ label: z.string(), description: z.string().default('') })).nullish(),
    }),
  ),
})

const elicitation = { threadId: z.string(), turnId: z.string().nullish(), serverName: z.string(), message: z.string() }
const withMeta = z.object({ _meta: z.record(z.string(), z.unknown()) })

/** What Codex itself adds to an elicitation: the kinds and their fields of codex-rs/core/src/mcp_tool_call.rs. */
const mcpApproval = z.object({
  ...elicitation,
  mode: z.literal('form'),
  _meta: z.object({
    codex_approval_kind: z.literal('mcp_tool_call'),
    persist: z.union([z.string(), z.array(z.string())]).nullish(),
    tool_name: z.string().nullish(),
    tool_title: z.string().nullish(),
    tool_description: z.string().nullish(),
    tool_params: z.unknown().optional(),
    connector_name: z.string().nullish(),
  }),
})

const form = z.object({ ...elicitation, mode: z.literal('form'), requestedSchema: formSchema.nullish() })
const address = z.object({ ...elicitation, mode: z.literal('url'), url: z.url({ protocol: /^https?$/ }) })

const rights = z.object({
  ...of,
  reason: z.unknown().optional(),
  cwd: z.unknown().optional(),
  environmentId: z.unknown().optional(),
  permissions: z.record(z.string(), z.unknown()),
})

/**
 * Reads one request. Undefined if it can't be answered here: if its kind, the kind of its approval or one of its fields is
 * unknown.
 */
export function decodeRequest(method: string, params: unknown): CodexRequest | undefined {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return permissionRequest(params, 'bash')
    case 'item/fileChange/requestApproval':
      return permissionRequest(params, 'edit')
    case 'item/tool/requestUserInput': {
      const found = input.safeParse(params).data
      const questions = found?.questions.map(({ options, ...rest }) => ({ ...rest, options: options ?? [] }))
      return found && { type: 'question', ...idsIn(found), questions: questions ?? [] }
    }
    case 'mcpServer/elicitation/request':
      return elicitationRequest(params)
    case 'item/permissions/requestApproval': {
      const found = rights.safeParse(params).data
      if (!found) return undefined
      const { reason, cwd, environmentId: environment, permissions } = found
      return {
        type: 'rights',
        ...idsIn(found),
        rights: presentFields(permissions),
        more: presentFields({ reason, cwd, environment }),
      }
    }
    default:
      return undefined
  }
}

/**
 * Reads an elicitation: an approval of an MCP call, which Codex asks for as if it were a form, or a form or an address of the
 * server. Undefined for approvals of other kinds, for other modes, for addresses that are not on the web, and if it is
 * malformed.
 */
function elicitationRequest(params: unknown): CodexRequest | undefined {
  if ('codex_approval_kind' in (withMeta.safeParse(params).data?._meta ?? {})) {
    const found = mcpApproval.safeParse(params).data
    if (!found) return undefined
    const { threadId: threadID, turnId, serverName: server, message, _meta } = found
    const { tool_name, tool_title, tool_description, tool_params, connector_name, persist } = _meta
    return {
      type: 'mcp-permission',
      threadID,
      turnID: turnId ?? undefined,
      server,
      tool: tool_name ?? undefined,
      arguments: tool_params ?? {},
      message,
      more: presentFields({ title: tool_title, description: tool_description, connector: connector_name }),
      lastsForSession: [persist ?? []].flat().includes('session'),
    }
  }
  const found = form.safeParse(params).data ?? address.safeParse(params).data
  if (!found) return undefined
  const { threadId: threadID, turnId, serverName: server, message } = found
  const asked =
    found.mode === 'url' ? { schema: undefined, url: found.url } : { schema: found.requestedSchema ?? undefined }
  return { type: 'form', threadID, turnID: turnId ?? undefined, server, message, ...asked }
}

/** The fields that are neither undefined nor null. */
function presentFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}

/**
 * Reads an approval of a command or a change of files. "Always" is the first decision of Codex that lasts: a rule for commands,
 * or the rest of the session. Undefined for approvals of other kinds, for input to a command that is not shown, and if it is
 * malformed.
 */
function permissionRequest(params: unknown, permission: 'bash' | 'edit'): CodexRequest | undefined {
  const found = approval.safeParse(params).data
  if (!found || (found.kind === 'writeStdin' && typeof found.command !== 'string')) return undefined
  const permanent = (found.availableDecisions ?? []).flatMap((decision) => {
    const rule = amendment.safeParse(decision).data?.acceptWithExecpolicyAmendment.execpolicy_amendment
    if (rule) return [{ decision, pattern: rule.join(' ') }]
    return decision === 'acceptForSession' ? [{ decision, pattern: 'the same in this session' }] : []
  })
  const { reason, grantRoot, command, cwd } = found
  const { networkApprovalContext: network, additionalPermissions } = found
  const kind = found.kind === 'writeStdin' ? 'input to the running command' : undefined
  // Nearly all commands run locally.
  const environment = found.environmentId === 'local' ? undefined : found.environmentId
  const more = presentFields({ kind, grantRoot, network, additionalPermissions, command, cwd, environment })
  const always = permanent[0] && { always: permanent[0] }
  return { type: 'permission', ...idsIn(found), permission, reason: reason ?? '', more, ...always }
}

/** The ids of a request's thread, turn and call. */
function idsIn(found: { readonly threadId: string; readonly turnId: string; readonly itemId: string }) {
  return { threadID: found.threadId, turnID: found.turnId, callID: found.itemId }
}

const models = z.object({
  data: z.array(
    z.object({
      model: z.string(),
      displayName: z.string(),
      inputModalities: z.array(z.string()).optional(),
      isDefault: z.boolean().default(false),
      supportedReasoningEfforts: z.array(z.object({ reasoningEffort: z.string() })).default([]),
    }),
  ),
  nextCursor: z.string().nullish(),
})

/** A model, and whether Codex takes it for a new thread. */
export interface CodexModel {
  readonly info: ModelInfo
  readonly isDefault: boolean
}

/** The page of a list of models, with their efforts as variants. Throws if the response is malformed. */
export function modelsIn(value: unknown): Page<CodexModel> {
  const { data, nextCursor } = models.parse(value)
  const items = data.map(
    ({ model: modelID, displayName: name, isDefault, inputModalities, supportedReasoningEfforts }) => {
      const variants = supportedReasoningEfforts.map(({ reasoningEffort }) => reasoningEffort)
      const takes = inputModalities && takenKinds((kind) => kind === 'image' && inputModalities.includes(kind))
      return { info: { providerID: 'openai', modelID, name, variants, takes }, isDefault }
    },
  )
  return { items, next: nextCursor ?? undefined }
}
