import type { Renderings } from './cases.ts'
import { telegramRenderings } from './telegram.ts'
import { whatsappRenderings } from './whatsapp.ts'

/** The channels that render Markdown. Whoever is named here answers every case, or nothing compiles. */
export type RenderingChannel = 'telegram' | 'whatsapp'

export const renderings: Readonly<Record<RenderingChannel, Renderings>> = {
  telegram: telegramRenderings,
  whatsapp: whatsappRenderings,
}
