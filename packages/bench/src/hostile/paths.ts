import { Writable } from 'node:stream'
import { consoleSink } from '@reply/console'
import { type Clock, emptyReply, type Reply } from '@reply/core'
import { discordLimits, renderDiscord } from '@reply/discord/internal'
import { texts } from '@reply/sink'
import type { Limits, Render } from '@reply/sink/channel'
import { type Entry, emptyLedger, type Ledger, layout, type Mode, type Slot } from '@reply/sink/internal'
import { renderSlack, slackLimits } from '@reply/slack/internal'
import { renderHtml, renderRich } from '@reply/telegram/internal'
import { cloudLimits, renderWhatsApp } from '@reply/whatsapp/internal'

/** One way that a text takes to a reader. */
export interface Path {
  readonly id: string
  /** The path whose plain text the patterns are compared with. Default: itself. */
  readonly floor?: Path
  /** The complete text goes where its tail stood, so that the last flush is like any other. */
  readonly isEdited: boolean
  /**
   * A growing text. Each call is one flush of the whole text so far. The function that it returns then shows the
   * messages, which is the platform's work and not measured.
   */
  open(): (text: string, isOpen: boolean) => () => void
}

/** Limits like Telegram's, for texts of this length. */
const telegram = (maxLength: number): Limits => ({ ...discordLimits, maxLength, escapable: /@+/g, small: undefined })

const html = sinkPath('telegram', renderHtml, telegram(4096), 'live')

/** The usual terminal, which repaints. */
const consolePath: Path = {
  id: 'console',
  isEdited: false,
  open() {
    const stdout = Object.assign(new Writable({ write: (_chunk, _encoding, done) => done() }), {
      isTTY: true,
      columns: 120,
      rows: 40,
    })
    const { clock, runDue } = manualClock()
    const sink = consoleSink({ stdout, live: true, interactive: false, env: {}, clock })
    return (text, isOpen) => {
      const reply = replyWithText(text, isOpen)
      sink.phaseChanged?.({ type: 'phaseChanged', phase: reply.phase, before: 'working', reply })
      runDue()
      return () => undefined
    }
  },
}

/** Every way of a text to a reader. */
export const paths: readonly Path[] = [
  html,
  // Telegram and Slack parse this Markdown themselves, so plain text costs next to nothing here.
  { ...sinkPath('telegram-rich', renderRich, telegram(32_768), 'live'), floor: html },
  { ...sinkPath('slack', renderSlack, slackLimits, 'live'), floor: html },
  sinkPath('discord', renderDiscord, discordLimits, 'live'),
  sinkPath('discord-append', renderDiscord, discordLimits, 'append'),
  sinkPath('whatsapp', renderWhatsApp, cloudLimits, 'sealed'),
  consolePath,
]

/** The path through the layout of a sink, which keeps a ledger of what was shown. */
function sinkPath(id: string, render: Render, limits: Limits, mode: Mode): Path {
  return {
    id,
    isEdited: mode === 'live',
    open() {
      let ledger = emptyLedger
      return (source, isOpen) => {
        const card = { type: 'answer', key: 'answer', source, isOpen } as const
        const slots = layout([card], { render, limits, mode, texts, ledger })
        return () => {
          ledger = showSlots(ledger, slots, mode)
        }
      }
    },
  }
}

/**
 * Returns the ledger after a platform took every slot. Growing ones only if messages can be edited. Otherwise messages
 * that were shown stay as they are.
 */
function showSlots(ledger: Ledger, slots: readonly Slot[], mode: Mode): Ledger {
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

/** Returns a stopped clock, and a function that moves it by a second and runs all timers once, whatever their delay. */
function manualClock(): { readonly clock: Clock; readonly runDue: () => void } {
  let due: (() => void)[] = []
  let now = 0
  return {
    clock: {
      now: () => now,
      monotonic: () => now,
      after(_delayMs, run) {
        due.push(run)
        return () => {
          due = due.filter((other) => other !== run)
        }
      },
    },
    runDue() {
      now += 1000
      const all = due
      due = []
      for (const run of all) run()
    },
  }
}

/** A reply with this text. Settled unless the text is open. */
function replyWithText(text: string, isOpen: boolean): Reply {
  const part = { id: 'prt_1', messageID: 'msg_2', raw: undefined, type: 'text', text } as const
  const messages = [
    { id: 'msg_2', parts: [{ ...part, status: isOpen ? ('open' as const) : ('sealed' as const) }], raw: undefined },
  ]
  const reply: Reply = { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'working', messages }
  return isOpen ? reply : { ...reply, phase: 'settled', outcome: 'completed', finish: 'stop' }
}
