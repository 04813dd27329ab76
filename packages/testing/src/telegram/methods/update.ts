import { flagIn, listIn, numberIn, type Payload, textIn } from '../payload.ts'
import { badRequest, Refusal } from '../refusal.ts'
import type { TelegramState } from '../state.ts'

export function getUpdates({ updates, webhook }: TelegramState, payload: Payload, gone: AbortSignal): Promise<unknown> {
  if (webhook.url !== '')
    throw new Refusal(
      409,
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    )
  return updates.poll(
    {
      offset: numberIn(payload, 'offset'),
      limit: numberIn(payload, 'limit'),
      timeoutS: numberIn(payload, 'timeout') ?? 0,
      allowed: allowedIn(payload),
    },
    gone,
  )
}

/** Accepts any URL, because there is no HTTPS on loopback. */
export function setWebhook({ updates, webhook }: TelegramState, payload: Payload): unknown {
  const url = textIn(payload, 'url') ?? ''
  const secret = textIn(payload, 'secret_token')
  if (secret !== undefined && !/^[\w-]{1,256}$/.test(secret))
    throw badRequest('secret token contains unallowed characters')
  if (url !== '' && !URL.canParse(url)) throw badRequest('bad webhook: invalid URL specified')
  updates.allow(allowedIn(payload))
  if (flagIn(payload, 'drop_pending_updates')) updates.clear()
  if (url === '') webhook.remove()
  else webhook.set(url, secret)
  return true
}

export function deleteWebhook({ updates, webhook }: TelegramState, payload: Payload): unknown {
  webhook.remove()
  if (flagIn(payload, 'drop_pending_updates')) updates.clear()
  return true
}

export function getWebhookInfo({ updates, webhook }: TelegramState): unknown {
  const { url, lastError } = webhook
  return {
    url,
    has_custom_certificate: false,
    pending_update_count: updates.pending.length,
    ...(updates.allowed.length === 0 ? {} : { allowed_updates: updates.allowed }),
    ...(lastError === undefined
      ? {}
      : { last_error_date: Math.floor(lastError.at / 1000), last_error_message: lastError.message }),
  }
}

function allowedIn(payload: Payload): readonly string[] | undefined {
  return listIn(payload, 'allowed_updates')?.map(String)
}
