import { request } from 'node:http'
import type { Clock } from '../clock.ts'
import { limits } from './limits.ts'
import type { TelegramUpdate, Updates } from './update.ts'

export interface Webhook {
  /** Empty if there is none. */
  readonly url: string
  readonly lastError: { readonly at: number; readonly message: string } | undefined
  set(url: string, secret: string | undefined): void
  remove(): void
  close(): void
}

/** Sends updates to a URL, one after the other, each until it is accepted or the attempts are used up. */
export function createWebhook(clock: Clock, updates: Updates): Webhook {
  let url = ''
  let secret: string | undefined
  let lastError: Webhook['lastError']
  let attempts = 0
  let isSending = false
  let stopWaiting: (() => void) | undefined
  let leave = new AbortController()
  updates.onPush(send)
  return {
    get url() {
      return url
    },
    get lastError() {
      return lastError
    },
    set: (to, token) => {
      stop()
      url = to
      secret = token
      send()
    },
    remove: () => {
      stop()
      url = ''
    },
    close: () => {
      stop()
      url = ''
    },
  }

  function stop(): void {
    stopWaiting?.()
    stopWaiting = undefined
    leave.abort()
    leave = new AbortController()
    isSending = false
    attempts = 0
    lastError = undefined
  }

  function send(): void {
    const update = updates.pending[0]
    if (url === '' || isSending || stopWaiting || !update) return
    isSending = true
    const { signal } = leave
    post(update, signal).then(
      (status) => {
        if (!signal.aborted)
          done(status >= 200 && status < 300 ? undefined : `Wrong response from the webhook: ${status}`)
      },
      (error: unknown) => {
        if (!signal.aborted) done(`Connection failed: ${String(error)}`)
      },
    )
  }

  function done(failure: string | undefined): void {
    isSending = false
    attempts = failure === undefined ? 0 : attempts + 1
    if (failure !== undefined) lastError = { at: clock.now(), message: failure }
    const { firstMs, longestMs, attempts: most } = limits.webhook
    if (failure === undefined || attempts >= most) {
      attempts = 0
      updates.shift()
      return send()
    }
    stopWaiting = clock.after(Math.min(longestMs, firstMs * 2 ** (attempts - 1)), () => {
      stopWaiting = undefined
      send()
    })
  }

  function post(update: TelegramUpdate, signal: AbortSignal): Promise<number> {
    const headers = {
      'content-type': 'application/json',
      ...(secret === undefined ? {} : { 'X-Telegram-Bot-Api-Secret-Token': secret }),
    }
    return new Promise((resolve, reject) => {
      const outgoing = request(url, { method: 'POST', headers, agent: false, signal }, (answer) => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode ?? 0))
        answer.on('error', reject)
      })
      outgoing.on('error', reject)
      outgoing.end(JSON.stringify(update))
    })
  }
}
