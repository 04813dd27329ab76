import type { Clock } from '@reply/core'
import { PortError } from '@reply/sink/channel'
import type { SlackApi, SlackFields } from './api.ts'
import { toPortError, wordOf } from './failure.ts'

/** Makes one call, without retries, and returns its response. Rejects with a `PortError`. */
export type Call = (method: string, options: SlackFields, about: About) => Promise<Readonly<SlackFields>>

interface About {
  /** Names the call in errors, as in `post`. */
  readonly verb: string
  /** What a rate limit applies to: posts are limited per channel, all other calls per workspace. Default `client`. */
  readonly scope?: 'chat' | 'client'
}

export interface CallOptions {
  readonly api: SlackApi
  readonly channelId: string
  readonly timeoutMs: number
  readonly clock: Clock
}

/** The client can't abort a call, so a timeout only stops waiting for it. */
export function createCall({ api, channelId, timeoutMs, clock }: CallOptions): Call {
  return async (method, options, { verb, scope = 'client' }) => {
    const what = `${verb} in ${channelId}`
    let stop = (): void => {}
    const late = new Promise<never>((_, reject) => {
      stop = clock.after(timeoutMs, () =>
        reject(new PortError('ambiguous', `${what}: no response within ${timeoutMs} ms.`)),
      )
    })
    try {
      return { ...(await Promise.race([api.apiCall(method, options), late])) }
    } catch (error) {
      throw toPortError(error, what, scope)
    } finally {
      stop()
    }
  }
}

/** Slack's error code in a failed call. */
export function saysOf(error: unknown): string | undefined {
  return error instanceof PortError ? wordOf(error.cause) : undefined
}
