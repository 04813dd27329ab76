import * as z from 'zod'
import type { RpcMessage } from '../../process/json-rpc.ts'

const id = z.union([z.string(), z.number()])

const message = z.union([
  z.object({ id, method: z.string(), params: z.unknown().optional() }),
  z.object({ method: z.string(), params: z.unknown().optional() }),
  z.object({ id, error: z.object({ message: z.string().default('it gave no reason') }) }),
  z.object({ id, result: z.unknown() }),
])

/** Reads one line. Undefined if it is not a JSON-RPC message. */
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

/** A request from Codex to a person. */
export type CodexRequest = { readonly threadID: string; readonly turnID: string; readonly callID: string } & (
  | {
      readonly type: 'permission'
      readonly permission: 'bash' | 'edit'
      readonly reason: string
      /** Further rights that it would grant: a folder to write to, a network host, another folder to run in. */
      readonly more: Readonly<Record<string, unknown>>
      /** The decision to send for "always", and what it allows. Absent if Codex offers none. */
      readonly always?: { readonly decision: unknown; readonly pattern: string }
    }
  | {
      readonly type: 'question'
      readonly questions: readonly {
        readonly id: string
        readonly header: string
        readonly question: string
        readonly options: readonly { readonly label: string; readonly description: string }[]
      }[]
    }
)

const of = { threadId: z.string(), turnId: z.string(), itemId: z.string() }

const approval = z.object({
  ...of,
  reason: z.string().nullish(),
  grantRoot: z.unknown().optional(),
  networkApprovalContext: z.unknown().optional(),
  additionalPermissions: z.unknown().optional(),
  command: z.unknown().optional(),
  cwd: z.unknown().optional(),
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

/** Reads one request. Undefined if it can't be answered here. */
export function decodeRequest(method: string, params: unknown): CodexRequest | undefined {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return permission(params, 'bash')
    case 'item/fileChange/requestApproval':
      return permission(params, 'edit')
    case 'item/tool/requestUserInput': {
      const found = input.safeParse(params).data
      const questions = found?.questions.map(({ options, ...rest }) => ({ ...rest, options: options ?? [] }))
      return found && { type: 'question', ...idsIn(found), questions: questions ?? [] }
    }
    default:
      return undefined
  }
}

function permission(params: unknown, kind: 'bash' | 'edit'): CodexRequest | undefined {
  const found = approval.safeParse(params).data
  if (!found) return undefined
  const permanent = (found.availableDecisions ?? []).flatMap((decision) => {
    const rule = amendment.safeParse(decision).data?.acceptWithExecpolicyAmendment.execpolicy_amendment
    if (rule) return [{ decision, pattern: rule.join(' ') }]
    return decision === 'acceptForSession' ? [{ decision, pattern: 'the same in this session' }] : []
  })
  const { reason, grantRoot, command, cwd } = found
  const { networkApprovalContext: network, additionalPermissions } = found
  const given = Object.entries({ grantRoot, network, additionalPermissions, command, cwd })
  const more = Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== null))
  const always = permanent[0] && { always: permanent[0] }
  return { type: 'permission', ...idsIn(found), permission: kind, reason: reason ?? '', more, ...always }
}

function idsIn(found: { readonly threadId: string; readonly turnId: string; readonly itemId: string }) {
  return { threadID: found.threadId, turnID: found.turnId, callID: found.itemId }
}

const models = z.object({
  data: z.array(
    z.object({
      model: z.string(),
      displayName: z.string(),
      supportedReasoningEfforts: z.array(z.object({ reasoningEffort: z.string() })).default([]),
    }),
  ),
})

/** The models that Codex lists. Throws if the response is malformed. */
export const modelsIn = (value: unknown): z.infer<typeof models>['data'] => models.parse(value).data
