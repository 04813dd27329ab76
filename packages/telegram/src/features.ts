import { createRecent, type Recent } from '@reply/sink/internal'
import type { TelegramApi } from './api.ts'
import { botOf } from './bot.ts'

/** What is known of the server behind a bot's clients, and of its chats. */
export interface Features {
  /** Rich messages, and drafts. */
  readonly rich: Feature
  readonly drafts: Feature
  /** Chats that refused a draft, by id. */
  readonly draftless: Recent<true>
  /** Groups that became supergroups: their new ids. */
  readonly moved: Map<string, number>
}

/** A method that older servers don't have. */
export interface Feature {
  /** True until the server has not known it `mostRefusals` times in a row. */
  isKnown(): boolean
  /** Records whether the server knew it. */
  record(wasKnown: boolean): void
}

/** A gateway may answer a single call with 404. An older server answers all of them. */
const mostRefusals = 2

/** How many chats without drafts are remembered. */
const mostChats = 1000

const features = new WeakMap<object, Features>()

export function featuresOf(api: TelegramApi): Features {
  const bot = botOf(api)
  const known = features.get(bot) ?? newFeatures()
  features.set(bot, known)
  return known
}

function newFeatures(): Features {
  return { rich: newFeature(), drafts: newFeature(), draftless: createRecent(mostChats), moved: new Map() }
}

function newFeature(): Feature {
  let refusals = 0
  return {
    isKnown: () => refusals < mostRefusals,
    record: (wasKnown) => {
      refusals = wasKnown ? 0 : refusals + 1
    },
  }
}
