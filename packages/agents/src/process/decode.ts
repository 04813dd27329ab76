import * as z from 'zod'

/** A line of a program that speaks JSON-RPC. */
export type RpcMessage =
  | { readonly type: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly type: 'request'; readonly id: string | number; readonly method: string; readonly params: unknown }
  | { readonly type: 'response'; readonly id: string | number; readonly result?: unknown; readonly error?: string }

const id = z.union([z.string(), z.number()])
const message = z.union([
  z.object({ id, method: z.string(), params: z.unknown().optional() }),
  z.object({ method: z.string(), params: z.unknown().optional() }),
  z.object({ id, error: z.object({ message: z.string().default('it gave no reason') }) }),
  z.object({ id, result: z.unknown() }),
])

/** Reads one line. Undefined if it is none of them. */
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
