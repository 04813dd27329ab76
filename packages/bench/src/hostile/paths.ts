import { discordLimits, renderDiscord } from '@reply/discord/internal'
import { texts } from '@reply/sink'
import type { Limits, Render } from '@reply/sink/channel'
import { type Entry, emptyLedger, type Ledger, layout, type Mode, type Slot } from '@reply/sink/internal'
import { renderSlack, slackLimits } from '@reply/slack/internal'
import { renderHtml, renderRich } from '@reply/telegram/internal'
import { cloudLimits, renderWhatsApp } from '@reply/whatsapp/internal'
import { consolePath } from './console.ts'
import type { Path } from './path.ts'

const telegram = (maxLength: number): Limits => ({ ...discordLimits, maxLength, escapable: /@+/g, small: undefined })

const html = path('telegram', renderHtml, telegram(4096), 'live')

export const paths: readonly Path[] = [
  html,
  // Telegram and Slack parse this Markdown themselves, so plain text costs next to nothing here.
  { ...path('telegram-rich', renderRich, telegram(32_768), 'live'), floor: html },
  { ...path('slack', renderSlack, slackLimits, 'live'), floor: html },
  path('discord', renderDiscord, discordLimits, 'live'),
  path('discord-append', renderDiscord, discordLimits, 'append'),
  path('whatsapp', renderWhatsApp, cloudLimits, 'sealed'),
  consolePath,
]

function path(id: string, render: Render, limits: Limits, mode: Mode): Path {
  return {
    id,
    isEdited: mode === 'live',
    open() {
      let ledger = emptyLedger
      return (source, isOpen) => {
        const card = { type: 'answer', key: 'answer', source, isOpen } as const
        const slots = layout([card], { render, limits, mode, texts, ledger })
        return () => {
          ledger = shownIn(ledger, slots, mode)
        }
      }
    },
  }
}

/** Like a platform that takes everything in one message. */
function shownIn(ledger: Ledger, slots: readonly Slot[], mode: Mode): Ledger {
  const before = new Map(ledger.entries.map((entry) => [entry.key, entry]))
  const entries = slots
    .filter(({ isGrowing }) => mode === 'live' || !isGrowing)
    .map(({ key, card, body, whole, piece }): Entry => {
      const known = before.get(key)
      if (known && mode !== 'live') return known
      const content = { type: 'known', body, whole } as const
      const fields = { key, card: card.key, type: card.type, content, piece, id: key, tries: 1, at: 0, isLoud: false }
      return { ...fields, state: 'shown', ref: { id: key }, access: { type: 'editable' } }
    })
  return { ...ledger, entries }
}
