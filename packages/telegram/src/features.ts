import type { TelegramApi } from './api.ts'

/** What is known of the server behind a client: it never changes back. */
export interface Features {
  /** It takes rich messages, as far as is known. */
  rich: boolean
  /** And drafts. */
  drafts: boolean
}

const features = new WeakMap<TelegramApi, Features>()

export function featuresOf(api: TelegramApi): Features {
  const known = features.get(api) ?? { rich: true, drafts: true }
  features.set(api, known)
  return known
}
