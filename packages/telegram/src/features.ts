import type { TelegramApi } from './api.ts'
import { botOf } from './bot.ts'

/** What is known of the server behind a bot's clients, and of its chats. */
export interface Features {
  /** Rich messages: true until the server has refused `mostRefusals` in a row. */
  readonly rich: boolean
  /** Drafts: true until the server refuses one. */
  drafts: boolean
  /** Groups that became supergroups: their new ids. */
  readonly moved: Map<string, number>
  /** Records whether the server knew rich messages. */
  tookRich(isKnown: boolean): void
}

/** A gateway may answer a single call with 404. An older server answers all of them. */
const mostRefusals = 2

const features = new WeakMap<object, Features>()

export function featuresOf(api: TelegramApi): Features {
  const bot = botOf(api)
  const known = features.get(bot) ?? newFeatures()
  features.set(bot, known)
  return known
}

function newFeatures(): Features {
  let refusals = 0
  return {
    get rich() {
      return refusals < mostRefusals
    },
    drafts: true,
    moved: new Map(),
    tookRich: (isKnown) => {
      refusals = isKnown ? 0 : refusals + 1
    },
  }
}
