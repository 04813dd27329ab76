import { discordLimits, renderDiscord } from '@reply/discord'
import { emptyLedger, type Ledger, type Limits, layout, type Mode, type Render, type Slot, words } from '@reply/sink'
import { renderSlack, slackLimits } from '@reply/slack'
import { renderHtml, renderRich } from '@reply/telegram'
import { cloudLimits, renderWhatsApp } from '@reply/whatsapp'

/** One way in which a text reaches a reader. */
export interface Path {
  readonly id: string
  /** A text that grows: each call is one flush, given the whole text so far. */
  open(): (text: string, isOpen: boolean) => void
}

const telegram = (maxLength: number): Limits => ({ ...discordLimits, maxLength, swells: /@/g, small: undefined })

export const paths: readonly Path[] = [
  path('telegram', renderHtml, telegram(4096), 'live'),
  path('telegram-rich', renderRich, telegram(32_768), 'live'),
  path('slack', renderSlack, slackLimits, 'live'),
  path('discord', renderDiscord, discordLimits, 'live'),
  path('discord-append', renderDiscord, discordLimits, 'append'),
  path('whatsapp', renderWhatsApp, cloudLimits, 'sealed'),
]

function path(id: string, render: Render, limits: Limits, mode: Mode): Path {
  return {
    id,
    open() {
      let ledger = emptyLedger
      return (source, isOpen) => {
        const card = { type: 'answer', key: 'answer', source, isOpen } as const
        const slots = layout([card], { render, limits, mode, words, ledger })
        ledger = shownIn(ledger, slots, mode)
      }
    },
  }
}

/** Like a platform that takes everything in one message. */
function shownIn(ledger: Ledger, slots: readonly Slot[], mode: Mode): Ledger {
  const entries = slots
    .filter(({ isGrowing }) => mode === 'live' || !isGrowing)
    .map(({ key, card, body, whole, piece }) => {
      const known = ledger.entries.find((entry) => entry.key === key)
      const entry = { key, card: card.key, type: card.type, state: 'shown' as const, id: key, tries: 1, at: 0 }
      return known && mode !== 'live' ? known : { ...entry, isLoud: false, ref: { id: key }, body, whole, piece }
    })
  return { ...ledger, entries }
}
