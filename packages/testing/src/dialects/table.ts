import type { Renderings } from './cases.ts'
import { discordRenderings } from './discord.ts'
import { slackRenderings } from './slack.ts'
import { telegramRenderings } from './telegram.ts'
import { whatsappRenderings } from './whatsapp.ts'

/** The channels that render Markdown. Whoever is named here answers every case, or nothing compiles. */
export type RenderingChannel = 'discord' | 'slack' | 'telegram' | 'whatsapp'

export const renderings: Readonly<Record<RenderingChannel, Renderings>> = {
  discord: discordRenderings,
  slack: slackRenderings,
  telegram: telegramRenderings,
  whatsapp: whatsappRenderings,
}
