import type { Clock } from '@reply/core'
import { PortError, type TypingOptions } from '@reply/sink'
import type { SlackFields } from './api.ts'
import { type Call, saysOf } from './call.ts'
import { type Features, isLacking } from './features.ts'
import { clipped, quieted } from './render.ts'

export interface StatusOptions {
  readonly call: Call
  readonly channelId: string
  readonly threadTs: string
  readonly features: Features
  readonly clock: Clock
}

/** What is shown below a thread while the agent is at work. */
export interface Status {
  set(on: boolean, options: Pick<TypingOptions, 'doing'>): Promise<void>
  readonly isOn: boolean
}

/** Characters of a status. Slack names no limit; more than this is not read. */
const length = 100

/** Two ways beside each other: the session, which has the Stop button, and the older words in the thread's head. */
export function createStatus(options: StatusOptions): Status {
  const { call, channelId: channel_id, threadTs: thread_ts, features, clock } = options
  let isOn = false
  let told = 0
  let last = Promise.resolve()
  return {
    set,
    get isOn() {
      return isOn
    },
  }

  async function set(on: boolean, { doing }: Pick<TypingOptions, 'doing'>): Promise<void> {
    const isNew = on !== isOn
    isOn = on
    told += 1
    const turn = told
    // One after the other: a slow one would come after the end, and stay.
    last = last.then(async () => {
      if (isNew) await tellSession()
      if (turn < told) return
      await tell('statuses', { status: on ? clipped(quieted(doing ?? 'is working…'), length) : '' })
    })
    await last
  }

  /** What it is at the moment; it would stay so for an hour if it were not told in the end. */
  async function tellSession(): Promise<void> {
    const waitMs = await tell('sessions', { status: isOn ? 'processing' : 'active' })
    if (waitMs !== undefined && !isOn) clock.after(waitMs, () => void tellSession())
  }

  /** What the workspace lacks is not asked for again; what was too often waits: the time, in ms, when it was not told for that. */
  async function tell(feature: 'sessions' | 'statuses', fields: SlackFields): Promise<number | undefined> {
    const known = features[feature]
    if (!known.has) return undefined
    const waitMs = known.restUntil - clock.now()
    if (waitMs > 0) return waitMs
    try {
      await call(methods[feature], { channel_id, thread_ts, ...fields }, { verb: 'status' })
    } catch (error) {
      if (isLacking(saysOf(error))) known.has = false
      if (!(error instanceof PortError) || error.retryAfterMs === undefined) return undefined
      known.restUntil = clock.now() + error.retryAfterMs
      return error.retryAfterMs
    }
    return undefined
  }
}

const methods = { sessions: 'agents.sessions.setStatus', statuses: 'assistant.threads.setStatus' } as const
