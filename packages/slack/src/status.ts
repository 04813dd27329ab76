import type { TypingOptions } from '@reply/sink'
import type { SlackFields } from './api.ts'
import { type Call, saysOf } from './call.ts'
import { type Features, isLacking } from './features.ts'
import { clipped } from './render.ts'

export interface StatusOptions {
  readonly call: Call
  readonly channelId: string
  readonly threadTs: string
  readonly features: Features
}

/** What is shown below a thread while the agent is at work. */
export interface Status {
  set(on: boolean, options: Pick<TypingOptions, 'doing'>): Promise<void>
  readonly isOn: boolean
}

/** Characters of a status. Slack names no limit; more than this is not read. */
const length = 100

/** Two ways beside each other: the session, which has the Stop button, and the older words in the thread's head. */
export function createStatus({ call, channelId: channel_id, threadTs: thread_ts, features }: StatusOptions): Status {
  let isOn = false
  return {
    set,
    get isOn() {
      return isOn
    },
  }

  async function set(on: boolean, { doing }: Pick<TypingOptions, 'doing'>): Promise<void> {
    const isNew = on !== isOn
    isOn = on
    if (isNew) await tell('sessions', 'agents.sessions.setStatus', { status: on ? 'processing' : 'active' })
    const status = on ? clipped(doing ?? 'is working…', length) : ''
    await tell('statuses', 'assistant.threads.setStatus', { status })
  }

  /** What the workspace lacks is not asked for again. */
  async function tell(feature: 'sessions' | 'statuses', method: string, fields: SlackFields): Promise<void> {
    if (!features[feature]) return
    try {
      await call(method, { channel_id, thread_ts, ...fields }, { verb: 'status' })
    } catch (error) {
      if (!isLacking(saysOf(error))) throw error
      features[feature] = false
    }
  }
}
