import type { Clock } from '@reply/core'
import { PortError } from '@reply/sink'
import type { SlackApi, SlackFields } from './api.ts'
import { toPortError, wordOf } from './failure.ts'

/** One call, made once: what it answered. Rejects with a `PortError`. */
export type Call = (method: string, options: SlackFields, about: About) => Promise<Readonly<SlackFields>>

interface About {
  /** What for, as in `post`. */
  readonly verb: string
  /** What waits with it when it is limited: posts are limited in each channel, all else in the workspace. */
  readonly scope?: 'chat' | 'client'
}

export interface CallOptions {
  readonly api: SlackApi
  readonly channelId: string
  readonly timeoutMs: number
  readonly clock: Clock
}

/** The client can't be told to give a call up, so it is only not waited for any more. */
export function createCall({ api, channelId, timeoutMs, clock }: CallOptions): Call {
  return async (method, options, { verb, scope = 'client' }) => {
    const what = `${verb} in ${channelId}`
    let stop = (): void => {}
    const late = new Promise<never>((_, reject) => {
      stop = clock.after(timeoutMs, () =>
        reject(new PortError('ambiguous', `${what}: nobody answered in ${timeoutMs} ms.`)),
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

/** Slack's word in the error that came of a call. */
export function saysOf(error: unknown): string | undefined {
  return error instanceof PortError ? wordOf(error.cause) : undefined
}
