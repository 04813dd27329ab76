import type { Clock } from '@reply/core'
import { callPlatform, PortError } from '@reply/sink/channel'
import type { SlackApi, SlackFields } from './api.ts'
import { toPortError, wordOf } from './failure.ts'

/** Makes one call, without retries, and returns its response. Rejects with a `PortError`. */
export type Call = (method: string, options: SlackFields, about: About) => Promise<Readonly<SlackFields>>

interface About {
  /** Names the call in errors, as in `post`. */
  readonly verb: string
  /** What a rate limit applies to: posts are limited per channel, all other calls per workspace. Default `client`. */
  readonly scope?: 'chat' | 'client'
  /** Ends the call before its deadline. */
  readonly signal?: AbortSignal | undefined
}

export interface CallOptions {
  readonly api: SlackApi
  readonly channelId: string
  readonly timeoutMs: number | undefined
  readonly clock: Clock
}

/** The client can't abort a call, so a timeout or an abort only stops waiting for it. */
export function createCall({ api, channelId, timeoutMs, clock }: CallOptions): Call {
  return async (method, options, { verb, scope = 'client', signal }) => {
    const call = { what: `${verb} in ${channelId}`, signal, timeoutMs, clock, toPortError: toPortError[scope] }
    return { ...(await callPlatform(() => api.apiCall(method, options), call)) }
  }
}

/** Slack's error code in a failed call. */
export function saysOf(error: unknown): string | undefined {
  return error instanceof PortError ? wordOf(error.cause) : undefined
}
