import { afterEach } from 'vitest'
import { createHandClock, type HandClock } from '../src/index.ts'
import { type FakeSlack, type SlackOptions, startSlack } from '../src/slack/index.ts'

export { until } from '../src/index.ts'

export interface Answer {
  readonly ok?: boolean
  readonly error?: string
  readonly ts?: string
  readonly status: number
  readonly retryAfter: string | null
  readonly [name: string]: unknown
}

export interface Workspace {
  readonly slack: FakeSlack
  readonly clock: HandClock
  /** Calls a method as a form, in which lists and objects are JSON. */
  call(method: string, fields?: Readonly<Record<string, unknown>>, token?: string): Promise<Answer>
}

const started: FakeSlack[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((slack) => slack.close()))
})

export async function workspace(options: Partial<SlackOptions> = {}): Promise<Workspace> {
  const clock = createHandClock()
  const slack = await startSlack({ clock, ...options })
  started.push(slack)
  return { slack, clock, call }

  async function call(
    method: string,
    fields: Readonly<Record<string, unknown>> = {},
    token = slack.token,
  ): Promise<Answer> {
    const form = new URLSearchParams()
    for (const [name, value] of Object.entries(fields))
      form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
    const response = await fetch(`${slack.url}${method}`, {
      method: 'POST',
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      body: form,
    })
    const more = { status: response.status, retryAfter: response.headers.get('retry-after') }
    const answer: unknown = await response.json()
    return { ...Object(answer), ...more }
  }
}
