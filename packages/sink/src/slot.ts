import type { Card } from './card.ts'
import type { LayoutOptions, Slot } from './layout.ts'
import { hashOf } from './ledger.ts'
import type { Bubble, Button, Render } from './port.ts'
import { split } from './split.ts'
import { createTextCache } from './text-cache.ts'

/** So long before it can't be edited any more, a message has no status below it, which would stay there, in ms. */
const lastEditMs = 60_000

/** With the status below its text, unless it would have to be cut for that, or could not lose it any more. */
export function withFooter(slot: Slot, status: Card, options: LayoutOptions): Slot {
  const bubble = bubbleOf(`${slot.bubble.source}\n\n${smallLine(status, options)}`, slot.card, options)
  // Not worth a cut.
  if (bubble.length > options.limits.maxLength || isOld(slot, options)) return slot
  return { ...slot, bubble, whole: hashOf(bubble.text) }
}

function isOld({ key }: Slot, { ledger, limits, now = 0 }: LayoutOptions): boolean {
  const posted = ledger.entries.find((entry) => entry.key === key)
  return posted !== undefined && now - posted.at >= (limits.editWindowMs ?? Number.POSITIVE_INFINITY) - lastEditMs
}

/** What is hashed in addition to the text of a bubble without buttons. */
const bare = '\n[]'

/** Of texts of bubbles without buttons: the pieces of a long answer are looked at again for each word that is added. */
const bareHashes = createTextCache<string>(400_000)

export function slotOf(card: Card, key: string, source: string, options: LayoutOptions): Slot {
  const bubble = bubbleOf(source, card, options)
  const more = `\n${JSON.stringify(bubble.buttons)}${bubble.form?.token ?? ''}`
  const body = more === bare ? bareHashes.get(bubble.text, (text) => hashOf(text + bare)) : hashOf(bubble.text + more)
  const slot = { key, card, bubble, body, whole: body, isGrowing: false }
  return card.type === 'file' ? { ...slot, file: card.file } : slot
}

function bubbleOf(source: string, card: Card, { render, limits, ledger }: LayoutOptions): Bubble {
  const buttons: readonly (readonly Button[])[] = card.type === 'ask' ? card.buttons : []
  const most =
    card.type === 'answer'
      ? limits.maxLength
      : Math.min(limits.maxLength, ledger.caps[card.key]?.most ?? limits.maxLength)
  const shown = card.type === 'answer' || card.type === 'ask' ? source : fitting(source, most, render)
  const rendered = render(shown)
  const isPlain = ledger.plain.includes(card.key)
  const form = card.type === 'ask' ? card.form : undefined
  return {
    ...rendered,
    ...(isPlain && { text: rendered.plain }),
    isPlain,
    source: shown,
    buttons,
    ...(form && { form }),
  }
}

/** Only answers and asks take several messages; other text is shortened. */
function fitting(source: string, most: number, render: Render): string {
  if (render(source).length <= most) return source
  const [slice] = split(source, { maxLength: Math.max(1, most - 2), measure: (text) => render(text).length })
  return `${(slice?.source ?? '').trimEnd()}\n…`
}

/** As the platform writes what is beside the point. */
export function smallLine({ source }: Card, { limits }: LayoutOptions): string {
  const line = literalLine(source)
  return limits.small?.(line) ?? `*${line}*`
}

function literalLine(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|~]/g, '\\$&')
}
