import type { ServerResponse } from 'node:http'
import type { BucketState } from './bucket.ts'
import { Refusal } from './refusal.ts'

/** The response to a call. */
export interface Answer {
  readonly status: number
  readonly body?: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly code?: number
}

export type RateScope = 'user' | 'global' | 'shared'

/** Undefined becomes 204. */
export function done(result: unknown): Answer {
  return result === undefined ? { status: 204 } : { status: 200, body: JSON.stringify(result) }
}

/** Any error that isn't a `Refusal` is a bug in the fake, which a test should see. */
export function refused(error: unknown): Answer {
  const { status, code, message, errors } =
    error instanceof Refusal ? error : new Refusal(500, 0, `The fake Discord failed: ${String(error)}`)
  return { status, code, body: JSON.stringify({ message, code, ...(errors && { errors }) }) }
}

/** `retry_after` is exact; the header is in whole seconds. */
export function tooMany(waitMs: number, scope: RateScope, code = 0): Answer {
  const words = scope === 'shared' ? 'The resource is being rate limited.' : 'You are being rate limited.'
  const body = { message: words, retry_after: waitMs / 1000, global: scope === 'global', ...(code && { code }) }
  const headers = {
    'retry-after': String(Math.ceil(waitMs / 1000)),
    'x-ratelimit-scope': scope,
    ...(scope === 'global' && { 'x-ratelimit-global': 'true' }),
  }
  return { status: 429, body: JSON.stringify(body), headers, code }
}

/** The bucket headers of each response. https://discord.com/developers/docs/topics/rate-limits#header-format */
export function withBucket(answer: Answer, { name, limit, remaining, resetAfterMs }: BucketState, now: number): Answer {
  const headers = {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': ((now + resetAfterMs) / 1000).toFixed(3),
    'x-ratelimit-reset-after': (resetAfterMs / 1000).toFixed(3),
    // The same in all channels: the name identifies the kind of call.
    'x-ratelimit-bucket': Buffer.from(name.split(' ')[0] ?? '')
      .toString('hex')
      .padEnd(16, '0'),
  }
  return { ...answer, headers: { ...headers, ...answer.headers } }
}

export function send(response: ServerResponse, { status, body, type = 'application/json', headers }: Answer): void {
  if (response.destroyed) return
  response.writeHead(status, { ...headers, ...(body !== undefined && { 'content-type': type }) })
  response.end(body)
}
