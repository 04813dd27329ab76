import type { Clock } from '@reply/core'
import { PortError } from '@reply/sink/channel'
import type { TypingOptions } from '@reply/sink/internal'
import type { SlackFields } from '../api.ts'
import { type Call, saysOf } from '../call.ts'
import { type Features, isLacking } from '../features.ts'
import { clipped, quieted } from '../render.ts'

export interface StatusOptions {
  readonly call: Call
  readonly channelId: string
  readonly threadTs: string
  readonly features: Features
  readonly clock: Clock
}

/** The activity, and what ends the calls before their deadline. */
type Showing = Pick<TypingOptions, 'doing' | 'signal'>

/** The status that a thread shows while the agent works. */
export interface Status {
  set(on: boolean, options: Showing): Promise<void>
  readonly isOn: boolean
}

/** Characters of a status. Slack documents no limit; a longer one is unreadable. */
const length = 100

/** Uses two methods side by side: the session status, which has the Stop button, and the older status text. */
export function createStatus(options: StatusOptions): Status {
  const { call, channelId: channel_id, threadTs: thread_ts, features, clock } = options
  let isOn = false
  let revision = 0
  let last = Promise.resolve()
  return {
    set,
    get isOn() {
      return isOn
    },
  }

  async function set(on: boolean, { doing, signal }: Showing): Promise<void> {
    const isNew = on !== isOn
    isOn = on
    revision += 1
    const turn = revision
    // Sequential: a slow call could otherwise arrive after the final one, and its status would stay.
    last = last.then(async () => {
      if (isNew) await sendSession(signal)
      if (turn < revision) return
      await send('statuses', { status: on ? clipped(quieted(doing ?? 'is working…'), length) : '' }, signal)
    })
    await last
  }

  /**
   * Sends the current state. A missed end would leave the session shown as processing for an hour, so it is retried.
   */
  async function sendSession(signal?: AbortSignal): Promise<void> {
    const waitMs = await send('sessions', { status: isOn ? 'processing' : 'active' }, signal)
    if (waitMs !== undefined && !isOn) clock.after(waitMs, () => void sendSession())
  }

  /**
   * Skips a missing or rate-limited feature. Returns the ms to wait if the call was skipped or refused for its rate.
   */
  async function send(
    feature: 'sessions' | 'statuses',
    fields: SlackFields,
    signal?: AbortSignal,
  ): Promise<number | undefined> {
    const known = features[feature]
    if (!known.has) return undefined
    const waitMs = known.restUntil - clock.now()
    if (waitMs > 0) return waitMs
    try {
      await call(methods[feature], { channel_id, thread_ts, ...fields }, { verb: 'status', signal })
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
