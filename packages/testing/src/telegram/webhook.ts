import type { Clock } from '../clock.ts'
import { createWebhookQueue, postTo } from '../platform/webhook.ts'
import { limits } from './limits.ts'
import type { Updates } from './update.ts'

export interface Webhook {
  /** Empty if there is none. */
  readonly url: string
  readonly lastError: { readonly at: number; readonly message: string } | undefined
  set(url: string, secret: string | undefined): void
  remove(): void
  close(): void
}

/** Sends updates to a URL, one after the other. */
export function createWebhook(clock: Clock, updates: Updates): Webhook {
  let url = ''
  let secret: string | undefined
  let lastError: Webhook['lastError']
  const queue = createWebhookQueue({
    clock,
    limits: limits.webhook,
    oldest: () => (url === '' ? undefined : updates.pending[0]),
    post: (update, signal) => {
      const headers = {
        'content-type': 'application/json',
        ...(secret !== undefined && { 'X-Telegram-Bot-Api-Secret-Token': secret }),
      }
      return postTo(url, { body: JSON.stringify(update), headers, signal })
    },
    drop: updates.shift,
    onFailure: (message) => {
      lastError = { at: clock.now(), message }
    },
  })
  updates.onPush(queue.send)
  return {
    get url() {
      return url
    },
    get lastError() {
      return lastError
    },
    set: (to, token) => {
      remove()
      url = to
      secret = token
      queue.send()
    },
    remove,
    close: remove,
  }

  function remove(): void {
    queue.stop()
    lastError = undefined
    url = ''
  }
}
