import { jsonOf } from '@reply/sink/internal'
import * as z from 'zod'

/** An answer of the server: https://docs.ntfy.sh/subscribe/api/#json-message-format, and its errors and health. */
export type NtfyAnswer =
  | { readonly type: 'message' }
  | { readonly type: 'health' }
  | { readonly type: 'error'; readonly code: number | undefined; readonly reason: string }
  | { readonly type: 'unknown' }

const message = z.looseObject({ id: z.string(), event: z.literal('message') })
const health = z.looseObject({ healthy: z.literal(true) })
const failure = z.looseObject({ code: z.number().optional(), error: z.string() })

/** Reads a body. Never throws. */
export function answerIn(body: string): NtfyAnswer {
  const value = jsonOf(body)
  if (message.safeParse(value).success) return { type: 'message' }
  if (health.safeParse(value).success) return { type: 'health' }
  const { data } = failure.safeParse(value)
  return data ? { type: 'error', code: data.code, reason: data.error } : { type: 'unknown' }
}
