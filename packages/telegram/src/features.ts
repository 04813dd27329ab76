import type { TelegramApi } from './api.ts'

/** What the server behind a client supports. A flag that turned false stays false. */
export interface Features {
  /** Rich messages: true until the server refuses one. */
  rich: boolean
  /** Drafts: true until the server refuses one. */
  drafts: boolean
}

const features = new WeakMap<TelegramApi, Features>()

export function featuresOf(api: TelegramApi): Features {
  const known = features.get(api) ?? { rich: true, drafts: true }
  features.set(api, known)
  return known
}
