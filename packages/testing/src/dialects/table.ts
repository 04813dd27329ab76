import type { Renderings } from './cases.ts'
import { discordRenderings } from './discord.ts'
import { slackRenderings } from './slack.ts'
import { telegramRenderings } from './telegram.ts'
import { whatsappRenderings } from './whatsapp.ts'

/** The channels that render Markdown. A channel in this list must answer every case, or the code doesn't compile. */
export type RenderingChannel = 'discord' | 'slack' | 'telegram' | 'whatsapp'

/** How each channel renders each case. */
export const renderings: Readonly<Record<RenderingChannel, Renderings>> = {
  discord: discordRenderings,
  slack: slackRenderings,
  telegram: telegramRenderings,
  whatsapp: whatsappRenderings,
}
