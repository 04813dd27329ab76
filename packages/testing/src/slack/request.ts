import { createHmac } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { postTo } from '../platform/webhook.ts'
import type { Attempt, Receiver } from './delivery.ts'

export interface RequestOptions {
  readonly url: string
  readonly signingSecret: string
  readonly clock: Clock
}

/** The headers that identify a request as Slack's. */
export function slackHeaders(
  body: string,
  { signingSecret, clock }: Omit<RequestOptions, 'url'>,
): Record<string, string> {
  const timestamp = String(Math.floor(clock.now() / 1000))
  const signature = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${signature}` }
}

/** https://docs.slack.dev/interactivity/implementing-slash-commands: a command's fields are those of the form. */
function textOf(type: Attempt['type'], body: Attempt['body']): string {
  const json = JSON.stringify(body)
  if (type === 'events_api') return json
  if (type === 'interactive') return new URLSearchParams({ payload: json }).toString()
  const fields = Object.entries(body).map(([name, value]): [string, string] => [name, String(value)])
  return new URLSearchParams(fields).toString()
}

/** Sends to a request URL: events as JSON, interactions and commands as a form. */
export function createRequests({ url, ...signing }: RequestOptions): Receiver {
  return { take, isThere: () => true }

  async function take({ type, body, retry, signal }: Attempt): Promise<boolean> {
    const text = textOf(type, body)
    const headers = {
      'content-type': type === 'events_api' ? 'application/json' : 'application/x-www-form-urlencoded',
      ...slackHeaders(text, signing),
      ...(retry > 0 && { 'x-slack-retry-num': String(retry), 'x-slack-retry-reason': 'http_timeout' }),
    }
    return await postTo(url, { body: text, headers, signal }).then(
      (status) => status === 200,
      () => false,
    )
  }
}
