import type { Clock } from '@reply/core'
import { createPacer, type Pacer } from '@reply/sink'
import type { TelegramApi } from './api.ts'

/** What is known of the server behind a client: it never changes back. */
export interface Features {
  /** It takes rich messages, as far as is known. */
  rich: boolean
  /** And drafts. */
  drafts: boolean
}

const features = new WeakMap<TelegramApi, Features>()
const pacers = new WeakMap<TelegramApi, Pacer>()

export function featuresOf(api: TelegramApi): Features {
  const known = features.get(api) ?? { rich: true, drafts: true }
  features.set(api, known)
  return known
}

/** One for each client, since a bot has one budget. It goes by the clock of whoever came first. */
export function pacerOf(api: TelegramApi, clock: Clock): Pacer {
  const pacer = pacers.get(api) ?? createPacer({ clock })
  pacers.set(api, pacer)
  return pacer
}
